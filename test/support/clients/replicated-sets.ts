/** The sets of a market, with their keys. */
export const REPLICATED_SETS: Readonly<Record<string, string>> = {
  Property: 'ListingKey',
  Media: 'MediaKey',
  Rooms: 'RoomKey',
  OpenHouse: 'OpenHouseKey',
  Member: 'MemberKey',
  Office: 'OfficeKey',
}
