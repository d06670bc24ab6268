import { createCipheriv, createDecipheriv, createHash, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { fail } from '../errors/problem.js'
import { MODEL_MEMBERS, type Plan } from './plan.js'

/** Where a page ended: the order values of its last record, as text, and how many records of a total `$top` are still wanted. */
export interface Cursor {
  readonly after: readonly (string | null)[]
  readonly rest?: number
}

/** Turns cursors into opaque page tokens and back. */
export interface CursorSeal {
  seal(cursor: Cursor, plan: Plan): string
  /** Fails with BadPageToken on anything that this service did not seal for the same filter and order. */
  open(token: string, plan: Plan, option: string): Cursor
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Tokens are encrypted, so that they tell no value a reader may not see, and authenticated together with filter and order,
 * so that a token of another query is refused. They depend on nothing but the key, so they outlive restarts.
 * The text is base64url without padding: some clients keep only letters, digits, `-` and `_` of a token.
 */
export function createCursorSeal(secret: string | KeyObject): CursorSeal {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'listing-service page token', 32))
  return {
    seal(cursor, plan) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(fingerprint(plan))
      const body = Buffer.concat([cipher.update(JSON.stringify(cursor), 'utf8'), cipher.final()])
      return Buffer.concat([iv, body, cipher.getAuthTag()]).toString('base64url')
    },
    open(token, plan, option) {
      const bytes = Buffer.from(token, 'base64url')
      // Buffer.from skips what is not base64url; only the exact text that was sealed counts.
      if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== token) return fail({ kind: 'BadPageToken', option })
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES)).setAAD(fingerprint(plan)).setAuthTag(bytes.subarray(-TAG_BYTES))
        const body = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
        return JSON.parse(body.toString('utf8')) as Cursor // authenticated: we wrote it
      } catch {
        return fail({ kind: 'BadPageToken', option })
      }
    },
  }
}

/** What a token is bound to: the entity, its transformations, the filter and the order as the client asked for them, whoever asks. */
function fingerprint({ entity, from, filter, orderBy }: Plan): Buffer {
  const text = JSON.stringify(
    [entity.name, from, filter, orderBy],
    (name, value: unknown) => (MODEL_MEMBERS.has(name) ? (value as { name: string }).name : value), // each is a model object
  )
  return createHash('sha256').update(text).digest()
}
