import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config/config.js'
import { ProblemError } from '../errors/problem.js'
import { fingerprint, readToken, type Verified, type Verifier } from './auth/bearer.js'
import { noteCaller } from './auth/request-actor.js'

const WINDOW_MS = 60_000
const COUNTED_TOKENS = 100_000

interface Window {
  readonly endsAt: number
  count: number
}

type Handler = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

/** What is left of a window. */
interface Left {
  readonly requests: number
  /** Seconds to the end of the window. */
  readonly seconds: number
  readonly isOver: boolean
}

/**
 * Counts what tokens ask for, in windows of a minute that begin with the first request: HTTP and WebSockets
 * share it.
 */
export interface RateMeter {
  readonly rateLimit: number
  /** Counts one request of a valid token. */
  count(authorization: string): Left
  /** The same by the token's name in memory. */
  countOf(name: string): Left
}

export function createMeter({ rateLimit }: Pick<Config, 'rateLimit'>): RateMeter {
  const windows = new LRUCache<string, Window>({ max: COUNTED_TOKENS })
  function open(name: string, now: number): Window {
    const window = { endsAt: now + WINDOW_MS, count: 0 }
    windows.set(name, window)
    return window
  }
  function countOf(name: string): Left {
    const now = Date.now()
    const known = windows.get(name)
    const window = known !== undefined && now < known.endsAt ? known : open(name, now)
    window.count++
    const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1000))
    return {
      requests: Math.max(0, rateLimit - window.count),
      seconds,
      isOver: rateLimit > 0 && window.count > rateLimit,
    }
  }
  return { rateLimit, countOf, count: authorization => countOf(fingerprint(readToken(authorization))) }
}

/**
 * At most RATE_LIMIT requests per minute and token. What is left stands in the RateLimit headers. Only valid
 * tokens count, so nobody fills the memory with invented ones or starves another behind the same address;
 * requests without one go on to be refused by the adapters. Refused requests do not prolong the wait. The
 * problem (TooManyRequests) goes to the error handler of the adapter behind.
 */
export function limitRate(
  config: Pick<Config, 'rateLimit'>,
  verifier: Verifier,
  meter: RateMeter = createMeter(config),
): Handler {
  return (req, res, next) => {
    const { authorization } = req.headers
    if (meter.rateLimit === 0 || authorization === undefined) return next()
    const known = verifier.recall(authorization)
    if (known) return letIn(req, known, meter, res, next)
    verifier.inspect(authorization).then(
      verified => letIn(req, verified, meter, res, next),
      () => next(),
    )
  }
}

function letIn(
  req: IncomingMessage,
  { actor, name }: Verified,
  meter: RateMeter,
  res: ServerResponse,
  next: (error?: unknown) => void,
): void {
  noteCaller(req, actor)
  admit(meter.countOf(name), meter.rateLimit, res, next)
}

function admit(
  { requests, seconds, isOver }: Left,
  limit: number,
  res: ServerResponse,
  next: (error?: unknown) => void,
): void {
  res.setHeader('RateLimit-Limit', limit)
  res.setHeader('RateLimit-Remaining', requests)
  res.setHeader('RateLimit-Reset', seconds)
  next(isOver ? new ProblemError({ kind: 'TooManyRequests', retryAfter: seconds }) : undefined)
}
