import type { TableRow } from '../data/import/record.js'
import type { Building } from './building.js'
import type { City } from './cities-and-sites.js'
import type { PropertyType } from './lookup-choices.js'
import type { SeededRandom } from './random.js'
import type { Timeline } from './timeline.js'

const priceStepOf = (price: number) =>
  price < 10_000 ? 25 : price < 200_000 ? 1000 : price < 1_000_000 ? 5000 : 25_000

/** Rounds a price as people do, often to just below a round number. This creates equal prices. */
function roundPrice(price: number, random: SeededRandom): number {
  const step = priceStepOf(price)
  const round = Math.max(step, Math.round(price / step) * step)
  if (round < 10_000) return round
  return random.chance(0.02) ? round + 500.5 : round - random.pickWeighted([0, 100, 50, 1])
}

/** Returns an earlier price: 2 to 10 percent higher, and at least one step. */
const toEarlierPrice = (price: number, random: SeededRandom) =>
  price +
  priceStepOf(price) * Math.max(1, Math.round((price * random.between(0.02, 0.1)) / priceStepOf(price)))

/** Returns the market value in US dollars, or in dollars per month for a lease. */
function pickMarketValue(
  random: SeededRandom,
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
 * Returns the price fields. Earlier prices are higher, and ClosePrice equals SoldPrice. A draft may have no
 * price.
 */
export function pickPriceFields(
  random: SeededRandom,
  city: City,
  type: PropertyType,
  building: Building,
  { status, priceChanged }: Timeline,
): TableRow {
  const list = roundPrice(pickMarketValue(random, city, type, building), random)
  const previous = priceChanged === undefined ? null : toEarlierPrice(list, random)
  const original =
    previous !== null && random.chance(0.3) ? toEarlierPrice(previous, random) : (previous ?? list)
  const sold = status === 'Sold' ? roundPrice(list * random.between(0.94, 1.05), random) : null
  if (status === 'Incomplete')
    return {
      ListPrice: random.orNull(0.5, list),
      OriginalListPrice: null,
      PreviousListPrice: null,
      SoldPrice: null,
      ClosePrice: null,
    }
  return {
    ListPrice: list,
    OriginalListPrice: original,
    PreviousListPrice: previous,
    SoldPrice: sold,
    ClosePrice: sold,
  }
}
