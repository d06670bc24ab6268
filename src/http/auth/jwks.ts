import { messageOf, withCause } from '../../errors/problem.js'
import { type KeySelector, readSigningKeys, type SigningKeys, type UnusableKey } from './signing-keys.js'

export interface KeySetOptions {
  readonly url: string
  /** Age after which the key set is fetched again. */
  readonly maxAgeMs: number
  /** Minimum time between two fetches caused by an unknown key or an outage. */
  readonly cooldownMs: number
  readonly timeoutMs: number
}

/** Callbacks of a key set. */
export interface KeySetListeners {
  /** Called after the keys were fetched. Results based on older keys are no longer valid. */
  readonly onChange: () => void
  /** Called when the set of unusable keys has changed. */
  readonly onUnusable: (keys: readonly UnusableKey[]) => void
}

/** The current keys, and the time until which a result based on them may be cached (ms since 1970). */
export interface CurrentKeys {
  readonly select: KeySelector
  readonly freshUntil: number
}

const MAX_RESPONSE_BYTES = 1_048_576
/** Minimum time for which a result based on old keys is cached during an outage. */
const MIN_OUTAGE_CHECK_MS = 1000
/**
 * Time for which old keys remain valid during an outage of the key server. It is limited, because an attacker
 * who blocks the key server could otherwise keep a removed key valid.
 */
const MAX_STALE_MS = 86_400_000

/**
 * The public keys of JWKS_URL (RFC 7517). They are fetched at the first use, when they are too old, and when
 * a token names an unknown key. Concurrent requests share one fetch. During an outage, the keys fetched
 * before remain in use.
 */
export class KeySet {
  readonly #options: KeySetOptions
  readonly #listeners: KeySetListeners
  #keys: CurrentKeys | undefined
  /** Keys that were unusable at the last fetch, as JSON. */
  #unusable = '[]'
  #lastFetchAt = Number.NEGATIVE_INFINITY
  #reachable = true
  /** Error of the last failed fetch. */
  #lastError: unknown
  #pendingFetch: Promise<void> | undefined

  constructor(options: KeySetOptions, listeners: KeySetListeners) {
    this.#options = options
    this.#listeners = listeners
  }

  /**
   * Returns the current keys. During an outage they are valid until the next attempt to fetch.
   * @throws ProblemError Unavailable 'keys' if no keys were ever fetched or they are too old
   */
  async current(): Promise<CurrentKeys> {
    const isOld = Date.now() >= (this.#keys?.freshUntil ?? 0)
    if (isOld && (this.#reachable || this.#mayFetch())) {
      const pendingFetch = this.#fetchOnce()
      // During an outage, requests do not wait for the key server if there are keys.
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
   * Fetches the keys again for a token whose key `current` did not contain.
   * @throws ProblemError Unavailable 'keys' if the key server does not answer, since the key may exist
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
      // The error is unrelated to the token.
      this.#reachable = false
      // The message of `fetch` is only "fetch failed". Its cause has the reason.
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

/**
 * Fetches the key set.
 * @throws Error if the response is not a key set
 */
async function fetchKeys({ url, timeoutMs }: KeySetOptions): Promise<SigningKeys> {
  const set: unknown = JSON.parse(await fetchText(url, timeoutMs))
  const entries = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
  if (!Array.isArray(entries)) throw new Error('the response of the key server is not a key set')
  return await readSigningKeys(entries)
}

/** Returns the body of a response. The timeout covers the whole body. */
async function fetchText(url: string, timeoutMs: number): Promise<string> {
  const { ok, status, body } = await fetch(url, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (ok) return await readBounded(body)
  await body?.cancel()
  throw new Error(`the key server answered with status ${status}`)
}

async function readBounded(body: Response['body']): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_RESPONSE_BYTES)
      throw new Error(`the response of the key server exceeds ${MAX_RESPONSE_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
