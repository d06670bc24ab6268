export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/**
 * The end of the sample's time: every record was changed before it. Fixed, so that the same market comes out
 * on any day.
 */
export const SAMPLE_END_MS = Date.UTC(2026, 10, 1)

/** Milliseconds since 1970 as the timestamp that stands in a record. */
export const toIsoTimestamp = (time: number): string => new Date(time).toISOString()

/** The calendar day (UTC) of that time. */
export const toIsoDate = (time: number): string => toIsoTimestamp(time).slice(0, 10)

// 2^24 ms are 4.7 hours: within such a window every listing of a round of 16.7 million has a millisecond of
// its own.
const WINDOW_MS = 2 ** 24

/**
 * The time moved back by at most two windows, to a millisecond that no other of 16.7 million listings has;
 * `index` from 0.
 */
export function toUniqueMillisecond(time: number, index: number): number {
  // An odd factor permutes the numbers below 2^24, and scatters neighbours over the window.
  const offset = (Math.imul(index, 0x9e3779b1) >>> 0) % WINDOW_MS
  return (Math.floor(time / WINDOW_MS) - 1) * WINDOW_MS + offset
}
