import type { Verified, Verifier } from './bearer.js'

/** The longest time that a timer of Node takes is some 24 days. */
const LONGEST_WAIT_MS = 86_400_000

/**
 * Calls `end` with the problem when a token that was verified is accepted no longer: it has expired, or its
 * key is gone. Returns what ends the watch.
 */
export function watchToken(
  verifier: Verifier,
  authorization: string | undefined,
  { until }: Verified,
  end: (error: unknown) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const check = () =>
    verifier.inspect(authorization).then(verified => {
      if (!isOver) wait(verified.until)
    }, stopWith)
  const wait = (next: number) => {
    timer = setTimeout(check, Math.min(Math.max(next - Date.now(), 0), LONGEST_WAIT_MS))
    timer.unref()
  }
  const stopWith = (error: unknown) => {
    if (!isOver) end(error)
  }
  wait(until)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
