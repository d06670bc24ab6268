import { createHash, randomBytes } from 'node:crypto'
import { Webhook as Signer } from 'standardwebhooks'
import type { WebhookEvent } from './webhook.js'

/** Size of a body from which no event is added, in bytes. Standard Webhooks advises at most 20 KB. */
const MAX_BODY_BYTES = 20_000
/** Size of a body without its events, in bytes. */
const ENVELOPE_BYTES = 200

/** A message that is sent. One id always has the same body. */
export interface WebhookMessage {
  readonly id: string
  readonly body: string
}

const eventJson = ({ sequence, resource, key }: WebhookEvent): string =>
  `{"EntityEventSequence":${sequence},"ResourceName":${JSON.stringify(resource)},"ResourceRecordKey":${JSON.stringify(key)}}`

/**
 * Creates the message with these events: the list of RESO RCP-028, with the members `type` and `timestamp` of
 * Standard Webhooks. The id is a hash of webhook, log and body, so a different body has a different id,
 * and every process computes the same id for the same body.
 */
export function createMessage(
  { webhookId, logId }: { readonly webhookId: string; readonly logId: string },
  events: readonly WebhookEvent[],
): WebhookMessage {
  const body = toBody('entityevent', events.at(-1)?.timestamp, events)
  return { id: messageIdOf([webhookId, logId, body]), body }
}

/** Creates a message that tests a receiver. It has no events. */
export const createTestMessage = (timestamp: string): WebhookMessage => ({
  id: `msg_${randomBytes(24).toString('base64url')}`,
  body: toBody('test', timestamp, []),
})

const toBody = (type: string, timestamp: string | undefined, events: readonly WebhookEvent[]): string =>
  `{"@reso.context":"urn:reso:metadata:2.0:resource:entityevent","type":"${type}","timestamp":${JSON.stringify(timestamp)},"value":[${events.map(eventJson).join(',')}]}`

const messageIdOf = (parts: readonly string[]): string =>
  `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 32)}`

/** Returns the first events up to the maximum size of a body, at least one. */
export function takeBodySize<T extends WebhookEvent>(events: readonly T[]): readonly T[] {
  let size = ENVELOPE_BYTES
  const end = events.findIndex((event, i) => {
    size += Buffer.byteLength(eventJson(event)) + 1
    return i > 0 && size > MAX_BODY_BYTES
  })
  return end < 0 ? events : events.slice(0, end)
}

/**
 * Returns the headers of Standard Webhooks, with one signature for each secret.
 * @param time seconds since 1970
 */
export function signMessage(
  { id, body }: WebhookMessage,
  time: number,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const sentAt = new Date(time * 1000)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(time),
    'webhook-signature': secrets.map(secret => new Signer(secret).sign(id, sentAt, body)).join(' '),
  }
}
