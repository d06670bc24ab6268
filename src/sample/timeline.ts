import { ANCHOR, DAY, HOUR, toOwnMillisecond } from './clock.js'
import type { Random } from './random.js'

/** Where listings of a market stand, out of fifty; any fifty neighbours have every status. */
const SHARES = [
  ['Active', 23],
  ['Sold', 12],
  ['Pending', 3],
  ['Active Under Contract', 2],
  ['Coming Soon', 2],
  ['Expired', 2],
  ['Canceled', 2],
  ['Withdrawn', 2],
  ['Hold', 1],
  ['Incomplete', 1],
] as const

export type Status = (typeof SHARES)[number][0]

const ROUND: readonly Status[] = SHARES.flatMap(([status, share]) => new Array<Status>(share).fill(status))

/** 7 has no divisor in common with 50, so a walk in steps of 7 meets every place once. */
const toStatus = (index: number): Status => ROUND[(index * 7) % ROUND.length] ?? 'Active'

export const CONTRACT_STATUS: Readonly<Record<Status, string>> = {
  Incomplete: 'Draft',
  'Coming Soon': 'Available',
  Active: 'Available',
  'Active Under Contract': 'Under Contract',
  Pending: 'Under Contract',
  Hold: 'Unavailable',
  Withdrawn: 'Unavailable',
  Canceled: 'Unavailable',
  Expired: 'Unavailable',
  Sold: 'Sold',
}

/** The times of one listing's life, in milliseconds, each at or after the one before. */
export interface Timeline {
  readonly status: Status
  readonly entered: number
  /** First on the market; absent for what never was. */
  readonly published?: number
  readonly priceChanged?: number
  readonly statusChanged: number
  readonly photosChanged: number
  /** Distinct for every listing. */
  readonly modified: number
}

/** How many days before the end of the sample a listing last changed. */
const RECENCY: Readonly<Record<Status, number>> = {
  Active: 45,
  'Coming Soon': 10,
  Pending: 30,
  'Active Under Contract': 30,
  Hold: 40,
  Incomplete: 20,
  Withdrawn: 200,
  Expired: 300,
  Canceled: 300,
  Sold: 720,
}

const isNew = (status: Status) => status === 'Incomplete' || status === 'Coming Soon'

/**
 * The life of the listing with that index (from 0): it depends on nothing but the index and the random
 * numbers.
 */
export function toTimeline(random: Random, index: number): Timeline {
  const status = toStatus(index)
  const modified = toOwnMillisecond(ANCHOR - random.between(0, RECENCY[status]) * DAY, index)
  const changed = Math.floor(modified - random.next() ** 2 * 12 * DAY)
  const published =
    status === 'Active'
      ? changed - Math.floor(random.between(0, 60) * DAY)
      : changed - Math.floor(random.between(3, 120) * DAY)
  const entered = (isNew(status) ? changed : published) - Math.floor(random.between(2, 240) * HOUR)
  const photosChanged = Math.floor(random.between(entered, modified))
  if (isNew(status))
    return {
      status,
      entered,
      statusChanged: status === 'Incomplete' ? entered : changed,
      photosChanged,
      modified,
    }
  const statusChanged = status === 'Active' ? published : changed
  const until = status === 'Active' ? modified : statusChanged
  const repriced = random.chance(0.3) && until > published
  return {
    status,
    entered,
    published,
    statusChanged,
    photosChanged,
    modified,
    ...(repriced && { priceChanged: Math.floor(random.between(published, until)) }),
  }
}
