import { pickCity, toListing } from './listing.mjs'
import {
  DAY,
  END,
  listingKey,
  MEMBERS,
  mediaCount,
  memberKey,
  memberName,
  OFFICES,
  officeKey,
  officeName,
  pad,
  phone,
  timestamp,
} from './people.mjs'
import { begin, chance, int, maybe, pick } from './random.mjs'

// Rows of the benchmark as objects by column. A missing column is null.

const lately = () => timestamp(END - int(1, 900) * DAY)

function toOffice(i) {
  begin(1, i)
  const { name, state } = pickCity()
  return { OfficeKey: officeKey(i), OfficeMlsId: `OM${i + 1}`, OfficeName: officeName(i), OfficePhone: phone(), OfficeCity: name, OfficeStateOrProvince: state, OfficePostalCode: pad(int(10000, 99999), 5), ModificationTimestamp: lately(), OriginatingSystemName: 'BENCH' } // biome-ignore format: one row
}

function toMember(i) {
  const [first, last] = memberName(i)
  begin(3, i)
  const office = i % OFFICES
  return {
    MemberKey: memberKey(i), MemberMlsId: `MM${i + 1}`, MemberFirstName: first, MemberLastName: last, MemberFullName: `${first} ${last}`,
    MemberStatus: chance(0.94) ? 'Active' : 'Inactive', MemberType: pick(['REALTOR Salesperson', 'MLS Only Broker', 'REALTOR Broker Associate']),
    MemberEmail: `agent${i + 1}@example.com`, MemberDirectPhone: phone(), OfficeKey: officeKey(office), OfficeName: officeName(office),
    ModificationTimestamp: lately(), OriginatingSystemName: 'BENCH',
  } // biome-ignore format: one row
}

function* toMedia(i) {
  const count = mediaCount(i)
  const key = listingKey(i)
  const start = END - int(1, 3600) * DAY + int(0, DAY)
  for (let order = 1; order <= count; order++) {
    const at = timestamp(start + order * 1003)
    yield {
      MediaKey: `${key}-${pad(order, 2)}`, ResourceName: 'Property', ResourceRecordKey: key, PropertyKey: key, MediaURL: `https://media.example.com/listings/${key}/${order}-${int(1e8, 9e8).toString(36)}.jpg`,
      MediaType: 'image/jpeg', MediaCategory: 'Photo', MediaModificationTimestamp: at, ModificationTimestamp: at, Order: order, PreferredPhotoYN: order === 1,
      ShortDescription: pick(['Front of structure', 'Kitchen', 'Living room', 'Bedroom', 'Back yard', 'Bathroom']), ImageHeight: 768, ImageWidth: 1024,
      ImageOf: pick(['Front of Structure', 'Kitchen', 'Living Room', 'Bedroom', 'Yard']),
    } // biome-ignore format: one row
  }
}

const ROOM_TYPES = ['Kitchen', 'Living Room', 'Primary Bedroom', 'Bedroom 2', 'Dining Room', 'Office']

function* toRooms(i) {
  begin(6, i)
  const count = int(0, 6)
  const at = timestamp(END - int(1, 3600) * DAY + int(0, DAY))
  for (let n = 0; n < count; n++) {
    const [length, width] = [int(8, 24), int(7, 20)]
    yield {
      RoomKey: `${listingKey(i)}-R${n + 1}`, ListingKey: listingKey(i), RoomType: ROOM_TYPES[n], RoomLevel: pick(['Main', 'Upper', 'Lower']),
      RoomDescription: maybe(0.3, () => 'Bright room with large windows'), RoomFeatures: chance(0.4) ? '{"Ceiling Fan(s)"}' : '{}', RoomDimensions: `${length} x ${width}`,
      RoomLength: length.toFixed(2), RoomWidth: width.toFixed(2), RoomLengthWidthUnits: 'Feet', RoomArea: (length * width).toFixed(2), RoomAreaUnits: 'Square Feet',
      ModificationTimestamp: at,
    } // biome-ignore format: one row
  }
}

const MAKERS = { Office: toOffice, Member: toMember, Property: toListing, Media: toMedia, Rooms: toRooms }

/** Returns the number of rows of a table. Number ranges include the first and exclude the last. */
export const countOf = (table, listings) => ({ Office: OFFICES, Member: MEMBERS })[table] ?? listings

/**
 * Generates all rows of a number before yielding any, because the consumer may use the same random state for
 * another table.
 */
function* each(table, from, to) {
  for (let i = from; i < to; i++) {
    const made = MAKERS[table](i)
    if (Symbol.iterator in made) yield* [...made]
    else yield made
  }
}

const NULL = String.raw`\N`
// Few values contain a backslash. Checking first halves the time of a load.
const toCopy = value =>
  typeof value === 'string' && value.includes('\\') ? value.replaceAll('\\', String.raw`\\`) : (value ?? NULL)

/** Renders a row in the text format of COPY. */
export const toCopyLine = (row, columns) => `${columns.map(name => toCopy(row[name])).join('\t')}\n`

const PIECE = 2 ** 18

/** Renders a part of a table in the text format of COPY, in chunks of 256 KB. */
export function* toCopyText(table, columns, { from, to }) {
  let text = ''
  for (const row of each(table, from, to)) {
    text += toCopyLine(row, columns)
    if (text.length <= PIECE) continue
    yield text
    text = ''
  }
  yield text
}
