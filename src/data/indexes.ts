/** The ordered indexes of the tables, with all their columns: tests hold them against the catalog of the database. */
export const INDEXES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  Property: [
    ['ListingKey'],
    ['ModificationTimestamp', 'ListingKey'],
    ['City', 'ListPrice', 'ListingKey'],
    ['StandardStatus', 'ModificationTimestamp', 'ListingKey'],
    ['ListPrice', 'ListingKey'],
    ['ListAgentKey', 'ListingKey'],
    ['ListOfficeKey', 'ListingKey'],
  ],
  Member: [['MemberKey'], ['ModificationTimestamp', 'MemberKey']],
  Office: [['OfficeKey'], ['ModificationTimestamp', 'OfficeKey']],
  Media: [
    ['MediaKey'],
    ['PropertyKey', 'MediaKey'],
    ['PropertyKey', 'Order', 'MediaKey'],
    ['MemberKey', 'MediaKey'],
    ['OfficeKey', 'MediaKey'],
    ['ResourceRecordKey', 'MediaKey'],
    ['ModificationTimestamp', 'MediaKey'],
  ],
  Rooms: [['RoomKey'], ['ListingKey', 'RoomKey'], ['ModificationTimestamp', 'RoomKey']],
  OpenHouse: [['OpenHouseKey'], ['ListingKey', 'OpenHouseKey'], ['ModificationTimestamp', 'OpenHouseKey'], ['OpenHouseDate', 'OpenHouseKey']],
  Lookup: [['LookupKey'], ['LookupName', 'LookupValue'], ['ModificationTimestamp', 'LookupKey']],
  EntityEvent: [['EntityEventSequence'], ['ResourceName', 'ResourceRecordKey', 'EntityEventSequence'], ['PropertyKey', 'EntityEventSequence']],
}
