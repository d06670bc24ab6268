import type { TokenVerifier, VerifiedToken } from './bearer.js'

/** The longest time that a timer of Node takes is some 24 days. */
const MAX_TIMER_MS = 86_400_000

/**
 * Calls `end` with the problem when a token that was verified is accepted no longer: it has expired, or its
 * key is gone. Returns what ends the watch.
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
    timer = setTimeout(check, Math.min(Math.max(next - Date.now(), 0), MAX_TIMER_MS))
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
