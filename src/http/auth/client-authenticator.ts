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
/** Failed attempts of an address in a minute, after which its attempts are refused until the minute ends. */
const MAX_FAILURES = 20

/** A client that has proved its identity with a secret. */
export interface AuthenticatedClient {
  readonly client: Client
  readonly secretId: string
}

/**
 * Authenticates clients by their secret. A right secret is remembered as a keyed digest until its client
 * changes, so that it is hashed once. Failed attempts count for the address that makes them, never for the client: an
 * attacker cannot shut the owner of a secret out.
 */
export class ClientAuthenticator {
  readonly #directory: ClientDirectory
  readonly #onSecretUse: (secretId: string) => void
  readonly #digestKey = randomBytes(32)
  readonly #remembered = new LRUCache<string, AuthenticatedClient>({ max: MAX_REMEMBERED_SECRETS })
  readonly #failures = new LRUCache<string, { count: number; readonly endsAt: number }>({
    max: MAX_COUNTED_ADDRESSES,
  })

  /** @param onSecretUse is called at each use of a right secret. */
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
    const match = client && (await findMatchingSecret(secret, client.secrets))
    if (!client || !match) return this.fail(address)
    const authenticated = { client, secretId: match.id }
    this.#remembered.set(digest, authenticated)
    return this.#accept(authenticated)
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
    const now = Date.now()
    const failures = this.#failures.get(address)
    if (failures && now < failures.endsAt) failures.count += 1
    else this.#failures.set(address, { count: 1, endsAt: now + FAILURE_WINDOW_MS })
    return fail({ kind: 'TokenRefused', reason: REASONS.credentialsWrong })
  }

  /** A client that is not active is refused like a wrong secret, but not counted: its owner does not guess. */
  #accept(authenticated: AuthenticatedClient): AuthenticatedClient {
    if (!isActive(authenticated.client))
      return fail({ kind: 'TokenRefused', reason: REASONS.credentialsWrong })
    this.#onSecretUse(authenticated.secretId)
    return authenticated
  }
}
