import { aside, begin, int, pick } from './random.mjs'
import { FIRST_NAMES, LAST_NAMES, OFFICE_FIRST, OFFICE_SECOND } from './words.mjs'

// Names and keys that occur in several tables.

export const MEMBERS = 5000
export const OFFICES = 500
const DAY = 86_400_000
const END = Date.UTC(2026, 10, 1)

export const pad = (n, width) => String(n).padStart(width, '0')
export const listingKey = i => `L${pad(i + 1, 9)}`
export const memberKey = i => `M${pad(i + 1, 5)}`
export const officeKey = i => `O${pad(i + 1, 4)}`
export const officeName = i => `${OFFICE_FIRST[i % 12]} ${OFFICE_SECOND[Math.floor(i / 12) % 6]} ${i + 1}`
export const phone = () => `${int(201, 989)}-555-${pad(int(0, 9999), 4)}`

export const memberName = i =>
  aside(() => {
    begin(2, i)
    return [pick(FIRST_NAMES), pick(LAST_NAMES)]
  })

/** Number of photos of a listing, as in its row. */
export function mediaCount(i) {
  begin(5, i)
  return int(3, 10)
}

/** No record is later than the end of the data. */
export const timestamp = ms => new Date(Math.min(ms, END)).toISOString()
export const date = ms => timestamp(ms).slice(0, 10)
export { DAY, END }
