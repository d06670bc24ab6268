import type { Row } from '../data/import/upsert.js'
import type { Building } from './building.js'
import type { PropertyType } from './choices.js'
import type { City } from './places.js'
import type { Random } from './random.js'
import type { Timeline } from './timeline.js'

const stepOf = (price: number) =>
  price < 10_000 ? 25 : price < 200_000 ? 1000 : price < 1_000_000 ? 5000 : 25_000

/** Prices people write: round ones, many just below. That makes ties. */
function toRound(price: number, random: Random): number {
  const step = stepOf(price)
  const round = Math.max(step, Math.round(price / step) * step)
  if (round < 10_000) return round
  return random.chance(0.02) ? round + 500.5 : round - random.pickUsual([0, 100, 50, 1])
}

/** What it cost before: 2 to 10 percent more, one step at least. */
const toEarlier = (price: number, random: Random) =>
  price + stepOf(price) * Math.max(1, Math.round((price * random.between(0.02, 0.1)) / stepOf(price)))

/** What it should fetch: US dollars, or dollars a month for a lease. */
function pickValue(
  random: Random,
  city: City,
  type: PropertyType,
  { livingArea, acres, yearBuilt }: Building,
): number {
  const land = city.pricePerFoot * 300 * Math.sqrt(acres)
  const age = Math.max(0, 2026 - (yearBuilt ?? 2026))
  const house = livingArea * city.pricePerFoot * (1.1 - Math.min(age, 80) * 0.004)
  const value = (land + house) * random.between(0.82, 1.25)
  if (type.endsWith('Lease')) return value / 210
  return type === 'Manufactured In Park' || type === 'Business Opportunity' ? value * 0.35 : value
}

/**
 * The price fields: earlier prices are higher, and ClosePrice equals SoldPrice. A draft may have none yet.
 */
export function pickPrices(
  random: Random,
  city: City,
  type: PropertyType,
  building: Building,
  { status, priceChanged }: Timeline,
): Row {
  const list = toRound(pickValue(random, city, type, building), random)
  const before = priceChanged === undefined ? null : toEarlier(list, random)
  const original = before !== null && random.chance(0.3) ? toEarlier(before, random) : (before ?? list)
  const sold = status === 'Sold' ? toRound(list * random.between(0.94, 1.05), random) : null
  if (status === 'Incomplete')
    return {
      ListPrice: random.maybe(0.5, list),
      OriginalListPrice: null,
      PreviousListPrice: null,
      SoldPrice: null,
      ClosePrice: null,
    }
  return {
    ListPrice: list,
    OriginalListPrice: original,
    PreviousListPrice: before,
    SoldPrice: sold,
    ClosePrice: sold,
  }
}
