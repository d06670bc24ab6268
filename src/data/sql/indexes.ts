// Generated from the migrations by `npm run schema -- --indexes`. Do not edit.

/** The key columns of an index in their order, and the columns that it includes. */
export interface Index {
  readonly keyColumns: readonly string[]
  readonly includedColumns: readonly string[]
}

/** The ordered indexes of all rows of the tables. */
export const INDEXES: Readonly<Record<string, readonly Index[]>> = {
  Property: [
    { keyColumns: ['City', 'ListPrice', 'ListingKey'], includedColumns: ['StandardStatus', 'InternetEntireListingDisplayYN', 'ListAgentKey', 'ListOfficeKey'] },
    { keyColumns: ['City', 'ModificationTimestamp', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['LastEventSequence', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['Latitude', 'Longitude', 'StandardStatus'], includedColumns: [] },
    { keyColumns: ['ListAgentKey', 'ModificationTimestamp', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['ListAgentMlsId', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['ListOfficeKey', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['ListPrice', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['ListingId', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['ListingKey'], includedColumns: [] },
    { keyColumns: ['ListingKey'], includedColumns: ['LastEventSequence', 'StandardStatus', 'InternetEntireListingDisplayYN', 'ListAgentKey', 'ListOfficeKey'] },
    { keyColumns: ['ModificationTimestamp', 'ListingKey'], includedColumns: ['StandardStatus', 'InternetEntireListingDisplayYN', 'ListAgentKey', 'ListOfficeKey', 'ListPrice', 'StreetName'] },
    { keyColumns: ['OriginatingSystemKey', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['PostalCode', 'ListingKey'], includedColumns: [] },
    { keyColumns: ['StandardStatus', 'ModificationTimestamp', 'ListingKey'], includedColumns: ['InternetEntireListingDisplayYN', 'ListAgentKey', 'ListOfficeKey'] },
  ],
  Member: [
    { keyColumns: ['LastEventSequence', 'MemberKey'], includedColumns: [] },
    { keyColumns: ['MemberKey'], includedColumns: [] },
    { keyColumns: ['ModificationTimestamp', 'MemberKey'], includedColumns: [] },
    { keyColumns: ['OfficeKey', 'MemberKey'], includedColumns: [] },
  ],
  Office: [
    { keyColumns: ['LastEventSequence', 'OfficeKey'], includedColumns: [] },
    { keyColumns: ['ModificationTimestamp', 'OfficeKey'], includedColumns: [] },
    { keyColumns: ['OfficeKey'], includedColumns: [] },
  ],
  Media: [
    { keyColumns: ['LastEventSequence', 'MediaKey'], includedColumns: [] },
    { keyColumns: ['MediaKey'], includedColumns: [] },
    { keyColumns: ['MemberKey', 'MediaKey'], includedColumns: [] },
    { keyColumns: ['ModificationTimestamp', 'MediaKey'], includedColumns: [] },
    { keyColumns: ['OfficeKey', 'MediaKey'], includedColumns: [] },
    { keyColumns: ['PropertyKey', 'MediaKey'], includedColumns: [] },
    { keyColumns: ['PropertyKey', 'Order', 'MediaKey'], includedColumns: [] },
    { keyColumns: ['ResourceRecordKey', 'MediaKey'], includedColumns: [] },
  ],
  Rooms: [
    { keyColumns: ['LastEventSequence', 'RoomKey'], includedColumns: [] },
    { keyColumns: ['ListingKey', 'RoomKey'], includedColumns: [] },
    { keyColumns: ['ModificationTimestamp', 'RoomKey'], includedColumns: [] },
    { keyColumns: ['RoomKey'], includedColumns: [] },
  ],
  OpenHouse: [
    { keyColumns: ['LastEventSequence', 'OpenHouseKey'], includedColumns: [] },
    { keyColumns: ['ListingKey', 'OpenHouseKey'], includedColumns: [] },
    { keyColumns: ['ModificationTimestamp', 'OpenHouseKey'], includedColumns: [] },
    { keyColumns: ['OpenHouseDate', 'OpenHouseKey'], includedColumns: [] },
    { keyColumns: ['OpenHouseKey'], includedColumns: [] },
  ],
  Lookup: [
    { keyColumns: ['LastEventSequence', 'LookupKey'], includedColumns: [] },
    { keyColumns: ['LookupKey'], includedColumns: [] },
    { keyColumns: ['LookupName', 'LookupValue'], includedColumns: [] },
    { keyColumns: ['ModificationTimestamp', 'LookupKey'], includedColumns: [] },
  ],
  Field: [
    { keyColumns: ['FieldKey'], includedColumns: [] },
    { keyColumns: ['ResourceName', 'FieldName'], includedColumns: [] },
  ],
  EntityEvent: [
    { keyColumns: ['Audience', 'EntityEventSequence'], includedColumns: [] },
    { keyColumns: ['EntityEventSequence', 'Audience'], includedColumns: [] },
    { keyColumns: ['ResourceName', 'Audience', 'EntityEventSequence'], includedColumns: [] },
    { keyColumns: ['ResourceName', 'ResourceRecordKey', 'EntityEventSequence'], includedColumns: [] },
  ],
}

/** The columns whose lower-case text has an index of its trigrams. */
export const TRIGRAM_INDEXES: Readonly<Record<string, readonly string[]>> = {
  Property: [
    'StreetName',
    'UnparsedAddress',
  ],
}
