import type { TokenVerifier, VerifiedToken } from './bearer.js'

/** The longest time that a timer of Node takes is some 24 days. */
const MAX_TIMER_MS = 86_400_000
/** Time to the next check of a token that is accepted although its time is over. */
const MIN_CHECK_INTERVAL_MS = 1000

/**
 * Calls `onExpired` with the problem when a token that was verified is no longer accepted: the token has
 * expired, or its key is gone. Returns a function that ends the watch.
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
