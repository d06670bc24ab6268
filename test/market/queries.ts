/** A query of front-end-queries.md, with values of the market that fill.sql generates. */
export interface FrontEndQuery {
  /** Its number in the list. */
  readonly number: number
  readonly set?: 'Property' | 'Member' | 'Office' | 'Media' | 'OpenHouse'
  readonly filter?: string
  readonly orderBy?: string
  readonly search?: string
  readonly top?: number
  readonly count?: boolean
  /** Few fields in place of whole records. */
  readonly few?: boolean
  readonly expand?: readonly string[]
  /** A path or options that only OData has. */
  readonly odata?: string
  /** Orders by an expression, which GraphQL does not support. */
  readonly isODataOnly?: boolean
}

const CITY = (name: string) =>
  `City eq '${name}' and ListPrice ge 300000 and ListPrice le 900000 and BedroomsTotal ge 3`
const ACTIVE = "StandardStatus eq 'Active'"
const DOWNTOWN = "geography'SRID=4326;POINT(-119.2 27.8)'"
const FAR = "geography'SRID=4326;POINT(-96 37)'"
const distance = (point: string) => `geo.distance(GeoLocation,${point})`
const box = (south: number, north: number, west: number, east: number) =>
  `Latitude ge ${south} and Latitude le ${north} and Longitude ge ${west} and Longitude le ${east}`
const BOXES = [
  box(27.76, 27.84, -119.24, -119.16),
  box(36.97, 37.02, -96.04, -95.98),
  box(60, 60.1, 10, 10.1),
]
const POLYGON =
  "geo.intersects(GeoLocation,geography'SRID=4326;POLYGON((-119.24 27.76,-119.16 27.76,-119.16 27.84,-119.24 27.84,-119.24 27.76))')"
const keys = Array.from({ length: 100 }, (_, i) => `'L${String(i * 1999 + 7).padStart(9, '0')}'`).join()
/** Positions at the beginning, in the middle and near the end of a copy. */
const COPIES = ['2016-12-01T00:00:00Z', '2022-12-29T00:00:00Z', '2026-10-29T19:00:00Z']
const LATELY = '2026-10-31T12:00:00Z'
const after = (time: string, key: string, last: string) =>
  `(ModificationTimestamp gt ${time} or (ModificationTimestamp eq ${time} and ${key} gt '${last}'))`
const NEWEST = 'ModificationTimestamp desc'

// biome-ignore format: a query a line
export const FRONT_END_QUERIES: readonly FrontEndQuery[] = [
  ...['Austin', 'Denver', 'Vail', 'City 60'].flatMap((city): FrontEndQuery[] => [
    { number: 1, filter: CITY(city), orderBy: 'ListPrice desc', top: 20 },
    { number: 2, filter: CITY(city), orderBy: NEWEST, top: 20 },
    { number: 3, filter: CITY(city), orderBy: 'ListPrice desc', top: 20, count: true },
  ]),
  { number: 4, filter: ACTIVE, orderBy: 'OnMarketDate desc', top: 20 },
  { number: 5, filter: ACTIVE, orderBy: 'ListPrice', top: 20 },
  { number: 5, filter: ACTIVE, orderBy: 'ListPrice desc', top: 20 },
  { number: 6, filter: `${ACTIVE} and City in ('Austin','Vail','Denver')`, orderBy: 'ListPrice', top: 50 },
  { number: 6, filter: `${ACTIVE} and City in ('City 40','Vail','City 60')`, orderBy: 'ListPrice', top: 50 },
  { number: 7, filter: ACTIVE, orderBy: 'ListPrice div LivingArea', top: 20, few: true, isODataOnly: true },
  { number: 8, filter: "StandardStatus eq 'Sold' and CloseDate ge 2026-01-01", orderBy: 'CloseDate desc', top: 50 },
  { number: 9, filter: 'BedroomsTotal ge 4 and BathroomsTotalInteger ge 3', orderBy: 'BedroomsTotal desc,ListPrice', top: 20 },
  { number: 10, filter: 'YearBuilt ge 2015 and LivingArea ge 2000', orderBy: 'YearBuilt desc', top: 20 },
  ...BOXES.flatMap((filter): FrontEndQuery[] => [
    { number: 11, filter, top: 500, few: true },
    { number: 12, filter, top: 0, count: true },
  ]),
  { number: 13, filter: POLYGON, top: 500, few: true },
  ...[DOWNTOWN, FAR].flatMap((point): FrontEndQuery[] => [
    { number: 14, filter: `${distance(point)} le 5000 and ${ACTIVE}`, orderBy: distance(point), top: 20, isODataOnly: true },
    { number: 15, filter: `${distance(point)} le 25000 and ${ACTIVE} and ListPrice ge 300000 and ListPrice le 900000`, orderBy: 'ListPrice', top: 20 },
  ]),
  { number: 16, search: 'lake', top: 20 },
  { number: 16, search: 'lake view', filter: 'ListPrice ge 300000 and ListPrice le 900000', orderBy: 'ListPrice', top: 20 },
  { number: 17, search: 'lake', top: 0, count: true },
  { number: 18, filter: "contains(UnparsedAddress,'Pine')", orderBy: 'UnparsedAddress', top: 20 },
  { number: 18, filter: "contains(UnparsedAddress,'zzqqx')", orderBy: 'UnparsedAddress', top: 20 },
  { number: 19, filter: "contains(tolower(UnparsedAddress),'pine')", top: 10 },
  { number: 20, filter: "startswith(PostalCode,'816')", top: 50 },
  { number: 21, filter: "tolower(City) eq 'vail'", top: 20 },
  { number: 22, filter: "ListingId eq 'B2000777'", top: 20 },
  { number: 22, filter: "ListingKey eq 'L000000777'", top: 20 },
  { number: 22, odata: "Property('L000000777')" },
  { number: 23, filter: "ListAgentKey eq 'M00002'", orderBy: NEWEST, top: 50 },
  { number: 23, filter: "ListOfficeKey eq 'O0078'", orderBy: 'ListPrice', top: 50 },
  { number: 24, filter: "ListAgentMlsId eq 'MM77'", top: 20 },
  { number: 25, filter: "ListOffice/OfficeName eq 'North'", top: 20 },
  { number: 26, filter: ACTIVE, orderBy: 'ListAgent/MemberLastName', top: 20, few: true },
  { number: 27, filter: "SubdivisionName eq 'Pine Village'", top: 20 },
  { number: 28, filter: "ConstructionMaterials/any(m:m eq 'Log')", orderBy: 'ListPrice', top: 20 },
  { number: 28, filter: "ConstructionMaterials/any(m:m eq 'Brick') and ConstructionMaterials/any(m:m eq 'Log')", orderBy: 'ListPrice', top: 20 },
  { number: 29, filter: 'Media/any(m:m/Order eq 1)', top: 20 },
  { number: 29, filter: 'PhotosCount gt 0', top: 20 },
  { number: 30, filter: 'WaterfrontYN eq true and PoolPrivateYN eq true', orderBy: 'ListPrice', top: 20 },
  { number: 31, set: 'OpenHouse', filter: 'OpenHouseDate ge 2026-12-01 and OpenHouseDate le 2026-12-07', orderBy: 'OpenHouseDate', top: 100 },
  { number: 32, filter: 'OpenHouses/any(o:o/OpenHouseDate ge 2026-12-01)', top: 50 },
  { number: 33, set: 'Media', filter: `ResourceRecordKey in (${keys})`, orderBy: 'ResourceRecordKey,Order', top: 1000 },
  { number: 34, filter: `ListingKey in (${keys})`, top: 100, expand: ['Media', 'Rooms'] },
  ...COPIES.flatMap((time): FrontEndQuery[] => [
    { number: 35, filter: `ContractStatus eq 'Available' and ${after(time, 'ListingKey', 'L000100000')}`, orderBy: 'ModificationTimestamp,ListingKey', top: 1000 },
    { number: 36, set: 'Media', filter: after(time, 'MediaKey', 'L000100000-1'), orderBy: 'ModificationTimestamp,MediaKey', top: 1000 },
  ]),
  { number: 36, filter: `ModificationTimestamp gt ${LATELY} or MediaChangeTimestamp gt ${LATELY}`, top: 1000 },
  { number: 37, filter: `ModificationTimestamp gt ${LATELY} and StandardStatus in ('Active','Pending')`, orderBy: 'ModificationTimestamp', top: 100 },
  { number: 37, filter: `ModificationTimestamp gt ${LATELY} and PropertyType in ('Residential','Land','Farm')`, orderBy: 'ModificationTimestamp', top: 100 },
  { number: 38, odata: 'Property?$select=ListingKey&$top=1000' },
  { number: 38, odata: "Property?$select=ListingKey&$top=1000&$filter=ListingKey gt 'L000100000'" },
  { number: 39, set: 'Member', filter: "OfficeKey eq 'O0078'", orderBy: 'MemberLastName,MemberFirstName', top: 100 },
  { number: 39, set: 'Office', filter: "contains(OfficeName,'Realty')", top: 100 },
  { number: 40, odata: `Property?$apply=filter(${ACTIVE})/groupby((City),aggregate($count as N,ListPrice with average as Mean))` },
  { number: 40, odata: 'Property/$count' },
  { number: 40, odata: `Property/$count?$filter=${ACTIVE}` },
  { number: 40, odata: 'Property/$count?$filter=ListPrice ge 200000' },
]
