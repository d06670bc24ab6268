import type { KeyObject } from 'node:crypto'
import type { Database } from '../../data/database.js'
import { findWebhook, readSignature, type WebhookDetails } from '../../data/webhooks/webhook-store.js'
import { createTestMessage } from '../../domain/webhooks/message.js'
import { decryptText } from './encryption.js'
import { createHeaders, SECRET_UNREADABLE } from './headers.js'
import { WebhookChangeError } from './position.js'
import { postToReceiver } from './post.js'
import { type AttemptSettings, describeResponse } from './webhook-delivery.js'

/** Dependencies of a test message. */
export interface TestMessageDependencies {
  readonly database: Pick<Database, 'withClient'>
  readonly encryptionKey: KeyObject
  readonly settings: Pick<AttemptSettings, 'allowsPrivate' | 'timeoutMs'>
}

/** The response to a test message. */
export interface TestMessageResult {
  readonly messageId: string
  readonly isDelivered: boolean
  readonly status: number | undefined
  /** Undefined: the message was accepted. */
  readonly reason: string | undefined
  readonly durationMs: number
}

/**
 * Sends a message without events to the receiver of a webhook in any state, signed and addressed as the others. Its
 * position, its waiting batch and its delivery log stay as they are.
 * @throws WebhookChangeError if nothing may be sent
 */
export async function sendTestMessage(
  { database, encryptionKey, settings }: TestMessageDependencies,
  id: string,
): Promise<TestMessageResult> {
  const webhook = checkWebhook(id, await findWebhook(database, id))
  const signature = (await readSignature(database, id)) ?? refuse(`There is no webhook '${id}'.`)
  const message = createTestMessage(new Date(signature.now * 1000).toISOString())
  const values = { ...signature, source: webhook.Source ?? undefined }
  const decrypt = (text: string): Promise<string | undefined> => decryptText(text, encryptionKey)
  const headers = (await createHeaders(message, values, decrypt)) ?? refuse(SECRET_UNREADABLE)
  const startedAt = performance.now()
  const { signal } = new AbortController()
  const response = await postToReceiver({
    url: webhook.Url,
    headers,
    body: message.body,
    signal,
    ...settings,
  })
  const isDelivered = response.status !== undefined && response.status >= 200 && response.status < 300
  return {
    messageId: message.id,
    isDelivered,
    status: response.status,
    reason: isDelivered ? undefined : describeResponse(response),
    durationMs: Math.round(performance.now() - startedAt),
  }
}

function checkWebhook(id: string, webhook: WebhookDetails | undefined): WebhookDetails {
  if (!webhook) return refuse(`There is no webhook '${id}'.`)
  if (webhook.RemovedTimestamp !== null) refuse(`The webhook '${id}' was removed.`)
  if (!webhook.IsClientActive) refuse(`The client of the webhook '${id}' may not receive events.`)
  return webhook
}

const refuse = (reason: string): never => {
  throw new WebhookChangeError(reason)
}
