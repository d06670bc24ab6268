import type { Batch, Row } from '../data/import/upsert.js'
import { toMediaRows, toOpenHouseRows, toRoomRows } from './extras.js'
import { toListing } from './listings.js'
import { MEMBERS_PER_OFFICE, type Member, toMember, toOffice } from './people.js'
import { Random } from './random.js'
import { toMemberRow, toOfficeRow } from './staff.js'

/**
 * Listings come in blocks, each with offices of its own: a block needs nothing but its number, so nothing is
 * kept.
 */
const LISTINGS_PER_BLOCK = 200
const OFFICES_PER_BLOCK = 5
const MEMBERS_PER_BLOCK = OFFICES_PER_BLOCK * MEMBERS_PER_OFFICE

const range = (from: number, count: number) => Array.from({ length: count }, (_, place) => from + place)

const toMembers = (block: number): readonly Member[] =>
  range(block * OFFICES_PER_BLOCK, OFFICES_PER_BLOCK).flatMap(index => {
    const office = toOffice(index)
    return range(index * MEMBERS_PER_OFFICE, MEMBERS_PER_OFFICE).map(member => toMember(member, office))
  })

function toStaff(
  block: number,
  members: readonly Member[],
): { readonly Office: readonly Row[]; readonly Member: readonly Row[] } {
  const leaders = members.filter((_, place) => place % MEMBERS_PER_OFFICE === 0)
  return {
    Office: leaders.map((leader, place) => toOfficeRow(leader.office, block * OFFICES_PER_BLOCK + place)),
    Member: members.map((member, place) => toMemberRow(member, block * MEMBERS_PER_BLOCK + place)),
  }
}

function toBatch(block: number, from: number, to: number): Batch {
  const members = toMembers(block)
  const start = block * LISTINGS_PER_BLOCK
  const Property: Row[] = []
  const Media: Row[] = []
  const Rooms: Row[] = []
  const OpenHouse: Row[] = []
  for (const index of range(
    Math.max(from, start),
    Math.min(to, start + LISTINGS_PER_BLOCK) - Math.max(from, start),
  )) {
    const random = new Random(5, index)
    const listing = toListing(random, index, {
      agent: random.pick(members),
      second: random.pick(members),
      buyer: random.pick(members),
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
  return { ...(from <= start && toStaff(block, members)), Property, Media, Rooms, OpenHouse }
}

/**
 * The sample market: listings number `offset + 1` to `offset + listings`, with the offices and members that
 * come with them. A listing depends on its number alone: the same call gives the same bytes, and two calls
 * that follow each other the same records as one call for both. Made batch by batch, 200 listings each, so
 * that memory does not grow.
 */
export function* sampleMarket({
  listings,
  offset = 0,
}: {
  readonly listings: number
  readonly offset?: number
}): Generator<Batch> {
  const end = offset + listings
  for (let block = Math.floor(offset / LISTINGS_PER_BLOCK); block * LISTINGS_PER_BLOCK < end; block++)
    yield toBatch(block, offset, end)
}
