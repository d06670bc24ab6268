import { DAY_MS, HOUR_MS, SAMPLE_END_MS, toUniqueMillisecond } from './clock.js'
import type { SeededRandom } from './random.js'

/** Number of listings by status among fifty. Any fifty consecutive listings have every status. */
const STATUS_SHARES = [
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

export type SampleStatus = (typeof STATUS_SHARES)[number][0]

const STATUS_CYCLE: readonly SampleStatus[] = STATUS_SHARES.flatMap(([status, share]) =>
  new Array<SampleStatus>(share).fill(status),
)

/** 7 and 50 have no common divisor, so steps of 7 visit every index once. */
const statusAt = (index: number): SampleStatus => STATUS_CYCLE[(index * 7) % STATUS_CYCLE.length] ?? 'Active'

export const CONTRACT_STATUS: Readonly<Record<SampleStatus, string>> = {
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

/** The times in the life of a listing, in ms since 1970, in order. */
export interface Timeline {
  readonly status: SampleStatus
  readonly entered: number
  /** Time of publication. Absent for a listing that was never published. */
  readonly published?: number
  readonly priceChanged?: number
  readonly statusChanged: number
  readonly photosChanged: number
  /** Unique to each listing. */
  readonly modified: number
}

/** Maximum number of days between the last change of a listing and the end of the sample. */
const MAX_AGE_DAYS: Readonly<Record<SampleStatus, number>> = {
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

const isUnpublished = (status: SampleStatus) => status === 'Incomplete' || status === 'Coming Soon'

/**
 * Returns the life of the listing with an index (from 0). It depends only on the index and the random
 * numbers.
 */
export function toTimeline(random: SeededRandom, index: number): Timeline {
  const status = statusAt(index)
  const modified = toUniqueMillisecond(
    SAMPLE_END_MS - random.between(0, MAX_AGE_DAYS[status]) * DAY_MS,
    index,
  )
  const changed = Math.floor(modified - random.next() ** 2 * 12 * DAY_MS)
  const published =
    status === 'Active'
      ? changed - Math.floor(random.between(0, 60) * DAY_MS)
      : changed - Math.floor(random.between(3, 120) * DAY_MS)
  const entered = (isUnpublished(status) ? changed : published) - Math.floor(random.between(2, 240) * HOUR_MS)
  const photosChanged = Math.floor(random.between(entered, modified))
  if (isUnpublished(status))
    return {
      status,
      entered,
      statusChanged: status === 'Incomplete' ? entered : changed,
      photosChanged,
      modified,
    }
  const statusChanged = status === 'Active' ? published : changed
  const lastChangeable = status === 'Active' ? modified : statusChanged
  const hasPriceChange = random.chance(0.3) && lastChangeable > published
  return {
    status,
    entered,
    published,
    statusChanged,
    photosChanged,
    modified,
    ...(hasPriceChange && { priceChanged: Math.floor(random.between(published, lastChangeable)) }),
  }
}
