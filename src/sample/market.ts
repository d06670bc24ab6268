import type { TableBatch, TableRow } from '../data/import/upsert.js'
import { toSampleListing } from './listings.js'
import { toMediaRows, toOpenHouseRows, toRoomRows } from './media-rooms-open-houses.js'
import { toMemberRow, toOfficeRow } from './office-member-rows.js'
import { MEMBERS_PER_OFFICE, type SampleMember, toSampleMember, toSampleOffice } from './people.js'
import { SeededRandom } from './random.js'

/**
 * Listings come in blocks, each with offices of its own: a block needs nothing but its number, so nothing is
 * kept.
 */
const LISTINGS_PER_BLOCK = 200
const OFFICES_PER_BLOCK = 5
const MEMBERS_PER_BLOCK = OFFICES_PER_BLOCK * MEMBERS_PER_OFFICE

const integerRange = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + index)

const toBlockMembers = (block: number): readonly SampleMember[] =>
  integerRange(block * OFFICES_PER_BLOCK, OFFICES_PER_BLOCK).flatMap(officeIndex => {
    const office = toSampleOffice(officeIndex)
    return integerRange(officeIndex * MEMBERS_PER_OFFICE, MEMBERS_PER_OFFICE).map(memberIndex =>
      toSampleMember(memberIndex, office),
    )
  })

function toOfficeAndMemberRows(
  block: number,
  members: readonly SampleMember[],
): { readonly Office: readonly TableRow[]; readonly Member: readonly TableRow[] } {
  const brokers = members.filter((_, index) => index % MEMBERS_PER_OFFICE === 0)
  return {
    Office: brokers.map((broker, index) => toOfficeRow(broker.office, block * OFFICES_PER_BLOCK + index)),
    Member: members.map((member, index) => toMemberRow(member, block * MEMBERS_PER_BLOCK + index)),
  }
}

function toBlockBatch(block: number, from: number, to: number): TableBatch {
  const members = toBlockMembers(block)
  const start = block * LISTINGS_PER_BLOCK
  const Property: TableRow[] = []
  const Media: TableRow[] = []
  const Rooms: TableRow[] = []
  const OpenHouse: TableRow[] = []
  for (const index of integerRange(
    Math.max(from, start),
    Math.min(to, start + LISTINGS_PER_BLOCK) - Math.max(from, start),
  )) {
    const random = new SeededRandom(5, index)
    const listing = toSampleListing(random, index, {
      agent: random.pick(members),
      coAgent: random.pick(members),
      buyerAgent: random.pick(members),
    })
    const media = toMediaRows(random, listing)
    Property.push({
      ...listing.row,
      PhotosCount: media.filter(item => item.MediaCategory === 'Photo').length,
    })
    Media.push(...media)
    Rooms.push(...toRoomRows(random, listing))
    OpenHouse.push(...toOpenHouseRows(random, listing))
  }
  return { ...(from <= start && toOfficeAndMemberRows(block, members)), Property, Media, Rooms, OpenHouse }
}

/**
 * The sample market: listings number `offset + 1` to `offset + listings`, with the offices and members that
 * come with them. A listing depends on its number alone: the same call gives the same bytes, and two calls
 * that follow each other the same records as one call for both. Made batch by batch, 200 listings each, so
 * that memory does not grow.
 */
export function* generateSampleBatches({
  listings,
  offset = 0,
}: {
  readonly listings: number
  readonly offset?: number
}): Generator<TableBatch> {
  const end = offset + listings
  for (let block = Math.floor(offset / LISTINGS_PER_BLOCK); block * LISTINGS_PER_BLOCK < end; block++)
    yield toBlockBatch(block, offset, end)
}
