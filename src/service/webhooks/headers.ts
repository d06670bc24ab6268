import type { AttemptStart } from '../../data/webhooks/lease-store.js'
import { signMessage, type WebhookMessage } from '../../domain/webhooks/message.js'

/** The signature of an attempt, and the headers that the operator has chosen. */
export interface HeaderValues extends AttemptStart {
  readonly encryptedToken?: string | undefined
  readonly source?: string | undefined
}

export const SECRET_UNREADABLE =
  'The secret cannot be decrypted: TOKEN_KEY or JWT_SECRET has changed. Rotate the secret.'

/** Returns the headers of an attempt, or undefined if a secret or the token cannot be decrypted. */
export async function createHeaders(
  message: WebhookMessage,
  { now, secrets, encryptedToken, source }: HeaderValues,
  decrypt: (encrypted: string) => Promise<string | undefined>,
): Promise<Readonly<Record<string, string>> | undefined> {
  const texts = await Promise.all(secrets.map(decrypt))
  const known = texts.filter(text => text !== undefined)
  const token = encryptedToken === undefined ? undefined : await decrypt(encryptedToken)
  if (known.length === 0 || (encryptedToken !== undefined && token === undefined)) return undefined
  return {
    ...signMessage(message, Math.floor(now), known),
    'User-Agent': 'listing-service-webhooks',
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(source !== undefined && { EntityEventSource: source }),
  }
}
