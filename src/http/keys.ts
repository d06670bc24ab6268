import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { fail } from '../errors/problem.js'

export interface KeySetOptions {
  readonly url: string
  /** After this time the set is read again. */
  readonly maxAgeMs: number
  /** Least time between two readings that unknown keys or an outage ask for. */
  readonly cooldownMs: number
  readonly timeoutMs: number
}

/** The keys in force now, and until when an answer that rests on them may be kept (milliseconds of the clock). */
export interface Keys {
  readonly find: JWTVerifyGetKey
  readonly freshUntil: number
}

/** An outage of the key server is bridged for a day: a removed key must not live for ever by cutting the line. */
const BRIDGE_MS = 86_400_000

/**
 * The public keys of JWKS_URL (RFC 7517). They are read at the first use, again when they are old, and again for a key they do not hold;
 * many requests at once cause one reading. During an outage the keys already read go on working.
 */
export class KeySet {
  readonly #options: KeySetOptions
  readonly #onChange: () => void
  #keys: (Keys & { readonly readAt: number }) | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  #reachable = true
  #reading: Promise<void> | undefined

  constructor(options: KeySetOptions, onChange: () => void) {
    this.#options = options
    this.#onChange = onChange
  }

  /** @throws ProblemError Unavailable 'keys' if there are none. */
  async current(): Promise<Keys> {
    if (Date.now() >= (this.#keys?.freshUntil ?? 0)) await this.#refresh()
    const bridged = this.#keys !== undefined && Date.now() < this.#keys.readAt + this.#options.maxAgeMs + BRIDGE_MS
    return this.#keys !== undefined && bridged ? this.#keys : fail({ kind: 'Unavailable', reason: 'keys' })
  }

  /**
   * The keys after a look for one that `current` did not hold.
   * @throws ProblemError Unavailable 'keys' if the key server does not answer, since the key may exist.
   */
  async renewed(): Promise<Keys> {
    await this.#refresh()
    return this.#reachable ? await this.current() : fail({ kind: 'Unavailable', reason: 'keys' })
  }

  async #refresh(): Promise<void> {
    if (this.#reading === undefined && Date.now() < this.#triedAt + this.#options.cooldownMs) return
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  async #read(): Promise<void> {
    this.#triedAt = Date.now()
    const set = await fetchKeys(this.#options)
    this.#reachable = set !== undefined
    const readAt = Date.now()
    if (set !== undefined) this.#keys = { find: set, readAt, freshUntil: readAt + this.#options.maxAgeMs }
    if (set !== undefined) this.#onChange()
  }
}

/** `undefined` for anything but a key set: what the key server answers says nothing about the token. */
async function fetchKeys({ url, timeoutMs }: KeySetOptions): Promise<JWTVerifyGetKey | undefined> {
  try {
    const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    if (!response.ok) return undefined
    // createLocalJWKSet checks the form of the set and throws if it is none.
    return createLocalJWKSet((await response.json()) as JSONWebKeySet)
  } catch {
    return undefined
  }
}
