export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/**
 * The end of the sample period. Every record was changed before it. It is constant, so that the same market
 * is generated on any day.
 */
export const SAMPLE_END_MS = Date.UTC(2026, 10, 1)

/** Converts milliseconds since 1970 to a timestamp. */
export const toIsoTimestamp = (time: number): string => new Date(time).toISOString()

/** Returns the calendar day in UTC. */
export const toIsoDate = (time: number): string => toIsoTimestamp(time).slice(0, 10)

// 2^24 ms are 4.7 hours. In a window of this length, each of 16.7 million consecutive listings gets a
// distinct millisecond.
const WINDOW_MS = 2 ** 24

/**
 * Moves a time back by at most two windows, to a millisecond that is unique among 16.7 million listings.
 * `index` counts from 0.
 */
export function toUniqueMillisecond(time: number, index: number): number {
  // Multiplying by an odd number permutes the numbers below 2^24 and scatters neighbors across the window.
  const offset = (Math.imul(index, 0x9e3779b1) >>> 0) % WINDOW_MS
  return (Math.floor(time / WINDOW_MS) - 1) * WINDOW_MS + offset
}
