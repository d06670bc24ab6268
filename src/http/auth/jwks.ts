import { messageOf, withCause } from '../../errors/problem.js'
import { type KeySelector, readSigningKeys, type SigningKeys, type UnusableKey } from './signing-keys.js'

export interface KeySetOptions {
  readonly url: string
  /** After this time the set is read again. */
  readonly maxAgeMs: number
  /** Least time between two readings that an unknown key or an outage ask for. */
  readonly cooldownMs: number
  readonly timeoutMs: number
}

/** What becomes of a key set. */
export interface KeySetListeners {
  /** The keys were read again: answers that rest on older ones do not count any more. */
  readonly onChange: () => void
  /** Some keys of the set cannot be used. Called when these are others than before. */
  readonly onUnusable: (keys: readonly UnusableKey[]) => void
}

/** The keys in force, and until when an answer that rests on them may be kept (milliseconds of the clock). */
export interface CurrentKeys {
  readonly select: KeySelector
  readonly freshUntil: number
}

const MAX_ANSWER_BYTES = 1_048_576
/** Least time for which an answer that rests on old keys is kept during an outage. */
const MIN_OUTAGE_CHECK_MS = 1000
/** An outage of the key server is bridged for a day: cutting the line must not keep a removed key in force. */
const MAX_STALE_MS = 86_400_000

/**
 * The public keys of JWKS_URL (RFC 7517). They are read at the first use, again when they are old, and again
 * for a key they do not hold; many requests at once cause one reading. During an outage the keys already read
 * go on working.
 */
export class KeySet {
  readonly #options: KeySetOptions
  readonly #listeners: KeySetListeners
  #keys: CurrentKeys | undefined
  /** The keys that could not be used at the last reading, as JSON. */
  #unusable = '[]'
  #lastFetchAt = Number.NEGATIVE_INFINITY
  #reachable = true
  /** Why the last reading failed. */
  #lastError: unknown
  #pendingFetch: Promise<void> | undefined

  constructor(options: KeySetOptions, listeners: KeySetListeners) {
    this.#options = options
    this.#listeners = listeners
  }

  /**
   * The keys in force. During an outage an answer that rests on them holds until the key server may be asked
   * again.
   * @throws ProblemError Unavailable 'keys' if there are none.
   */
  async current(): Promise<CurrentKeys> {
    const isOld = Date.now() >= (this.#keys?.freshUntil ?? 0)
    if (isOld && (this.#reachable || this.#mayFetch())) {
      const pendingFetch = this.#fetchOnce()
      // While the key server is away nobody waits for it who can go on with the keys at hand.
      if (this.#reachable || this.#keys === undefined) await pendingFetch
    }
    const now = Date.now()
    if (this.#keys === undefined) return this.#failUnavailable()
    const { select, freshUntil } = this.#keys
    if (now < freshUntil) return this.#keys
    const usableUntil = freshUntil + MAX_STALE_MS
    const nextCheckAt = now + Math.max(this.#options.cooldownMs, MIN_OUTAGE_CHECK_MS)
    return now < usableUntil
      ? { select, freshUntil: Math.min(nextCheckAt, usableUntil) }
      : this.#failUnavailable()
  }

  /**
   * The keys after a look for one that `current` did not hold.
   * @throws ProblemError Unavailable 'keys' if the key server does not answer, since the key may exist.
   */
  async refresh(): Promise<CurrentKeys> {
    if (this.#mayFetch()) await this.#fetchOnce()
    return this.#reachable ? await this.current() : this.#failUnavailable()
  }

  #failUnavailable(): never {
    throw withCause({ kind: 'Unavailable', reason: 'keys' }, this.#lastError)
  }

  #mayFetch(): boolean {
    return this.#pendingFetch !== undefined || Date.now() >= this.#lastFetchAt + this.#options.cooldownMs
  }

  #fetchOnce(): Promise<void> {
    this.#pendingFetch ??= this.#fetchAndStore().finally(() => {
      this.#pendingFetch = undefined
    })
    return this.#pendingFetch
  }

  async #fetchAndStore(): Promise<void> {
    this.#lastFetchAt = Date.now()
    try {
      const { select, unusable } = await fetchKeys(this.#options)
      this.#reachable = true
      this.#keys = { select, freshUntil: Date.now() + this.#options.maxAgeMs }
      this.#reportUnusable(unusable)
    } catch (error) {
      // Whatever it is, it says nothing about the token.
      this.#reachable = false
      // What `fetch` itself says is "fetch failed".
      this.#lastError = new Error(
        `JWKS_URL: ${messageOf(error instanceof Error ? (error.cause ?? error) : error)}`,
      )
      return
    }
    this.#listeners.onChange()
  }

  #reportUnusable(keys: readonly UnusableKey[]): void {
    const text = JSON.stringify(keys)
    if (text !== this.#unusable && keys.length > 0) this.#listeners.onUnusable(keys)
    this.#unusable = text
  }
}

/** @throws Error if the key server does not answer with a key set. */
async function fetchKeys({ url, timeoutMs }: KeySetOptions): Promise<SigningKeys> {
  const set: unknown = JSON.parse(await fetchText(url, timeoutMs))
  const entries = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
  if (!Array.isArray(entries)) throw new Error('the key server answers with no key set')
  return await readSigningKeys(entries)
}

/** The body of an answer. The timeout covers all of it. */
async function fetchText(url: string, timeoutMs: number): Promise<string> {
  const { ok, status, body } = await fetch(url, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (ok) return await readBounded(body)
  await body?.cancel()
  throw new Error(`the key server answers ${status}`)
}

async function readBounded(body: Response['body']): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES)
      throw new Error(`the answer of the key server has more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
