import type { TableRow } from '../data/import/record.js'
import { type Building, pickBuilding, toBuildingFields } from './building.js'
import { pickCity, pickSite, renderStreet, type Site } from './cities-and-sites.js'
import { DAY_MS, SAMPLE_END_MS, toIsoDate, toIsoTimestamp } from './clock.js'
import { PROPERTY_KINDS, type PropertyType } from './lookup-choices.js'
import { ORIGINATING_SYSTEM_NAME, type SampleMember } from './people.js'
import { pickPriceFields } from './prices.js'
import type { SeededRandom } from './random.js'
import { pickDirections, pickPrivateRemarks, pickPublicRemarks } from './remarks.js'
import { CONTRACT_STATUS, type Timeline, toTimeline } from './timeline.js'

/** The facts about a sample listing that its related records depend on. */
export interface SampleListing {
  readonly key: string
  readonly id: string
  readonly agent: SampleMember
  readonly building: Building
  readonly timeline: Timeline
  readonly row: TableRow
}

/** The agents of a listing. `buyer` applies only with a contract. */
interface ListingAgents {
  readonly agent: SampleMember
  readonly coAgent: SampleMember
  readonly buyerAgent: SampleMember
}

const toListingKey = (index: number): string => `L${String(index + 1).padStart(9, '0')}`

/** Each kind, repeated in proportion to its share of a thousand. */
const WEIGHTED_PROPERTY_KINDS = PROPERTY_KINDS.flatMap(kind => Array.from({ length: kind.share }, () => kind))

function toAddressFields(random: SeededRandom, site: Site): TableRow {
  const { city, postalCode, streetNumber, direction, streetName, streetSuffix, subdivision } = site
  const unit = random.orNull(0.85, random.pick(['A', 'B', '101', '204', '3C', '#12']))
  const isPrefix = random.chance(0.8)
  const street = renderStreet(isPrefix ? site : { ...site, direction: null })
  const school = random.pick(['Lincoln', 'Sacajawea', 'Horizon', 'Roosevelt', 'Skyway', "Chief Joseph's"])
  return {
    StreetNumber: streetNumber,
    StreetDirPrefix: isPrefix ? direction : null,
    StreetName: streetName,
    StreetSuffix: streetSuffix,
    StreetDirSuffix: isPrefix ? null : direction,
    UnitNumber: unit,
    UnparsedAddress: `${[street, isPrefix ? null : direction, unit && `Unit ${unit}`].filter(Boolean).join(' ')}, ${city.name}, ${city.state} ${postalCode}`,
    City: city.name,
    CountyOrParish: city.county,
    StateOrProvince: city.state,
    PostalCode: postalCode,
    Country: 'US',
    SubdivisionName: subdivision,
    MLSAreaMajor: city.area,
    CityRegion: random.orNull(0.5, random.pick(['North', 'South Hill', 'Downtown', 'West Bench'])),
    Latitude: site.latitude,
    Longitude: site.longitude,
    Directions: random.orNull(0.25, pickDirections(random, site)),
    ParcelNumber: `${random.int(10, 99)}${random.int(1000, 9999)}.${random.int(1000, 9999)}`,
    ElementarySchool: random.orNull(0.2, school),
    MiddleOrJuniorSchool: random.orNull(0.3, `${school} Middle`),
    HighSchool: random.orNull(0.2, `${city.name} High`),
    HighSchoolDistrict: random.orNull(0.15, `${city.name} School District`),
    Zoning: random.orNull(0.3, random.pick(['R-1', 'R-2', 'RSF', 'C-1', 'MU-40', 'AG'])),
  }
}

const toAgentFields = (
  { agent, coAgent: secondAgent, buyerAgent }: ListingAgents,
  random: SeededRandom,
  { status }: Timeline,
): TableRow => {
  const contractAgent = status === 'Sold' || status === 'Pending' ? buyerAgent : undefined
  const coAgent = random.chance(0.2) ? secondAgent : undefined
  return {
    ListAgentKey: agent.key,
    ListAgentMlsId: agent.mlsId,
    ListAgentFullName: agent.fullName,
    ListOfficeKey: agent.office.key,
    ListOfficeMlsId: agent.office.mlsId,
    ListOfficeName: agent.office.name,
    ListOfficePhone: agent.office.phone,
    CoListAgentKey: coAgent?.key ?? null,
    CoListOfficeKey: coAgent?.office.key ?? null,
    BuyerAgentKey: contractAgent?.key ?? null,
    BuyerAgentMlsId: contractAgent?.mlsId ?? null,
    BuyerAgentFullName: contractAgent?.fullName ?? null,
    BuyerOfficeKey: contractAgent?.office.key ?? null,
    BuyerOfficeName: contractAgent?.office.name ?? null,
  }
}

const toOptionalTimestamp = (time: number | undefined) => (time === undefined ? null : toIsoTimestamp(time))

function toMajorChangeFields({ status, priceChanged, statusChanged }: Timeline): TableRow {
  if (status === 'Incomplete') return { MajorChangeTimestamp: null, MajorChangeType: null }
  if (priceChanged !== undefined && priceChanged > statusChanged)
    return { MajorChangeTimestamp: toIsoTimestamp(priceChanged), MajorChangeType: 'Price Change' }
  const type = status === 'Active' ? 'New Listing' : status === 'Sold' ? 'Closed' : status
  return { MajorChangeTimestamp: toIsoTimestamp(statusChanged), MajorChangeType: type }
}

function toDateFields(random: SeededRandom, timeline: Timeline): TableRow {
  const { status, entered, published, priceChanged, statusChanged, photosChanged, modified } = timeline
  const contractTime = entered - random.int(0, 3) * DAY_MS
  const days =
    published === undefined
      ? 0
      : Math.floor(((status === 'Active' ? SAMPLE_END_MS : statusChanged) - published) / DAY_MS)
  const bought = status === 'Sold' ? statusChanged - random.int(21, 45) * DAY_MS : statusChanged
  const purchaseContractDate =
    status === 'Sold' || status === 'Pending' || status === 'Active Under Contract'
      ? toIsoDate(Math.max(bought, published ?? bought))
      : null
  return {
    ModificationTimestamp: toIsoTimestamp(modified),
    OriginalEntryTimestamp: toIsoTimestamp(entered),
    StatusChangeTimestamp: toIsoTimestamp(statusChanged),
    ...toMajorChangeFields(timeline),
    PriceChangeTimestamp: toOptionalTimestamp(priceChanged),
    PhotosChangeTimestamp: toIsoTimestamp(photosChanged),
    MediaChangeTimestamp: toIsoTimestamp(photosChanged),
    OnMarketDate: published === undefined ? null : toIsoDate(published),
    OnMarketTimestamp: toOptionalTimestamp(published),
    ListingContractDate: toIsoDate(contractTime),
    ExpirationDate:
      status === 'Expired'
        ? toIsoDate(statusChanged)
        : random.orNull(0.1, toIsoDate(contractTime + random.pick([180, 365]) * DAY_MS)),
    ContractStatusChangeDate: toIsoDate(statusChanged),
    PurchaseContractDate: purchaseContractDate,
    CloseDate: status === 'Sold' ? toIsoDate(statusChanged) : null,
    DaysOnMarket: days,
    CumulativeDaysOnMarket: days + random.pickWeighted([0, 0, 0, 37, 120]),
  }
}

function toTermFields(random: SeededRandom, type: PropertyType, price: number): TableRow {
  const hasAssociation = random.chance(0.3)
  const isLease = type.endsWith('Lease')
  return {
    TransactionType: isLease ? 'For Lease' : 'For Sale',
    Furnished: isLease ? random.pick(['Unfurnished', 'Furnished', 'Partially', 'Negotiable']) : null,
    AssociationYN: hasAssociation,
    AssociationFee: hasAssociation ? random.int(3, 90) * 12.5 : null,
    AssociationFeeFrequency: hasAssociation
      ? random.pickWeighted(['Monthly', 'Annually', 'Quarterly'])
      : null,
    TaxAnnualAmount: isLease ? null : random.orNull(0.1, Math.round(price * random.between(0.6, 1.1)) / 100),
    TaxYear: random.orNull(0.08, random.int(2023, 2025)),
    PropertyAttachedYN: random.chance(0.2),
    SeniorCommunityYN: random.orNull(0.3, random.chance(0.05)),
    InternetEntireListingDisplayYN: !random.chance(0.04),
    InternetAddressDisplayYN: !random.chance(0.05),
    InternetAutomatedValuationDisplayYN: random.chance(0.8),
    InternetConsumerCommentYN: random.chance(0.7),
  }
}

/** Returns the listing with an index (from 0). The result depends only on the index and the random seed. */
export function toSampleListing(random: SeededRandom, index: number, agents: ListingAgents): SampleListing {
  const key = toListingKey(index)
  const id = String(20_000_000 + index + 1)
  const { type, subTypes } = random.pick(WEIGHTED_PROPERTY_KINDS)
  const subType = random.pickWeighted<string>(subTypes)
  const site = pickSite(random, random.chance(0.7) ? agents.agent.office.site.city : pickCity(random))
  const timeline = toTimeline(random, index)
  const building = pickBuilding(random, type, subType)
  const prices = pickPriceFields(random, site.city, type, building, timeline)
  const row = {
    ListingKey: key,
    ListingId: id,
    OriginatingSystemName: ORIGINATING_SYSTEM_NAME,
    OriginatingSystemKey: `INS-${id}`,
    PropertyType: type,
    PropertySubType: subType,
    StandardStatus: timeline.status,
    MlsStatus: timeline.status === 'Incomplete' ? 'Draft' : timeline.status,
    ContractStatus: CONTRACT_STATUS[timeline.status],
    ...toDateFields(random, timeline),
    ...prices,
    ...toAddressFields(random, site),
    ...toAgentFields(agents, random, timeline),
    ...toBuildingFields(random, building, type),
    ...toTermFields(random, type, Number(prices.ListPrice ?? 0)),
    PublicRemarks: random.orNull(0.04, pickPublicRemarks(random, site)),
    PrivateRemarks: random.orNull(0.3, pickPrivateRemarks(random)),
    VirtualTourURLUnbranded: random.orNull(0.6, `https://tours.example.com/${key}`),
  }
  return { key, id, agent: agents.agent, building, timeline, row }
}
