import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import type { ClientSecret } from './client.js'

const SECRET_ID_BYTES = 6
const SECRET_BYTES = 32
const SALT_BYTES = 16
const HASH_BYTES = 32
/** N, r and p of scrypt (RFC 7914). One hash takes about 50 ms and 16 MiB. */
const COST = { N: 16_384, r: 8, p: 1 } as const
/** Each hash occupies one of the four threads that Node also needs for files and names of hosts. */
const MAX_CONCURRENT_HASHES = 2

/** A new secret, and its stored form. */
export interface GeneratedSecret {
  /** Shown once: `<id>_<43 characters>`, of letters, digits, `-` and `_`. */
  readonly text: string
  readonly stored: ClientSecret
}

/** Generates a secret with 256 random bits. */
export async function generateSecret(): Promise<GeneratedSecret> {
  const id = randomBytes(SECRET_ID_BYTES).toString('hex')
  const text = `${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`
  const salt = randomBytes(SALT_BYTES)
  const hash = await hashSecret(text, salt, COST)
  const { N, r, p } = COST
  return {
    text,
    stored: { id, hash: `scrypt$${N}$${r}$${p}$${salt.toString('base64')}$${hash.toString('base64')}` },
  }
}

/**
 * Finds the secret in a list that matches a text, or returns undefined. The id in the text selects the hash
 * to compare. A guess without a known id therefore costs no hash, and a client with two secrets costs one.
 */
export async function findMatchingSecret(
  text: string,
  secrets: readonly ClientSecret[],
): Promise<ClientSecret | undefined> {
  const [id = ''] = text.split('_', 1)
  const candidate = secrets.find(secret => secret.id === id)
  if (!candidate) return undefined
  const [, N, r, p, salt = '', hash = ''] = candidate.hash.split('$')
  const expected = Buffer.from(hash, 'base64')
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  const found = await hashSecret(text, Buffer.from(salt, 'base64'), cost)
  return found.length === expected.length && timingSafeEqual(found, expected) ? candidate : undefined
}

let runningHashes = 0
const waiting: (() => void)[] = []

async function hashSecret(text: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  if (runningHashes < MAX_CONCURRENT_HASHES) runningHashes += 1
  else await new Promise<void>(resolve => waiting.push(resolve))
  try {
    return await new Promise((resolve, reject) =>
      scrypt(text, salt, HASH_BYTES, cost, (error, hash) => (error ? reject(error) : resolve(hash))),
    )
  } finally {
    const next = waiting.shift()
    if (next) next()
    else runningHashes -= 1
  }
}
