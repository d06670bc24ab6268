import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { fail } from '../errors/problem.js'
import { memoize } from './memoize.js'
import { type KeysetPosition, MODEL_MEMBERS, type Plan } from './plan.js'

/**
 * Where a page ended: the order values of its last record, as text, and how many records of a total `$top`
 * are still wanted.
 */
export interface Cursor {
  readonly after: KeysetPosition
  readonly remaining?: number
}

/** Turns cursors of one filter and order into opaque page tokens and back. */
export interface PlanSeal {
  seal(cursor: Cursor): string
  /** Fails with BadPageToken on anything that this service did not seal for the same filter and order. */
  open(token: string, option: string): Cursor
}

/** The seal for the filter and the order of a plan, as the client asked for them: before any restriction. */
export type CursorSeal = (plan: Plan) => PlanSeal

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Tokens are encrypted, so that they tell no value a reader may not see, and authenticated together with
 * filter and order, so that a token of another query is refused. They depend on nothing but the key, so they
 * outlive restarts. The initialisation vector is a digest of what is sealed: a record has one token in one
 * order, as caches of clients want it, and two different contents never share a vector. The text is base64url
 * without padding: some clients keep only letters, digits, `-` and `_` of a token.
 */
export function createCursorSeal(secret: string | KeyObject): CursorSeal {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'listing-service page token', 32))
  return memoize(function createPlanSeal(plan: Plan): PlanSeal {
    let digest: Buffer | undefined
    const associatedData = () => (digest ??= planDigest(plan))
    // Whoever asks the same again is mostly sent to the same place.
    let lastSealed: SealedCursor | undefined
    return {
      seal(cursor) {
        const text = JSON.stringify(cursor)
        if (lastSealed?.text !== text) lastSealed = { text, token: encrypt(text, key, associatedData()) }
        return lastSealed.token
      },
      open: (token, option) => {
        // What was sealed last is what a walk opens next.
        if (token === lastSealed?.token) return JSON.parse(lastSealed.text) as Cursor
        return decrypt(token, key, associatedData()) ?? fail({ kind: 'BadPageToken', option })
      },
    }
  })
}

/** A cursor as text, and its token. */
interface SealedCursor {
  readonly text: string
  readonly token: string
}

function encrypt(text: string, key: Buffer, associatedData: Buffer): string {
  const iv = createHmac('sha256', key).update(associatedData).update(text).digest().subarray(0, IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(associatedData)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, body, cipher.getAuthTag()]).toString('base64url')
}

function decrypt(token: string, key: Buffer, associatedData: Buffer): Cursor | undefined {
  const bytes = Buffer.from(token, 'base64url')
  // Buffer.from skips what is not base64url; only the exact text that was sealed counts.
  if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== token) return undefined
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
      .setAAD(associatedData)
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    const body = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
    return JSON.parse(body.toString('utf8')) as Cursor // authenticated: we wrote it
  } catch {
    return undefined
  }
}

/**
 * What a token is bound to: the entity, its transformations, the filter and the order as the client asked for
 * them, whoever asks.
 */
function planDigest({ entity, from, filter, orderBy }: Plan): Buffer {
  const text = JSON.stringify(
    [entity.name, from, filter, orderBy],
    (name, value: unknown) => (MODEL_MEMBERS.has(name) ? (value as { name: string }).name : value), // each is a model object
  )
  return createHash('sha256').update(text).digest()
}
