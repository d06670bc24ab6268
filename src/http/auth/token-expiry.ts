import type { TokenVerifier, VerifiedToken } from './bearer.js'

/** Maximum timer interval. Timers of Node are limited to 24 days. */
const MAX_TIMER_MS = 86_400_000
/** Interval of checks on a token that is still accepted after its recorded time. */
const MIN_CHECK_INTERVAL_MS = 1000

/**
 * Calls `onExpired` when a verified token is no longer accepted, because it has expired or its key was
 * removed. Returns a function that stops the watch.
 */
export function watchTokenExpiry(
  verifier: TokenVerifier,
  authorization: string | undefined,
  { validUntil }: VerifiedToken,
  onExpired: (error: unknown) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const check = () =>
    verifier.authenticate(authorization).then(verified => {
      if (!isStopped) schedule(verified.validUntil)
    }, expire)
  const schedule = (next: number) => {
    const delay = next - Date.now()
    timer = setTimeout(check, delay > 0 ? Math.min(delay, MAX_TIMER_MS) : MIN_CHECK_INTERVAL_MS)
    timer.unref()
  }
  const expire = (error: unknown) => {
    if (!isStopped) onExpired(error)
  }
  schedule(validUntil)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}
