const FIRST_DELAY_MS = 5000
const MAX_DELAY_MS = 3_600_000
/** Maximum delay that a receiver can request by `Retry-After`. */
const MAX_RETRY_AFTER_MS = 3_600_000
const MIN_RETRY_AFTER_MS = 1000

/**
 * Returns the delay until the next attempt, in ms: 5 s after the first failure, twice as long after each further one, at
 * most an hour. `Retry-After` of the receiver replaces it, up to an hour. Jitter shortens the former by up to a quarter,
 * and lengthens the latter by up to a tenth.
 */
export function delayAfterFailure(
  failedAttempts: number,
  retryAfterMs: number | undefined,
  random = Math.random(),
): number {
  if (retryAfterMs !== undefined)
    return Math.round(
      Math.min(Math.max(retryAfterMs, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS) * (1 + random / 10),
    )
  const delay = Math.min(FIRST_DELAY_MS * 2 ** Math.min(Math.max(failedAttempts - 1, 0), 20), MAX_DELAY_MS)
  return Math.round(delay * (1 - random / 4))
}

/**
 * Parses `Retry-After`: seconds, or a date (RFC 9110, 10.2.3), from which the `Date` of the response is
 * subtracted. Returns undefined for anything else.
 */
export function parseRetryAfter(
  value: string | undefined,
  date: string | undefined,
  now = Date.now(),
): number | undefined {
  if (value === undefined) return undefined
  if (/^\d{1,10}$/.test(value.trim())) return Number(value) * 1000
  const until = Date.parse(value)
  const from = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(from) ? now : from))
}
