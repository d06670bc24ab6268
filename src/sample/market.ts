import type { ImportRecord, TableRow } from '../data/import/record.js'
import { getEntity } from '../model/model.js'
import { toSampleListing } from './listings.js'
import { toMediaRows, toOpenHouseRows, toRoomRows } from './media-rooms-open-houses.js'
import { toMemberRow, toOfficeRow } from './office-member-rows.js'
import { MEMBERS_PER_OFFICE, type SampleMember, toSampleMember, toSampleOffice } from './people.js'
import { SeededRandom } from './random.js'

/**
 * Number of listings in a block. Each block has its own offices and depends only on its number, so no state
 * is needed.
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

const toRecord = (entity: string, row: TableRow, nested: readonly ImportRecord[] = []): ImportRecord => ({
  entity,
  key: String(row[getEntity(entity).key.name]),
  row,
  nested,
})

function toOfficesAndMembers(block: number, members: readonly SampleMember[]): readonly ImportRecord[] {
  const brokers = members.filter((_, index) => index % MEMBERS_PER_OFFICE === 0)
  return [
    ...brokers.map((broker, index) =>
      toRecord('Office', toOfficeRow(broker.office, block * OFFICES_PER_BLOCK + index)),
    ),
    ...members.map((member, index) =>
      toRecord('Member', toMemberRow(member, block * MEMBERS_PER_BLOCK + index)),
    ),
  ]
}

/** Returns a listing with its media, rooms and open houses. */
function toListing(index: number, members: readonly SampleMember[]): ImportRecord {
  const random = new SeededRandom(5, index)
  const listing = toSampleListing(random, index, {
    agent: random.pick(members),
    coAgent: random.pick(members),
    buyerAgent: random.pick(members),
  })
  const media = toMediaRows(random, listing)
  const PhotosCount = media.filter(item => item.MediaCategory === 'Photo').length
  return toRecord('Property', { ...listing.row, PhotosCount }, [
    ...media.map(row => toRecord('Media', row)),
    ...toRoomRows(random, listing).map(row => toRecord('Rooms', row)),
    ...toOpenHouseRows(random, listing).map(row => toRecord('OpenHouse', row)),
  ])
}

function toBlock(block: number, from: number, to: number): readonly ImportRecord[] {
  const members = toBlockMembers(block)
  const start = block * LISTINGS_PER_BLOCK
  const first = Math.max(from, start)
  const end = Math.min(to, start + LISTINGS_PER_BLOCK)
  return [
    ...(from <= start ? toOfficesAndMembers(block, members) : []),
    ...integerRange(first, end - first).map(index => toListing(index, members)),
  ]
}

/** A range of listings, from number `offset + 1` to `offset + listings`. */
export interface SampleRange {
  readonly listings: number
  readonly offset?: number
}

/**
 * Generates the sample listings `offset + 1` to `offset + listings` with their offices and members. A listing
 * depends only on its number: the same call yields the same bytes, and consecutive ranges yield the same
 * records as one call for both. Batches have 200 listings, so that memory is bounded.
 */
export function* generateSampleBatches({
  listings,
  offset = 0,
}: SampleRange): Generator<readonly ImportRecord[]> {
  const end = offset + listings
  for (let block = Math.floor(offset / LISTINGS_PER_BLOCK); block * LISTINGS_PER_BLOCK < end; block++)
    yield toBlock(block, offset, end)
}
