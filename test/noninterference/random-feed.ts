import { getEntity, type Scalar } from '../../src/model/model.js'
import type { NewFeed } from '../../src/service/feeds/feeds.js'
import type { Choose } from './channels.js'

type Random = (below: number) => number

/** Rights of a reader. */
export interface ReaderRights {
  readonly audience: 'public' | 'member' | 'staff'
  readonly scopes: readonly string[]
  readonly memberKey?: string
}

const PROPERTY = getEntity('Property')
const NAMES = PROPERTY.scalars.map(({ name }) => name)
const ALWAYS_SHOWN = ['ListingKey', 'ModificationTimestamp', 'LastEventSequence']
const SOLD_PRICES = ['SoldPrice', 'ClosePrice']
/** The fields that clients request most. */
const FREQUENT = [
  'ListPrice', 'City', 'PublicRemarks', 'BedroomsTotal', 'YearBuilt', 'ListAgentKey', 'Latitude', 'SoldPrice', 'InteriorFeatures', 'BuyerAgentKey', 'PostalCode', 'OnMarketDate',
] // biome-ignore format: a list of names
const TERMS = [
  "City in ('Spokane','Seattle','Boise')", "StandardStatus in ('Active','Pending')", "StandardStatus eq 'Closed'", 'ListPrice gt 500000', 'not (BedroomsTotal le 2)', 'YearBuilt eq null',
  'InternetEntireListingDisplayYN ne false', "contains(PublicRemarks,'view')", "InteriorFeatures/any(f:f eq 'Pantry')", 'SoldPrice eq null', 'ListPrice div BedroomsTotal gt 150000',
  'year(OnMarketDate) ge 2026', "ListAgentKey ge 'M1'", "length(City) gt 6", "StateOrProvince eq 'WA'", 'WaterfrontYN ne true',
] // biome-ignore format: a list of filters

/** Returns a feed with random listings, fields and settings. */
export function createRandomFeed(name: string, random: Random, pick: Choose): NewFeed {
  const onceIn = (n: number) => random(n) === 0
  const some = (list: readonly string[], n: number) => list.filter(() => onceIn(n))
  const names = pick([() => some(FREQUENT, 2), () => some(NAMES, 3), () => some(NAMES, 12), () => []])()
  const fields = names.filter(field => !ALWAYS_SHOWN.includes(field))
  const pageSizeMax = 4 + random(12)
  return {
    FeedName: name,
    Filter: pick([
      'true',
      pick(TERMS),
      `(${pick(TERMS)}) or ${pick(TERMS)}`,
      `${pick(TERMS)} and not (${pick(TERMS)})`,
    ]),
    ...(onceIn(4) ? { OnlyFields: [...fields, 'City'].filter(isFirst) } : { HiddenFields: fields }),
    ShowsMedia: !onceIn(4),
    ShowsOpenHouses: !onceIn(4),
    ShowsMembers: !onceIn(4),
    ...(onceIn(3) && { SoldPriceDelayDays: 30 + random(3000) }),
    ...(onceIn(3) && { TopIsTotal: onceIn(2) }),
    ...(onceIn(3) && { PageSizeMax: pageSizeMax, PageSize: 3 + random(pageSizeMax - 3) }),
  }
}

const isFirst = (name: string, i: number, list: readonly string[]) => list.indexOf(name) === i

/**
 * Returns the fields that a reader sees of no listing but its own: those that the feed hides, as docs/partners.md
 * describes it, and those that its class may not see with NON_DISCLOSURE.
 */
export function hiddenFieldsOf(feed: NewFeed, { audience }: ReaderRights): readonly string[] {
  const { HiddenFields = [], OnlyFields } = feed
  const ofFeed = (name: string) =>
    (OnlyFields ? !OnlyFields.includes(name) : HiddenFields.includes(name)) && !ALWAYS_SHOWN.includes(name)
  const together = [SOLD_PRICES, ['GeoLocation', 'Latitude', 'Longitude']].filter(group => group.some(ofFeed))
  const photos =
    feed.ShowsMedia === false ? ['PhotosCount', 'PhotosChangeTimestamp', 'MediaChangeTimestamp'] : []
  const ofClass = PROPERTY.scalars.filter(field => isHiddenFromClass(field, audience)).map(({ name }) => name)
  return [...NAMES.filter(ofFeed), ...together.flat(), ...photos, ...ofClass].filter(isFirst)
}

function isHiddenFromClass({ readableBy }: Scalar, audience: ReaderRights['audience']): boolean {
  if (readableBy === 'nobody') return true
  if (readableBy === 'own') return audience !== 'staff'
  return readableBy !== 'everyone' && audience === 'public'
}

/** Fields that determine who sees a listing, and fields that the database computes. */
const FIXED = [
  'StandardStatus', 'MlsStatus', 'ContractStatus', 'InternetEntireListingDisplayYN', 'InternetAddressDisplayYN', 'ListOfficeKey', 'CloseDate', 'GeoLocation', ...ALWAYS_SHOWN,
] // biome-ignore format: a list of names

const RANDOM_VALUES: Readonly<Record<string, string>> = {
  String: `'pool ' || md5(random()::text)`,
  Int32: 'floor(random() * 2000)',
  Decimal: 'round((random() * 900000)::numeric, 2)',
  Boolean: 'random() < 0.5',
  Date: 'current_date - floor(random() * 2000)::int',
  DateTimeOffset: `now() - random() * interval '2000 days'`,
}

/** Returns an assignment of a random value to a field, as SQL, or undefined for a field that must not change. */
export function toAssignment(name: string, memberKeys: readonly string[], pick: Choose): string | undefined {
  if (FIXED.includes(name)) return undefined
  const field = PROPERTY.scalars.find(scalar => scalar.name === name)
  if (name === 'Latitude' || name === 'Longitude') return `"${name}" = 45 + round(random()::numeric, 4)`
  if (name.endsWith('AgentKey')) return `"${name}" = '${pick(memberKeys)}'`
  if (field?.collection) return `"${name}" = array['x' || floor(random() * 5)]`
  const value = RANDOM_VALUES[field?.type ?? '']
  return value && `"${name}" = ${value}`
}
