import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import onHeaders from 'on-headers'
import type { Config } from '../../config/config.js'
import type { ClientLimiter, RequestQuotaState } from '../../domain/clients/limiter.js'
import { ProblemError } from '../../errors/problem.js'
import { authenticateRequest } from '../auth/authenticate-request.js'
import type { TokenVerifier, VerifiedToken } from '../auth/bearer.js'
import { offerBasicAuthentication } from '../errors.js'
import { setAllowance } from './request-allowance.js'

const LIMIT_HEADER = 'RateLimit-Limit'
const REMAINING_HEADER = 'RateLimit-Remaining'
const RESET_HEADER = 'RateLimit-Reset'
const POLICY_HEADER = 'RateLimit-Policy'
const WINDOW_MS = 60_000
const MAX_COUNTED_TOKENS = 100_000

interface RateWindow {
  readonly endsAt: number
  count: number
}

type RateLimitMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void

/** The remaining requests of a window. */
interface RateLimitState {
  readonly limit: number
  readonly remaining: number
  /** Seconds until the window ends. */
  readonly resetSeconds: number
  readonly isExceeded: boolean
}

/**
 * Counts requests by token, in windows of a minute that begin with the first request. HTTP and WebSockets
 * share the counts.
 */
export interface RateLimiter {
  readonly rateLimit: number
  /** Counts one request by the fingerprint of its token. */
  consumeFor(name: string): RateLimitState
}

export function createRateLimiter({ rateLimit }: Pick<Config, 'rateLimit'>): RateLimiter {
  const windows = new LRUCache<string, RateWindow>({ max: MAX_COUNTED_TOKENS })
  function openWindow(name: string, now: number): RateWindow {
    const window = { endsAt: now + WINDOW_MS, count: 0 }
    windows.set(name, window)
    return window
  }
  function consumeFor(name: string): RateLimitState {
    const now = Date.now()
    const current = windows.get(name)
    const window = current !== undefined && now < current.endsAt ? current : openWindow(name, now)
    window.count++
    const resetSeconds = Math.max(1, Math.ceil((window.endsAt - now) / 1000))
    return {
      limit: rateLimit,
      remaining: Math.max(0, rateLimit - window.count),
      resetSeconds,
      isExceeded: rateLimit > 0 && window.count > rateLimit,
    }
  }
  return {
    rateLimit,
    consumeFor,
  }
}

/** The verifier of tokens, and the limits of registered clients. */
interface RequestAuthorization {
  readonly verifier: TokenVerifier
  readonly limits?: ClientLimiter
}

/**
 * Authenticates each request and counts it: by token if RATE_LIMIT is set, and by registered client. Sets the
 * RateLimit headers. Only valid tokens are counted, so that forged tokens cannot fill the memory. Clients
 * with the same address do not affect each other. The adapters reject requests without a valid token.
 * Rejected requests do not extend the wait. The adapter reports TooManyRequests.
 */
export function limitRate(
  config: Pick<Config, 'rateLimit' | 'trustProxy' | 'basicAuth'>,
  { verifier, limits }: RequestAuthorization,
  tokens: RateLimiter = createRateLimiter(config),
): RateLimitMiddleware {
  const refuse = (res: ServerResponse, next: () => void) => {
    if (config.basicAuth) onHeaders(res, offerBasicAuthentication)
    next()
  }
  return (req, res, next) => {
    const count = (token: VerifiedToken) => countRequest(token, { tokens, limits }, { req, res, next })
    const token = tryAuthenticate(req, verifier, config)
    if (!token) refuse(res, next)
    else if (token instanceof Promise) token.then(count, () => refuse(res, next))
    else count(token)
  }
}

/** The adapter that handles the request reports the error in its own format. */
function tryAuthenticate(
  req: IncomingMessage,
  verifier: TokenVerifier,
  config: Pick<Config, 'trustProxy'>,
): VerifiedToken | Promise<VerifiedToken> | undefined {
  try {
    return authenticateRequest(req, verifier, config)
  } catch {
    return undefined
  }
}

interface RequestToCount {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly next: (error?: unknown) => void
}

function countRequest(
  { name, client }: VerifiedToken,
  { tokens, limits }: { readonly tokens: RateLimiter; readonly limits: ClientLimiter | undefined },
  { req, res, next }: RequestToCount,
): void {
  const tokenState = tokens.rateLimit === 0 ? undefined : tokens.consumeFor(name)
  if (tokenState) setRateLimitHeaders(res, tokenState)
  const allowance = client && limits?.allowanceOf(client)
  if (allowance) setAllowance(req, allowance)
  if (allowance?.policy) res.setHeader(POLICY_HEADER, allowance.policy)
  if (tokenState?.isExceeded) {
    allowance?.countRefusal()
    next(new ProblemError({ kind: 'TooManyRequests', retryAfter: tokenState.resetSeconds }))
    return
  }
  const finish = (state: RequestQuotaState | undefined): void => {
    if (state) setClientHeaders(res, state, tokenState)
    next()
  }
  try {
    const state = allowance?.takeRequests(1)
    if (state instanceof Promise) state.then(finish, next)
    else finish(state)
  } catch (error) {
    next(error)
  }
}

/** Sets the headers of the limit that ends first. */
function setClientHeaders(
  res: ServerResponse,
  state: RequestQuotaState,
  tokenState: RateLimitState | undefined,
): void {
  if (!tokenState || state.remaining < tokenState.remaining) setRateLimitHeaders(res, state)
}

function setRateLimitHeaders(
  res: ServerResponse,
  { limit, remaining, resetSeconds }: Pick<RequestQuotaState, 'limit' | 'remaining' | 'resetSeconds'>,
): void {
  res.setHeader(LIMIT_HEADER, limit)
  res.setHeader(REMAINING_HEADER, remaining)
  res.setHeader(RESET_HEADER, resetSeconds)
}

/** Lowers the number of remaining requests, for a batch whose requests are counted after its headers are sent. */
export function lowerRemaining(res: ServerResponse, count: number): void {
  const remaining = res.getHeader(REMAINING_HEADER)
  if (typeof remaining === 'number') res.setHeader(REMAINING_HEADER, Math.max(0, remaining - count))
}
