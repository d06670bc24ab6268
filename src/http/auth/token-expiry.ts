import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { hasSameRights } from './access-token.js'
import type { TokenVerifier, VerifiedToken } from './bearer.js'

/** Maximum timer interval. Timers of Node are limited to 24 days. */
const MAX_TIMER_MS = 86_400_000
/** Interval of checks on a token that is still accepted after its recorded time. */
const MIN_CHECK_INTERVAL_MS = 1000

/**
 * Verifies the token of a response in progress again.
 * @throws ProblemError TokenRefused, also if the rights of its client have changed
 */
export async function verifySameRights(
  verifier: TokenVerifier,
  authorization: string | undefined,
  { actor }: VerifiedToken,
): Promise<VerifiedToken> {
  const verified = verifier.findCached(authorization) ?? (await verifier.authenticate(authorization))
  return hasSameRights(verified.actor, actor)
    ? verified
    : fail({ kind: 'TokenRefused', reason: REASONS.clientChanged })
}

/**
 * Calls `onExpired` when a verified token is no longer accepted: it has expired, its key was removed, or the
 * rights of its client have changed. Returns a function that stops the watch.
 */
export function watchTokenExpiry(
  verifier: TokenVerifier,
  authorization: string | undefined,
  token: VerifiedToken,
  onExpired: (error: unknown) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const stop = () => {
    isStopped = true
    clearTimeout(timer)
    unsubscribe()
  }
  const check = () => {
    clearTimeout(timer)
    verifySameRights(verifier, authorization, token).then(verified => schedule(verified.validUntil), expire)
  }
  const schedule = (next: number) => {
    if (isStopped) return
    clearTimeout(timer)
    const delay = next - Date.now()
    timer = setTimeout(check, delay > 0 ? Math.min(delay, MAX_TIMER_MS) : MIN_CHECK_INTERVAL_MS)
    timer.unref()
  }
  const expire = (error: unknown) => {
    if (isStopped) return
    stop()
    onExpired(error)
  }
  const unsubscribe = token.client || token.actor.feed ? verifier.onClientChange(check) : () => undefined
  schedule(token.validUntil)
  return stop
}
