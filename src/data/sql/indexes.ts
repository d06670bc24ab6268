/** The columns that an index is ordered by, and what it carries beside them. */
export interface Index {
  readonly order: readonly string[]
  readonly carried: readonly string[]
}

const by = (...order: readonly string[]): Index => ({ order, carried: [] })
const carrying = (index: Index, ...carried: readonly string[]): Index => ({ ...index, carried })

/** What decides who may see a listing, beside its status. */
const AUDIENCE = ['InternetEntireListingDisplayYN', 'ListAgentKey', 'ListOfficeKey'] as const

/** The ordered indexes of the tables: tests hold them against the catalog of the database. */
export const INDEXES: Readonly<Record<string, readonly Index[]>> = {
  Property: [
    by('ListingKey'),
    carrying(
      by('ModificationTimestamp', 'ListingKey'),
      'StandardStatus',
      ...AUDIENCE,
      'ListPrice',
      'StreetName',
    ),
    carrying(by('City', 'ListPrice', 'ListingKey'), 'StandardStatus', ...AUDIENCE),
    carrying(by('StandardStatus', 'ModificationTimestamp', 'ListingKey'), ...AUDIENCE),
    by('ListPrice', 'ListingKey'),
    by('ListAgentKey', 'ListingKey'),
    by('ListOfficeKey', 'ListingKey'),
    by('ListingId', 'ListingKey'),
    by('OriginatingSystemKey', 'ListingKey'),
    by('PostalCode', 'ListingKey'),
  ],
  Member: [by('MemberKey'), by('ModificationTimestamp', 'MemberKey')],
  Office: [by('OfficeKey'), by('ModificationTimestamp', 'OfficeKey')],
  Media: [
    by('MediaKey'),
    by('PropertyKey', 'MediaKey'),
    by('PropertyKey', 'Order', 'MediaKey'),
    by('MemberKey', 'MediaKey'),
    by('OfficeKey', 'MediaKey'),
    by('ResourceRecordKey', 'MediaKey'),
    by('ModificationTimestamp', 'MediaKey'),
  ],
  Rooms: [by('RoomKey'), by('ListingKey', 'RoomKey'), by('ModificationTimestamp', 'RoomKey')],
  OpenHouse: [
    by('OpenHouseKey'),
    by('ListingKey', 'OpenHouseKey'),
    by('ModificationTimestamp', 'OpenHouseKey'),
    by('OpenHouseDate', 'OpenHouseKey'),
  ],
  Lookup: [by('LookupKey'), by('LookupName', 'LookupValue'), by('ModificationTimestamp', 'LookupKey')],
  EntityEvent: [
    by('EntityEventSequence'),
    by('ResourceName', 'ResourceRecordKey', 'EntityEventSequence'),
    by('PropertyKey', 'EntityEventSequence'),
  ],
}
