import type { ScopeAllowance } from '../request-scope.js'
import type { Client } from './client.js'

/** The limit on requests that ends first, as the RateLimit headers show it. */
export interface RequestQuotaState {
  readonly limit: number
  /** Number of requests that will be served in this window, at least. */
  readonly remaining: number
  /** Seconds until the window ends. */
  readonly resetSeconds: number
}

/** The limits of a registered client. All its requests in a process share them. */
export interface ClientAllowance extends ScopeAllowance {
  /** All limits on requests, such as `60;w=60, 1000;w=86400`. Empty: there is none. */
  readonly policy: string
  /**
   * Counts requests, all or none. Returns a promise if a statement is needed, and undefined if requests have
   * no limit.
   * @throws ProblemError TooManyRequests, Unavailable 'clients'
   */
  takeRequests(count: number): RequestQuotaState | undefined | Promise<RequestQuotaState | undefined>
  /** Counts a request that RATE_LIMIT has refused in the usage. */
  countRefusal(): void
}

/** The limits of all clients. */
export interface ClientLimiter {
  allowanceOf(client: Client): ClientAllowance
}
