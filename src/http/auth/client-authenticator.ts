import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Client, isActive } from '../../domain/clients/client.js'
import type { ClientDirectory } from '../../domain/clients/directory.js'
import { findMatchingSecret } from '../../domain/clients/secrets.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'

const MAX_REMEMBERED_SECRETS = 10_000
const MAX_COUNTED_ADDRESSES = 10_000
const FAILURE_WINDOW_MS = 60_000
/** Maximum failed attempts of an address in a minute. Further attempts are refused until the minute ends. */
const MAX_FAILURES = 20

/** A client that was authenticated by a secret. */
export interface AuthenticatedClient {
  readonly client: Client
  readonly secretId: string
}

/** Failed attempts of an address until the end of a minute. */
interface Failures {
  count: number
  readonly endsAt: number
}

/**
 * Authenticates clients by their secret. A correct secret is cached as an HMAC until its client changes, so
 * that it is hashed once. Failed attempts are counted by address and not by client, so that an attacker
 * cannot lock out the owner of a secret.
 */
export class ClientAuthenticator {
  readonly #directory: ClientDirectory
  readonly #onSecretUse: (secretId: string) => void
  readonly #digestKey = randomBytes(32)
  readonly #remembered = new LRUCache<string, AuthenticatedClient>({ max: MAX_REMEMBERED_SECRETS })
  /** Secrets that are being hashed, by their digest. */
  readonly #running = new Map<string, Promise<AuthenticatedClient | undefined>>()
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_COUNTED_ADDRESSES })

  /** @param onSecretUse called at each use of a correct secret */
  constructor(directory: ClientDirectory, onSecretUse: (secretId: string) => void = () => undefined) {
    this.#directory = directory
    this.#onSecretUse = onSecretUse
  }

  /**
   * Returns the active client with this id and secret.
   * @throws ProblemError TokenRefused, the same for an unknown client and a wrong secret; TooManyRequests for an
   * address with too many failures; Unavailable 'clients'
   */
  async authenticate(id: string, secret: string, address: string): Promise<AuthenticatedClient> {
    await this.#directory.ready()
    const client = this.#directory.find(id)
    const digest = createHmac('sha256', this.#digestKey).update(`${id}:${secret}`).digest('base64')
    const remembered = this.#remembered.get(digest)
    if (remembered && remembered.client === client) return this.#accept(remembered)
    this.checkAddress(address)
    const authenticated = client && (await this.#match(digest, client, secret, address))
    return authenticated ? this.#accept(authenticated) : this.fail(address)
  }

  /**
   * Compares a secret with those of its client, and caches the result. Concurrent attempts with the same
   * secret share one hash. An attempt counts as failed until its hash is computed, which limits the hashes
   * that one address can cause.
   */
  #match(
    digest: string,
    client: Client,
    secret: string,
    address: string,
  ): Promise<AuthenticatedClient | undefined> {
    const running = this.#running.get(digest)
    if (running) return running
    const failures = this.#count(address)
    const result = findMatchingSecret(secret, client.secrets)
      .then(match => {
        if (!match) return undefined
        const authenticated = { client, secretId: match.id }
        this.#remembered.set(digest, authenticated)
        return authenticated
      })
      .finally(() => {
        failures.count -= 1
        this.#running.delete(digest)
      })
    this.#running.set(digest, result)
    return result
  }

  /** @throws ProblemError TooManyRequests for an address with too many failures */
  checkAddress(address: string): void {
    const now = Date.now()
    const failures = this.#failures.get(address)
    if (failures && failures.count >= MAX_FAILURES && now < failures.endsAt)
      fail({ kind: 'TooManyRequests', retryAfter: Math.ceil((failures.endsAt - now) / 1000) })
  }

  /** Counts a failed attempt, and refuses it. */
  fail(address: string): never {
    this.#count(address)
    return fail({ kind: 'TokenRefused', reason: REASONS.credentialsWrong })
  }

  #count(address: string): Failures {
    const now = Date.now()
    const known = this.#failures.get(address)
    const failures = known && now < known.endsAt ? known : { count: 0, endsAt: now + FAILURE_WINDOW_MS }
    failures.count += 1
    this.#failures.set(address, failures)
    return failures
  }

  /**
   * An inactive client is refused like a wrong secret. The attempt is not counted, since the secret is
   * correct.
   */
  #accept(authenticated: AuthenticatedClient): AuthenticatedClient {
    if (!isActive(authenticated.client))
      return fail({ kind: 'TokenRefused', reason: REASONS.credentialsWrong })
    this.#onSecretUse(authenticated.secretId)
    return authenticated
  }
}
