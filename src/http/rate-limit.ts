import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import onHeaders from 'on-headers'
import type { Config } from '../config/config.js'
import { ProblemError } from '../errors/problem.js'
import type { TokenVerifier, VerifiedToken } from './auth/bearer.js'
import { authenticateRequest } from './auth/verified-token.js'
import { offerBasicAuthentication } from './errors.js'

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

/** Counts the requests of clients of the database. */
export interface RequestCounter {
  countRequest(clientId: string, isRefused: boolean): void
}

/**
 * Authenticates each request and limits requests to RATE_LIMIT per minute and token, and sets the RateLimit headers. Only valid tokens are
 * counted, so that invented tokens cannot fill the memory, and clients with the same address do not affect each
 * other. The adapters reject requests without a valid token. Rejected requests do not extend the wait.
 * TooManyRequests goes to the error handler of the adapter.
 */
export function limitRate(
  config: Pick<Config, 'rateLimit' | 'trustProxy' | 'basicAuth'>,
  verifier: TokenVerifier,
  limiter: RateLimiter = createRateLimiter(config),
  counter?: RequestCounter,
): RateLimitMiddleware {
  const refuse = (res: ServerResponse, next: () => void) => {
    if (config.basicAuth) onHeaders(res, offerBasicAuthentication)
    next()
  }
  return (req, res, next) => {
    const count = ({ name, client }: VerifiedToken) => {
      const state = limiter.rateLimit === 0 ? undefined : limiter.consumeFor(name)
      if (client) counter?.countRequest(client.id, state?.isExceeded ?? false)
      if (state) applyRateLimit(state, limiter.rateLimit, res, next)
      else next()
    }
    const token = tryAuthenticate(req, verifier, config)
    if (!token) refuse(res, next)
    else if (token instanceof Promise) token.then(count, () => refuse(res, next))
    else count(token)
  }
}

/** The adapter that handles the request reports the error, in its own form. */
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

function applyRateLimit(
  { remaining, resetSeconds, isExceeded }: RateLimitState,
  limit: number,
  res: ServerResponse,
  next: (error?: unknown) => void,
): void {
  res.setHeader('RateLimit-Limit', limit)
  res.setHeader('RateLimit-Remaining', remaining)
  res.setHeader('RateLimit-Reset', resetSeconds)
  next(isExceeded ? new ProblemError({ kind: 'TooManyRequests', retryAfter: resetSeconds }) : undefined)
}
