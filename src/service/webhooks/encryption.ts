import { type KeyObject, randomBytes } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'

/** Prefix of secrets (Standard Webhooks, signature scheme). */
const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** Generates a secret for signatures. */
export const generateWebhookSecret = (): string =>
  SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')

/** Encrypts a text for the database. */
export const encryptText = (text: string, key: KeyObject): Promise<string> =>
  new CompactEncrypt(Buffer.from(text)).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key)

/** Decrypts a text of the database. Returns undefined if another TOKEN_KEY encrypted it. */
export async function decryptText(encrypted: string, key: KeyObject): Promise<string | undefined> {
  try {
    const { plaintext } = await compactDecrypt(encrypted, key)
    return Buffer.from(plaintext).toString('utf8')
  } catch {
    return undefined
  }
}
