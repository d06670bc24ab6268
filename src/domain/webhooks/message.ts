import { createHash } from 'node:crypto'
import { Webhook as Signer } from 'standardwebhooks'
import type { WebhookEvent } from './webhook.js'

/** Bytes of a body above which no event is added. Standard Webhooks advises at most 20 KB. */
const MAX_BODY_BYTES = 20_000
/** Bytes of a body beside its events. */
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
 * Standard Webhooks. The id is a hash of subscription, log and body, so another body has another id, and every process
 * gives the same body the same one.
 */
export function createMessage(
  { webhookId, logId }: { readonly webhookId: string; readonly logId: string },
  events: readonly WebhookEvent[],
): WebhookMessage {
  const timestamp = JSON.stringify(events.at(-1)?.timestamp)
  const body = `{"@reso.context":"urn:reso:metadata:2.0:resource:entityevent","type":"entityevent","timestamp":${timestamp},"value":[${events.map(eventJson).join(',')}]}`
  return { id: messageIdOf([webhookId, logId, body]), body }
}

const messageIdOf = (parts: readonly string[]): string =>
  `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 32)}`

/** Returns the first events, as many as a body may have. At least one is returned. */
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
