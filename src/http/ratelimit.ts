import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.js'
import { ProblemError } from '../errors/problem.js'
import { fingerprint, readToken, type Verifier } from './bearer.js'

const WINDOW_MS = 60_000
const COUNTED_TOKENS = 100_000

interface Window {
  readonly endsAt: number
  count: number
}

type Handler = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

/**
 * At most RATE_LIMIT requests per minute and token, counted in windows of a minute that begin with the first request. What is left
 * stands in the RateLimit headers. Only valid tokens count, so nobody fills the memory with invented ones or starves another behind
 * the same address; requests without one go on to be refused by the adapters. Refused requests do not prolong the wait.
 * The problem (TooManyRequests) goes to the error handler of the adapter behind.
 */
export function limitRate({ rateLimit }: Pick<Config, 'rateLimit'>, verifier: Verifier): Handler {
  const windows = new LRUCache<string, Window>({ max: COUNTED_TOKENS })
  const count = (authorization: string): Window => {
    const name = fingerprint(readToken(authorization))
    const known = windows.get(name)
    const window = known !== undefined && Date.now() < known.endsAt ? known : { endsAt: Date.now() + WINDOW_MS, count: 0 }
    windows.set(name, window)
    window.count++
    return window
  }
  return (req, res, next) => {
    const { authorization } = req.headers
    if (rateLimit === 0 || authorization === undefined) return next()
    verifier.verify(authorization).then(
      () => admit(count(authorization), rateLimit, res, next),
      () => next(),
    )
  }
}

function admit(window: Window, limit: number, res: ServerResponse, next: (error?: unknown) => void): void {
  const retryAfter = Math.max(1, Math.ceil((window.endsAt - Date.now()) / 1000))
  res.setHeader('RateLimit-Limit', limit)
  res.setHeader('RateLimit-Remaining', Math.max(0, limit - window.count))
  res.setHeader('RateLimit-Reset', retryAfter)
  next(window.count > limit ? new ProblemError({ kind: 'TooManyRequests', retryAfter }) : undefined)
}
