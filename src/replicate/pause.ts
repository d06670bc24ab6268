import { setTimeout as wait } from 'node:timers/promises'

/** Maximum duration of a timer in Node.js. A longer timer would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Waits for a time, at most 24 days, or until the signal ends the wait. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(Math.min(ms, MAX_TIMER_MS), undefined, { signal })
