import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { messageOf, withCause } from '../../errors/problem.js'

export interface KeySetOptions {
  readonly url: string
  /** After this time the set is read again. */
  readonly maxAgeMs: number
  /** Least time between two readings that an unknown key or an outage ask for. */
  readonly cooldownMs: number
  readonly timeoutMs: number
}

export type Algorithm = 'RS256' | 'ES256'

/** A public key for signatures; it verifies the one algorithm that its type allows. */
interface SigningKey {
  readonly id: string | undefined
  readonly algorithm: Algorithm
  readonly key: KeyObject
}

/**
 * The keys in force now, and until when an answer that rests on them may be kept (milliseconds of the clock).
 */
export interface SigningKeys {
  readonly keys: readonly SigningKey[]
  readonly freshUntil: number
}

/**
 * An outage of the key server is bridged for a day: a removed key must not live for ever by cutting the line.
 */
const MAX_STALE_MS = 86_400_000

/**
 * The public keys of JWKS_URL (RFC 7517). They are read at the first use, again when they are old, and again
 * for a key they do not hold; many requests at once cause one reading. During an outage the keys already read
 * go on working.
 */
export class KeySet {
  readonly #options: KeySetOptions
  readonly #onChange: () => void
  #keys: SigningKeys | undefined
  #lastFetchAt = Number.NEGATIVE_INFINITY
  #reachable = true
  /** Why the last reading failed. */
  #lastError: unknown
  #pendingFetch: Promise<void> | undefined

  constructor(options: KeySetOptions, onChange: () => void) {
    this.#options = options
    this.#onChange = onChange
  }

  /** @throws ProblemError Unavailable 'keys' if there are none. */
  async current(): Promise<SigningKeys> {
    const isOld = Date.now() >= (this.#keys?.freshUntil ?? 0)
    if (isOld && (this.#reachable || this.#mayFetch())) {
      const pendingFetch = this.#fetchOnce()
      // While the key server is away nobody waits for it who can go on with the keys at hand.
      if (this.#reachable || this.#keys === undefined) await pendingFetch
    }
    const isUsable = this.#keys !== undefined && Date.now() < this.#keys.freshUntil + MAX_STALE_MS
    return this.#keys !== undefined && isUsable ? this.#keys : this.#failUnavailable()
  }

  /**
   * The keys after a look for one that `current` did not hold.
   * @throws ProblemError Unavailable 'keys' if the key server does not answer, since the key may exist.
   */
  async refresh(): Promise<SigningKeys> {
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
      const keys = await fetchKeys(this.#options)
      this.#reachable = true
      this.#keys = { keys, freshUntil: Date.now() + this.#options.maxAgeMs }
    } catch (error) {
      // Whatever it is, it says nothing about the token.
      this.#reachable = false
      // What `fetch` itself says is "fetch failed".
      this.#lastError = new Error(
        `JWKS_URL: ${messageOf(error instanceof Error ? (error.cause ?? error) : error)}`,
      )
      return
    }
    this.#onChange()
  }
}

/** @throws Error if the key server does not answer with a key set. */
async function fetchKeys({ url, timeoutMs }: KeySetOptions): Promise<readonly SigningKey[]> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok) throw new Error(`the key server answers ${response.status}`)
  const set: unknown = await response.json()
  const keys = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
  if (!Array.isArray(keys)) throw new Error('the key server answers with no key set')
  return keys.flatMap(toSigningKey)
}

/** A key that is for something else, or that this service cannot use, is passed over (RFC 7517, 5). */
function toSigningKey(
  jwk: JsonWebKey & { readonly kid?: unknown; readonly use?: unknown; readonly alg?: unknown },
): readonly SigningKey[] {
  const algorithm =
    jwk.kty === 'RSA' ? 'RS256' : jwk.kty === 'EC' && jwk.crv === 'P-256' ? 'ES256' : undefined
  if (!algorithm || (jwk.use ?? 'sig') !== 'sig' || (jwk.alg ?? algorithm) !== algorithm) return []
  try {
    return [
      {
        id: typeof jwk.kid === 'string' ? jwk.kid : undefined,
        algorithm,
        key: createPublicKey({ key: jwk, format: 'jwk' }),
      },
    ]
  } catch {
    return []
  }
}
