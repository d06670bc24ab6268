import type { Row } from '../data/import/upsert.js'
import { type Building, pickBuilding, toBuildingFields } from './building.js'
import { KINDS, type PropertyType } from './choices.js'
import { ANCHOR, DAY, toDate, toTimestamp } from './clock.js'
import { type Member, SYSTEM_NAME } from './people.js'
import { pickCity, pickSite, renderStreet, type Site } from './places.js'
import { pickPrices } from './prices.js'
import type { Random } from './random.js'
import { pickDirections, pickPrivateRemarks, pickPublicRemarks } from './remarks.js'
import { CONTRACT_STATUS, type Timeline, toTimeline } from './timeline.js'

/** One listing of the sample, as far as what hangs on it needs to know. */
export interface Listing {
  readonly key: string
  readonly id: string
  readonly agent: Member
  readonly building: Building
  readonly timeline: Timeline
  readonly row: Row
}

/** Who works on a listing: `buyer` counts only when there is a contract. */
interface Crew {
  readonly agent: Member
  readonly second: Member
  readonly buyer: Member
}

const toListingKey = (index: number): string => `L${String(index + 1).padStart(9, '0')}`

/** Each kind as often as its share of a thousand. */
const THOUSAND_KINDS = KINDS.flatMap(kind => Array.from({ length: kind.share }, () => kind))

function toAddress(random: Random, site: Site): Row {
  const { city, postalCode, streetNumber, direction, streetName, streetSuffix, subdivision } = site
  const unit = random.maybe(0.85, random.pick(['A', 'B', '101', '204', '3C', '#12']))
  const before = random.chance(0.8)
  const street = renderStreet(before ? site : { ...site, direction: null })
  const school = random.pick(['Lincoln', 'Sacajawea', 'Horizon', 'Roosevelt', 'Skyway', "Chief Joseph's"])
  return {
    StreetNumber: streetNumber,
    StreetDirPrefix: before ? direction : null,
    StreetName: streetName,
    StreetSuffix: streetSuffix,
    StreetDirSuffix: before ? null : direction,
    UnitNumber: unit,
    UnparsedAddress: `${[street, before ? null : direction, unit && `Unit ${unit}`].filter(Boolean).join(' ')}, ${city.name}, ${city.state} ${postalCode}`,
    City: city.name,
    CountyOrParish: city.county,
    StateOrProvince: city.state,
    PostalCode: postalCode,
    Country: 'US',
    SubdivisionName: subdivision,
    MLSAreaMajor: city.area,
    CityRegion: random.maybe(0.5, random.pick(['North', 'South Hill', 'Downtown', 'West Bench'])),
    Latitude: site.latitude,
    Longitude: site.longitude,
    Directions: random.maybe(0.25, pickDirections(random, site)),
    ParcelNumber: `${random.int(10, 99)}${random.int(1000, 9999)}.${random.int(1000, 9999)}`,
    ElementarySchool: random.maybe(0.2, school),
    MiddleOrJuniorSchool: random.maybe(0.3, `${school} Middle`),
    HighSchool: random.maybe(0.2, `${city.name} High`),
    HighSchoolDistrict: random.maybe(0.15, `${city.name} School District`),
    Zoning: random.maybe(0.3, random.pick(['R-1', 'R-2', 'RSF', 'C-1', 'MU-40', 'AG'])),
  }
}

const toAgents = ({ agent, second, buyer }: Crew, random: Random, { status }: Timeline): Row => {
  const bought = status === 'Sold' || status === 'Pending' ? buyer : undefined
  const helper = random.chance(0.2) ? second : undefined
  return {
    ListAgentKey: agent.key,
    ListAgentMlsId: agent.mlsId,
    ListAgentFullName: agent.fullName,
    ListOfficeKey: agent.office.key,
    ListOfficeMlsId: agent.office.mlsId,
    ListOfficeName: agent.office.name,
    ListOfficePhone: agent.office.phone,
    CoListAgentKey: helper?.key ?? null,
    CoListOfficeKey: helper?.office.key ?? null,
    BuyerAgentKey: bought?.key ?? null,
    BuyerAgentMlsId: bought?.mlsId ?? null,
    BuyerAgentFullName: bought?.fullName ?? null,
    BuyerOfficeKey: bought?.office.key ?? null,
    BuyerOfficeName: bought?.office.name ?? null,
  }
}

const timestamp = (time: number | undefined) => (time === undefined ? null : toTimestamp(time))

function toMajorChange({ status, priceChanged, statusChanged }: Timeline): Row {
  if (status === 'Incomplete') return { MajorChangeTimestamp: null, MajorChangeType: null }
  if (priceChanged !== undefined && priceChanged > statusChanged)
    return { MajorChangeTimestamp: toTimestamp(priceChanged), MajorChangeType: 'Price Change' }
  const type = status === 'Active' ? 'New Listing' : status === 'Sold' ? 'Closed' : status
  return { MajorChangeTimestamp: toTimestamp(statusChanged), MajorChangeType: type }
}

function toDates(random: Random, timeline: Timeline): Row {
  const { status, entered, published, priceChanged, statusChanged, photosChanged, modified } = timeline
  const contract = entered - random.int(0, 3) * DAY
  const days =
    published === undefined
      ? 0
      : Math.floor(((status === 'Active' ? ANCHOR : statusChanged) - published) / DAY)
  const bought = status === 'Sold' ? statusChanged - random.int(21, 45) * DAY : statusChanged
  const agreed =
    status === 'Sold' || status === 'Pending' || status === 'Active Under Contract'
      ? toDate(Math.max(bought, published ?? bought))
      : null
  return {
    ModificationTimestamp: toTimestamp(modified),
    OriginalEntryTimestamp: toTimestamp(entered),
    StatusChangeTimestamp: toTimestamp(statusChanged),
    ...toMajorChange(timeline),
    PriceChangeTimestamp: timestamp(priceChanged),
    PhotosChangeTimestamp: toTimestamp(photosChanged),
    MediaChangeTimestamp: toTimestamp(photosChanged),
    OnMarketDate: published === undefined ? null : toDate(published),
    OnMarketTimestamp: timestamp(published),
    ListingContractDate: toDate(contract),
    ExpirationDate:
      status === 'Expired'
        ? toDate(statusChanged)
        : random.maybe(0.1, toDate(contract + random.pick([180, 365]) * DAY)),
    ContractStatusChangeDate: toDate(statusChanged),
    PurchaseContractDate: agreed,
    CloseDate: status === 'Sold' ? toDate(statusChanged) : null,
    DaysOnMarket: days,
    CumulativeDaysOnMarket: days + random.pickUsual([0, 0, 0, 37, 120]),
  }
}

function toTerms(random: Random, type: PropertyType, price: number): Row {
  const association = random.chance(0.3)
  const lease = type.endsWith('Lease')
  return {
    TransactionType: lease ? 'For Lease' : 'For Sale',
    Furnished: lease ? random.pick(['Unfurnished', 'Furnished', 'Partially', 'Negotiable']) : null,
    AssociationYN: association,
    AssociationFee: association ? random.int(3, 90) * 12.5 : null,
    AssociationFeeFrequency: association ? random.pickUsual(['Monthly', 'Annually', 'Quarterly']) : null,
    TaxAnnualAmount: lease ? null : random.maybe(0.1, Math.round(price * random.between(0.6, 1.1)) / 100),
    TaxYear: random.maybe(0.08, random.int(2023, 2025)),
    PropertyAttachedYN: random.chance(0.2),
    SeniorCommunityYN: random.maybe(0.3, random.chance(0.05)),
    InternetEntireListingDisplayYN: !random.chance(0.04),
    InternetAddressDisplayYN: !random.chance(0.05),
    InternetAutomatedValuationDisplayYN: random.chance(0.8),
    InternetConsumerCommentYN: random.chance(0.7),
  }
}

/** The listing with that index (from 0): the same whatever else is made. */
export function toListing(random: Random, index: number, crew: Crew): Listing {
  const key = toListingKey(index)
  const id = String(20_000_000 + index + 1)
  const { type, subTypes } = random.pick(THOUSAND_KINDS)
  const subType = random.pickUsual<string>(subTypes)
  const site = pickSite(random, random.chance(0.7) ? crew.agent.office.site.city : pickCity(random))
  const timeline = toTimeline(random, index)
  const building = pickBuilding(random, type, subType)
  const prices = pickPrices(random, site.city, type, building, timeline)
  const row = {
    ListingKey: key,
    ListingId: id,
    OriginatingSystemName: SYSTEM_NAME,
    OriginatingSystemKey: `INS-${id}`,
    PropertyType: type,
    PropertySubType: subType,
    StandardStatus: timeline.status,
    MlsStatus: timeline.status === 'Incomplete' ? 'Draft' : timeline.status,
    ContractStatus: CONTRACT_STATUS[timeline.status],
    ...toDates(random, timeline),
    ...prices,
    ...toAddress(random, site),
    ...toAgents(crew, random, timeline),
    ...toBuildingFields(random, building, type),
    ...toTerms(random, type, Number(prices.ListPrice ?? 0)),
    PublicRemarks: random.maybe(0.04, pickPublicRemarks(random, site)),
    PrivateRemarks: random.maybe(0.3, pickPrivateRemarks(random)),
    VirtualTourURLUnbranded: random.maybe(0.6, `https://tours.example.com/${key}`),
  }
  return { key, id, agent: crew.agent, building, timeline, row }
}
