/** The key columns of an index in their order, and the columns that it includes. */
export interface Index {
  readonly keyColumns: readonly string[]
  readonly includedColumns: readonly string[]
}

const indexOn = (...keyColumns: readonly string[]): Index => ({ keyColumns, includedColumns: [] })
const including = (index: Index, ...includedColumns: readonly string[]): Index => ({
  ...index,
  includedColumns,
})

/** Columns that determine the visibility of a listing, besides its status. */
const VISIBILITY_COLUMNS = ['InternetEntireListingDisplayYN', 'ListAgentKey', 'ListOfficeKey'] as const

/** The ordered indexes of the tables. A test compares them with the catalog of the database. */
export const INDEXES: Readonly<Record<string, readonly Index[]>> = {
  Property: [
    indexOn('ListingKey'),
    including(indexOn('ListingKey'), 'LastEventSequence', 'StandardStatus', ...VISIBILITY_COLUMNS),
    including(
      indexOn('ModificationTimestamp', 'ListingKey'),
      'StandardStatus',
      ...VISIBILITY_COLUMNS,
      'ListPrice',
      'StreetName',
    ),
    including(indexOn('City', 'ListPrice', 'ListingKey'), 'StandardStatus', ...VISIBILITY_COLUMNS),
    indexOn('City', 'ModificationTimestamp', 'ListingKey'),
    including(indexOn('StandardStatus', 'ModificationTimestamp', 'ListingKey'), ...VISIBILITY_COLUMNS),
    indexOn('LastEventSequence', 'ListingKey'),
    indexOn('ListPrice', 'ListingKey'),
    indexOn('ListAgentKey', 'ModificationTimestamp', 'ListingKey'),
    indexOn('ListAgentMlsId', 'ListingKey'),
    indexOn('ListOfficeKey', 'ListingKey'),
    indexOn('ListingId', 'ListingKey'),
    indexOn('OriginatingSystemKey', 'ListingKey'),
    indexOn('PostalCode', 'ListingKey'),
    indexOn('Latitude', 'Longitude', 'StandardStatus'),
  ],
  Member: [
    indexOn('MemberKey'),
    indexOn('ModificationTimestamp', 'MemberKey'),
    indexOn('OfficeKey', 'MemberKey'),
    indexOn('LastEventSequence', 'MemberKey'),
  ],
  Office: [
    indexOn('OfficeKey'),
    indexOn('ModificationTimestamp', 'OfficeKey'),
    indexOn('LastEventSequence', 'OfficeKey'),
  ],
  Media: [
    indexOn('MediaKey'),
    indexOn('PropertyKey', 'MediaKey'),
    indexOn('PropertyKey', 'Order', 'MediaKey'),
    indexOn('MemberKey', 'MediaKey'),
    indexOn('OfficeKey', 'MediaKey'),
    indexOn('ResourceRecordKey', 'MediaKey'),
    indexOn('ModificationTimestamp', 'MediaKey'),
    indexOn('LastEventSequence', 'MediaKey'),
  ],
  Rooms: [
    indexOn('RoomKey'),
    indexOn('ListingKey', 'RoomKey'),
    indexOn('ModificationTimestamp', 'RoomKey'),
    indexOn('LastEventSequence', 'RoomKey'),
  ],
  OpenHouse: [
    indexOn('OpenHouseKey'),
    indexOn('ListingKey', 'OpenHouseKey'),
    indexOn('ModificationTimestamp', 'OpenHouseKey'),
    indexOn('LastEventSequence', 'OpenHouseKey'),
    indexOn('OpenHouseDate', 'OpenHouseKey'),
  ],
  Lookup: [
    indexOn('LookupKey'),
    indexOn('LookupName', 'LookupValue'),
    indexOn('ModificationTimestamp', 'LookupKey'),
    indexOn('LastEventSequence', 'LookupKey'),
  ],
  Field: [indexOn('FieldKey'), indexOn('ResourceName', 'FieldName')],
  EntityEvent: [
    indexOn('EntityEventSequence', 'Audience'),
    indexOn('Audience', 'EntityEventSequence'),
    indexOn('ResourceName', 'Audience', 'EntityEventSequence'),
    indexOn('ResourceName', 'ResourceRecordKey', 'EntityEventSequence'),
  ],
}

/** The columns whose lower-case text has an index of its trigrams. */
export const TRIGRAM_INDEXES: Readonly<Record<string, readonly string[]>> = {
  Property: ['UnparsedAddress', 'StreetName'],
}
