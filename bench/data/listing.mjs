import {
  DAY,
  date,
  END,
  listingKey,
  MEMBERS,
  mediaCount,
  memberKey,
  memberName,
  OFFICES,
  officeKey,
  officeName,
  pad,
  phone,
  timestamp,
} from './people.mjs'
import { begin, chance, gauss, int, maybe, pick, random, share } from './random.mjs'
import { AREAS, CHOICES, CITIES, SENTENCES, STEMS, SUBDIVISIONS, SUFFIXES, TAILS } from './words.mjs'

const YOUNG = [[0.55, 'Active'], [0.66, 'Pending'], [0.74, 'Active Under Contract'], [0.86, 'Sold'], [0.9, 'Coming Soon'], [0.94, 'Hold'], [0.97, 'Withdrawn'], [1, 'Incomplete']] // biome-ignore format: table
const OLD = [[0.74, 'Sold'], [0.86, 'Expired'], [0.93, 'Canceled'], [0.955, 'Withdrawn'], [1, 'Active']] // biome-ignore format: table
const TYPES = [[0.72, 'Residential'], [0.82, 'Residential Lease'], [0.9, 'Land'], [0.95, 'Residential Income'], [0.98, 'Commercial Sale'], [1, 'Farm']] // biome-ignore format: table
const SUBTYPES = {
  Land: 'Unimproved Land',
  'Residential Income': 'Multi Family',
  'Commercial Sale': 'Office',
}
const HOMES = ['Single Family Residence', 'Single Family Residence', 'Condominium', 'Townhouse', 'Duplex']

const money = x => (Math.round(x * 100) / 100).toFixed(2)

/** Returns a collection of `min` to `max` values in PostgreSQL's notation. */
function some(name, min, max, decay = 0.72) {
  const values = CHOICES[name]
  const taken = new Set()
  for (let left = int(min, max); left > 0; left--) {
    let i = 0
    while (i < values.length - 1 && chance(decay)) i++
    taken.add(values[i])
  }
  return `{${[...taken].map(value => `"${value}"`).join(',')}}`
}

const BOUNDS = CITIES.map((_, i) => 1 / (i + 2)).map((_, i, weights) =>
  weights.slice(0, i + 1).reduce((a, b) => a + b),
)

export function pickCity() {
  const at = random() * BOUNDS.at(-1)
  return CITIES[BOUNDS.findIndex(bound => bound >= at)]
}

/** Returns row `i` of Property by column. */
export function toListing(i) {
  const photos = mediaCount(i)
  begin(4, i)
  const city = pickCity()
  const entry = END - Math.floor(random() ** 1.3 * 3650 * DAY) - int(0, DAY)
  const age = (END - entry) / DAY
  const status = share(age < 200 ? YOUNG : OLD)
  const type = share(TYPES)
  const subtype = type === 'Residential' ? pick(HOMES) : (SUBTYPES[type] ?? HOMES[0])
  const beds = Math.max(1, Math.min(8, Math.round(3.2 + gauss())))
  const area = Math.max(350, Math.round(beds * 540 + gauss() * 420 + 250))
  const first = Math.max(
    45000,
    Math.round((city.median * Math.exp(gauss() * 0.45) * (0.55 + area / 4600)) / 500) * 500 -
      (chance(0.5) ? 100 : 0),
  )
  const cut = chance(0.35) ? Math.round((first * int(1, 9)) / 100) : 0
  const facts = {
    i,
    city,
    entry,
    age,
    status,
    type,
    subtype,
    beds,
    area,
    first,
    price: first - cut,
    cut,
    closed: status === 'Sold',
  }
  return {
    ListingKey: listingKey(i), ListingId: `B${2000000 + i}`, OriginatingSystemName: 'BENCH', OriginatingSystemKey: `B-${i + 1}`,
    PropertyType: type, PropertySubType: subtype, StandardStatus: status, MlsStatus: status, ContractStatus: status === 'Incomplete' ? 'Draft' : 'Available',
    PhotosCount: photos, ...toHistory(facts), ...toAddress(facts), ...toPeople(facts), ...toBuilding(facts), ...toFeatures(), ...toTerms(facts),
  } // biome-ignore format: by subject
}

function toHistory({ entry, age, status, first, price, cut, closed }) {
  const days = Math.min(Math.floor(age), int(1, 150))
  const gone = entry + days * DAY + int(0, DAY)
  const last =
    status === 'Active' ? entry + Math.floor(random() * Math.min(age, 160) * DAY) : gone + int(0, 20 * DAY)
  const changed = Math.min(END - int(0, DAY), last + int(0, 999))
  const major = timestamp(Math.min(changed, gone))
  return {
    ModificationTimestamp: timestamp(changed), OriginalEntryTimestamp: timestamp(entry), StatusChangeTimestamp: major, MajorChangeTimestamp: major,
    MajorChangeType: closed ? 'Closed' : cut ? 'Price Change' : 'New Listing', PriceChangeTimestamp: cut ? timestamp(entry + int(2, 30) * DAY) : null,
    PhotosChangeTimestamp: timestamp(entry + int(0, 3) * DAY), OnMarketDate: date(entry), OnMarketTimestamp: timestamp(entry),
    ListingContractDate: date(entry - int(0, 10) * DAY), ExpirationDate: date(entry + 180 * DAY), ContractStatusChangeDate: date(gone),
    PurchaseContractDate: closed ? date(gone) : null, CloseDate: closed ? date(gone + 30 * DAY) : null,
    DaysOnMarket: days, CumulativeDaysOnMarket: days + (chance(0.1) ? int(10, 200) : 0), ListPrice: money(price), OriginalListPrice: money(first),
    PreviousListPrice: cut ? money(first) : null, ClosePrice: closed ? money(price * (0.94 + random() * 0.09)) : null, SoldPrice: closed ? money(price) : null,
  } // biome-ignore format: by subject
}

function toAddress({ city, subtype }) {
  const number = String(int(1, 19999))
  const direction = maybe(0.18, () => pick(['N', 'S', 'E', 'W']))
  const street = pick(STEMS) + pick(TAILS)
  const suffix = pick(SUFFIXES)
  const unit = maybe(subtype === 'Condominium' ? 0.9 : 0.06, () => String(int(1, 900)))
  const isCanadian = city.state === 'ON'
  return {
    StreetNumber: number, StreetDirPrefix: direction, StreetName: street, StreetSuffix: suffix, StreetDirSuffix: null, UnitNumber: unit,
    UnparsedAddress: `${number} ${direction ? `${direction} ` : ''}${street} ${suffix}${unit ? ` #${unit}` : ''}, ${city.name}`,
    City: city.name, CountyOrParish: city.county, StateOrProvince: city.state, Country: isCanadian ? 'CA' : 'US',
    PostalCode: isCanadian ? `L${int(1, 9)}${pick(['A', 'B', 'K'])} ${int(1, 9)}${pick(['X', 'V'])}${int(1, 9)}` : pad(int(10000, 99999), 5),
    SubdivisionName: maybe(0.7, () => `${pick(STEMS)} ${pick(SUBDIVISIONS)}`), MLSAreaMajor: `${city.name} ${pick(AREAS)}`,
    Latitude: (city.latitude + gauss() * 0.08).toFixed(8), Longitude: (city.longitude + gauss() * 0.1).toFixed(8),
    Directions: maybe(0.35, () => `From ${pick(STEMS)} ${pick(SUFFIXES)} turn ${pick(['left', 'right'])} on ${street} ${suffix}.`),
    ParcelNumber: `${int(10, 99)}-${int(100, 999)}-${int(1000, 9999)}`,
  } // biome-ignore format: by subject
}

function toPeople({ closed }) {
  const agent = Math.floor(MEMBERS * random() ** 1.8)
  const office = agent % OFFICES
  const seller = { ListAgentKey: memberKey(agent), ListAgentMlsId: `MM${agent + 1}`, ListAgentFullName: memberName(agent).join(' '), ListOfficeKey: officeKey(office), ListOfficeMlsId: `OM${office + 1}`, ListOfficeName: officeName(office), ListOfficePhone: phone(), ChangedByMemberKey: memberKey(agent) } // biome-ignore format: by subject
  const second = {
    CoListAgentKey: maybe(0.12, () => memberKey(int(0, MEMBERS - 1))),
    CoListOfficeKey: maybe(0.12, () => officeKey(int(0, OFFICES - 1))),
  }
  if (!closed) return { ...seller, ...second }
  const buyer = int(0, MEMBERS - 1)
  return { ...seller, ...second, BuyerAgentKey: memberKey(buyer), BuyerAgentMlsId: `MM${buyer + 1}`, BuyerAgentFullName: memberName(buyer).join(' '), BuyerOfficeKey: officeKey(buyer % OFFICES), BuyerOfficeName: officeName(buyer % OFFICES) } // biome-ignore format: by subject
}

function toBuilding({ type, subtype, beds, area }) {
  const acres = Math.round(Math.exp(gauss() * 0.9 - 1.3) * 10000) / 10000
  const full = Math.max(1, Math.min(7, Math.round(beds * 0.7 + gauss() * 0.6)))
  const half = chance(0.35) ? 1 : 0
  const year = int(1905, 2026)
  const garage = chance(0.72)
  return {
    BedroomsTotal: beds, BathroomsTotalInteger: full + half, BathroomsFull: full, BathroomsHalf: half, RoomsTotal: beds + int(3, 6),
    LivingArea: area.toFixed(2), LivingAreaUnits: 'Square Feet', BuildingAreaTotal: (area + int(0, 300)).toFixed(2), BuildingAreaUnits: 'Square Feet',
    YearBuilt: year, Stories: area > 2400 ? 2 : int(1, 2), LotSizeArea: acres.toFixed(4), LotSizeUnits: 'Acres', LotSizeAcres: acres.toFixed(4),
    LotSizeSquareFeet: (acres * 43560).toFixed(2), GarageSpaces: garage ? int(1, 3).toFixed(2) : null, GarageYN: garage,
    NumberOfUnitsTotal: type === 'Residential Income' ? int(2, 12) : null, NewConstructionYN: year > 2023,
    PropertyAttachedYN: subtype === 'Townhouse' || subtype === 'Condominium', SeniorCommunityYN: chance(0.04),
  } // biome-ignore format: by subject
}

/** Size of each collection, and the decay of rare values. */
const COLLECTIONS = [
  ['Levels', 1, 1], ['ArchitecturalStyle', 0, 2], ['ConstructionMaterials', 0, 3, 0.7], ['Roof', 0, 1], ['FoundationDetails', 0, 1], ['Basement', 0, 2], ['Flooring', 0, 3],
  ['Appliances', 0, 6, 0.8], ['InteriorFeatures', 0, 6, 0.85], ['ExteriorFeatures', 0, 2], ['LotFeatures', 0, 3], ['ParkingFeatures', 0, 3], ['PatioAndPorchFeatures', 0, 2],
  ['PoolFeatures', 0, 1, 0.3], ['SpaFeatures', 0, 1, 0.3], ['Heating', 0, 2], ['Cooling', 0, 2, 0.5], ['Sewer', 0, 1, 0.25], ['WaterSource', 0, 1, 0.2], ['Utilities', 0, 4, 0.8],
  ['View', 0, 2], ['AccessibilityFeatures', 0, 1, 0.3], ['SpecialListingConditions', 1, 1, 0.1],
] // biome-ignore format: table

function toFeatures() {
  const fire = chance(0.42)
  const collections = Object.fromEntries(COLLECTIONS.map(([name, ...how]) => [name, some(name, ...how)]))
  return {
    ...collections,
    PoolPrivateYN: chance(0.13),
    FireplaceYN: fire,
    FireplacesTotal: fire ? int(1, 2) : 0,
    WaterfrontYN: chance(0.06),
  }
}

function toTerms({ i, city, price }) {
  const fees = chance(0.38)
  const start = int(0, 11)
  const remarks = Array.from(
    { length: int(2, 9) },
    (_, k) => SENTENCES[(start + k * int(1, 4)) % SENTENCES.length],
  )
  return {
    AssociationYN: fees, AssociationFee: fees ? money(int(20, 900)) : null, AssociationFeeFrequency: fees ? pick(['Monthly', 'Annually', 'Quarterly']) : null,
    TaxAnnualAmount: maybe(0.9, () => money(price * 0.012)), TaxYear: maybe(0.9, () => int(2019, 2026)), Zoning: maybe(0.5, () => pick(['R-1', 'R-2', 'R-3', 'PUD', 'C-1'])),
    ElementarySchool: maybe(0.6, () => `${pick(STEMS)} Elementary`), MiddleOrJuniorSchool: maybe(0.6, () => `${pick(STEMS)} Middle`),
    HighSchool: maybe(0.6, () => `${pick(STEMS)} High`), HighSchoolDistrict: maybe(0.6, () => `${city.county} District`),
    PublicRemarks: remarks.join(' '), PrivateRemarks: maybe(0.3, () => 'Use the lockbox. Call the agent before showing.'),
    VirtualTourURLUnbranded: maybe(0.3, () => `https://tours.example.com/${listingKey(i)}`), InternetEntireListingDisplayYN: chance(0.97),
    InternetAddressDisplayYN: chance(0.95), InternetAutomatedValuationDisplayYN: chance(0.6), InternetConsumerCommentYN: chance(0.5),
  } // biome-ignore format: by subject
}
