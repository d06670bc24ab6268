// The tables that the limit server and the other servers share. Their columns are the fields of a listing at
// the first run of the benchmark. The service has its own tables.

/** Type codes: s text, i integer, dP.S numeric(P,S), t timestamptz(3), D date, b boolean, c text[]. */
const columns = text =>
  text
    .trim()
    .split(/\s+/)
    .map(item => item.split(':'))
    .map(([name, type]) => ({ name, type }))

export const TABLES = {
  Office:
    columns(`OfficeKey:s OfficeMlsId:s OfficeName:s OfficePhone:s OfficeCity:s OfficeStateOrProvince:s OfficePostalCode:s
    ModificationTimestamp:t OriginatingSystemName:s`),
  Member:
    columns(`MemberKey:s MemberMlsId:s MemberFirstName:s MemberLastName:s MemberFullName:s MemberStatus:s MemberType:s MemberEmail:s
    MemberDirectPhone:s OfficeKey:s OfficeName:s ModificationTimestamp:t OriginatingSystemName:s`),
  Property: columns(`
    ListingKey:s ListingId:s OriginatingSystemName:s OriginatingSystemKey:s PropertyType:s PropertySubType:s
    StandardStatus:s MlsStatus:s ModificationTimestamp:t OriginalEntryTimestamp:t StatusChangeTimestamp:t
    MajorChangeTimestamp:t MajorChangeType:s PriceChangeTimestamp:t PhotosChangeTimestamp:t PhotosCount:i OnMarketDate:D
    OnMarketTimestamp:t ListingContractDate:D ExpirationDate:D ContractStatusChangeDate:D PurchaseContractDate:D
    CloseDate:D DaysOnMarket:i CumulativeDaysOnMarket:i ListPrice:d14.2 OriginalListPrice:d14.2 PreviousListPrice:d14.2
    ClosePrice:d14.2 StreetNumber:s StreetDirPrefix:s StreetName:s StreetSuffix:s StreetDirSuffix:s UnitNumber:s
    UnparsedAddress:s City:s CountyOrParish:s StateOrProvince:s PostalCode:s Country:s SubdivisionName:s MLSAreaMajor:s
    Latitude:d12.8 Longitude:d12.8 Directions:s ParcelNumber:s ListAgentKey:s ListAgentMlsId:s ListAgentFullName:s
    ListOfficeKey:s ListOfficeMlsId:s ListOfficeName:s ListOfficePhone:s CoListAgentKey:s CoListOfficeKey:s
    BuyerAgentKey:s BuyerAgentMlsId:s BuyerAgentFullName:s BuyerOfficeKey:s BuyerOfficeName:s BedroomsTotal:i
    BathroomsTotalInteger:i BathroomsFull:i BathroomsHalf:i RoomsTotal:i LivingArea:d14.2 LivingAreaUnits:s
    BuildingAreaTotal:d14.2 BuildingAreaUnits:s YearBuilt:i Stories:i Levels:c LotSizeArea:d16.4 LotSizeUnits:s
    LotSizeAcres:d16.4 LotSizeSquareFeet:d14.2 GarageSpaces:d14.2 GarageYN:b NumberOfUnitsTotal:i NewConstructionYN:b
    PropertyAttachedYN:b SeniorCommunityYN:b ArchitecturalStyle:c ConstructionMaterials:c Roof:c FoundationDetails:c
    Basement:c Flooring:c Appliances:c InteriorFeatures:c ExteriorFeatures:c LotFeatures:c ParkingFeatures:c
    PatioAndPorchFeatures:c PoolFeatures:c PoolPrivateYN:b SpaFeatures:c FireplaceYN:b FireplacesTotal:i Heating:c
    Cooling:c Sewer:c WaterSource:c Utilities:c View:c WaterfrontYN:b AccessibilityFeatures:c AssociationYN:b
    AssociationFee:d14.2 AssociationFeeFrequency:s TaxAnnualAmount:d14.2 TaxYear:i Zoning:s ElementarySchool:s
    MiddleOrJuniorSchool:s HighSchool:s HighSchoolDistrict:s PublicRemarks:s PrivateRemarks:s SpecialListingConditions:c
    VirtualTourURLUnbranded:s InternetEntireListingDisplayYN:b InternetAddressDisplayYN:b
    InternetAutomatedValuationDisplayYN:b InternetConsumerCommentYN:b ContractStatus:s SoldPrice:d14.2
    ChangedByMemberKey:s
  `),
  Media:
    columns(`MediaKey:s ResourceName:s ResourceRecordKey:s MediaURL:s MediaType:s MediaCategory:s MediaModificationTimestamp:t
    ModificationTimestamp:t Order:i PreferredPhotoYN:b ShortDescription:s LongDescription:s ImageHeight:i ImageWidth:i ImageOf:s`),
  Rooms:
    columns(`RoomKey:s ListingKey:s RoomType:s RoomLevel:s RoomDescription:s RoomFeatures:c RoomDimensions:s RoomLength:d14.2
    RoomWidth:d14.2 RoomLengthWidthUnits:s RoomArea:d14.2 RoomAreaUnits:s ModificationTimestamp:t`),
}

export const KEY = {
  Office: 'OfficeKey',
  Member: 'MemberKey',
  Property: 'ListingKey',
  Media: 'MediaKey',
  Rooms: 'RoomKey',
}

const REQUIRED = new Set([
  ...[
    'PropertyType',
    'StreetNumber',
    'StreetName',
    'City',
    'StandardStatus',
    'MlsStatus',
    'ContractStatus',
    'ListAgentKey',
    'ListOfficeKey',
  ],
  ...['ModificationTimestamp', 'OriginatingSystemName', 'ResourceRecordKey', 'Order', ...Object.values(KEY)],
])
export const isRequired = (table, { name, type }) =>
  type === 'c' || (REQUIRED.has(name) && !(table === 'Member' && name === 'OfficeKey'))

export const namesOf = table => TABLES[table].map(({ name }) => name)

const SQL_TYPES = { s: 'text', i: 'integer', t: 'timestamptz(3)', D: 'date', b: 'boolean', c: `text[]` }
const toSqlType = type => SQL_TYPES[type] ?? `numeric(${type.slice(1).replace('.', ',')})`
const toColumn = (table, column) =>
  `"${column.name}" ${toSqlType(column.type)}${isRequired(table, column) ? ' NOT NULL' : ''}${column.type === 'c' ? ` DEFAULT '{}'` : ''}`

export const createTable = table =>
  `CREATE TABLE "${table}" (${TABLES[table].map(column => toColumn(table, column)).join(', ')});`

/**
 * Created after loading. Each ends with the key, so that an order with the key as tie-break is a plain index
 * scan, also backwards and under a generic plan (0.2 ms in place of 49 ms).
 */
export const INDEXES = [
  ...Object.entries(KEY).map(([table, key]) => `ALTER TABLE "${table}" ADD PRIMARY KEY ("${key}")`),
  'CREATE INDEX ON "Property" ("ModificationTimestamp", "ListingKey")',
  'CREATE INDEX ON "Property" ("City", "ListPrice", "ListingKey")',
  'CREATE INDEX ON "Property" ("StandardStatus", "ModificationTimestamp", "ListingKey")',
  'CREATE INDEX ON "Property" ("ListAgentKey")',
  'CREATE INDEX ON "Property" ("ListOfficeKey")',
  'CREATE INDEX ON "Property" USING gin ("ConstructionMaterials")',
  'CREATE INDEX ON "Media" ("ResourceRecordKey", "Order")',
  'CREATE INDEX ON "Rooms" ("ListingKey")',
  // Positions and texts for maps and searches, in a table of its own: no change of a listing writes these indexes.
  'CREATE EXTENSION IF NOT EXISTS pg_trgm',
  `CREATE TABLE "PropertySearch" AS SELECT "ListingKey", "Latitude", "Longitude", "UnparsedAddress", to_tsvector('simple', "PublicRemarks") AS "Words" FROM "Property"`,
  'ALTER TABLE "PropertySearch" ADD PRIMARY KEY ("ListingKey")',
  'CREATE INDEX ON "PropertySearch" ("Latitude", "Longitude")',
  'CREATE INDEX ON "PropertySearch" USING gin ("UnparsedAddress" gin_trgm_ops)',
  'CREATE INDEX ON "PropertySearch" USING gin ("Words")',
  'ALTER TABLE "Member" ADD FOREIGN KEY ("OfficeKey") REFERENCES "Office"',
  'ALTER TABLE "Property" ADD FOREIGN KEY ("ListAgentKey") REFERENCES "Member"',
  'ALTER TABLE "Media" ADD FOREIGN KEY ("ResourceRecordKey") REFERENCES "Property" ON DELETE CASCADE',
  'ALTER TABLE "Rooms" ADD FOREIGN KEY ("ListingKey") REFERENCES "Property" ON DELETE CASCADE',
]

/** Fields of the narrow lists. */
export const NARROW = [
  ...[
    'ListingKey',
    'ListingId',
    'StandardStatus',
    'PropertyType',
    'PropertySubType',
    'ListPrice',
    'StreetNumber',
    'StreetName',
    'City',
    'StateOrProvince',
  ],
  ...['PostalCode', 'BedroomsTotal', 'BathroomsTotalInteger', 'LivingArea', 'ModificationTimestamp'],
]
export const MEDIA = ['MediaKey', 'MediaURL', 'MediaType', 'Order']
export const ROOMS = ['RoomKey', 'RoomType', 'RoomLevel', 'RoomArea']
export const AGENT = ['MemberKey', 'MemberFullName', 'MemberEmail']
export const WIDE = namesOf('Property')
