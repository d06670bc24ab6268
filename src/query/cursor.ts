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

/** The position of a reader that tracks the changes of a query. Sequence numbers are text. */
export interface Tracking {
  /** The identity of the change log. */
  readonly log: string
  /** The reader has received all events up to this number. */
  readonly since: string
  /** The last event to read. Undefined if the reader is up to date. */
  readonly until?: string
  /**
   * A page that ended between the records that refer to a changed record. The reader has received everything
   * up to event `through`, but of these records only those up to the key.
   */
  readonly within?: { readonly through: string; readonly key: string }
  /** Digests of the rights of the reader, and of the selection of the query. */
  readonly rights: string
  readonly view: string
}

/**
 * The end of a page: the order values of its last record, as text, and the remaining records if `$top` limits
 * the total.
 */
export interface Cursor {
  readonly after: KeysetPosition
  readonly remaining?: number
  /** The identity of the change log and its floor when the page was read, for pages of the log. */
  readonly log?: { readonly id: string; readonly floor: string }
  /** Present if the changes of the query are tracked since the first page. */
  readonly tracking?: Tracking
}

/** Encrypts cursors of one filter and order into opaque page tokens, and decrypts them. */
export interface PlanSeal {
  seal(cursor: Cursor): string
  /** Fails with BadPageToken for a token that was not sealed for the same filter and order. */
  open(token: string, option: string): Cursor
}

/** Returns the seal for the filter and order of a plan. The plan must not contain permissions yet. */
export type CursorSeal = (plan: Plan) => PlanSeal

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Creates the seals of page tokens with AES-256-GCM.
 * - Tokens are encrypted, so that they do not disclose values that the reader cannot see.
 * - Filter and order are authenticated with the token, so that a token of another query is refused.
 * - Tokens depend only on the key, so they remain valid after a restart.
 * - The initialization vector is a digest of the content. A record therefore has one token per order, which
 *   client caches need, and different contents never share a vector.
 * - The text is base64url without padding, since some clients preserve only letters, digits, `-` and `_`.
 */
export function createCursorSeal(secret: string | KeyObject): CursorSeal {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'listing-service page token', 32))
  return memoize(function createPlanSeal(plan: Plan): PlanSeal {
    let digest: Buffer | undefined
    const associatedData = () => (digest ??= planDigest(plan))
    // A repeated query usually has the same next page.
    let lastSealed: SealedCursor | undefined
    return {
      seal(cursor) {
        const text = JSON.stringify(cursor)
        if (lastSealed?.text !== text) lastSealed = { text, token: encrypt(text, key, associatedData()) }
        return lastSealed.token
      },
      open: (token, option) => {
        // The token sealed last is usually the next to be opened.
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
  // Buffer.from ignores characters that are not base64url. Only the exact token is accepted.
  if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== token) return undefined
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
      .setAAD(associatedData)
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    const body = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
    return JSON.parse(body.toString('utf8')) as Cursor // authenticated, so sealed here
  } catch {
    return undefined
  }
}

/**
 * Returns the digest that a token is bound to: the entity, its transformations, the filter and the order,
 * without the permissions of the actor.
 */
const planDigest = ({ entity, from, filter, orderBy }: Plan): Buffer =>
  digestOf([entity.name, from, filter, orderBy])

/** Returns the digest of parts of a plan, the same in every process. Objects of the model count by their names. */
export function digestOf(parts: readonly unknown[]): Buffer {
  const text = JSON.stringify(
    parts,
    (name, value: unknown) => (MODEL_MEMBERS.has(name) ? (value as { name: string }).name : value), // each is a model object
  )
  return createHash('sha256').update(text).digest()
}

/**
 * Returns the cursor of the page that follows a page, or undefined after the last page.
 * @param after the position of the last record, if records follow
 * @param remaining the number of records that later pages may have, if a total limits it
 */
export function toNextCursor(
  after: KeysetPosition | undefined,
  remaining: number | undefined,
  tracking: Tracking | undefined,
): Cursor | undefined {
  if (!after || remaining === 0) return undefined
  return { after, ...(remaining !== undefined && { remaining }), ...(tracking && { tracking }) }
}
