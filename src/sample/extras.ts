import type { Row } from '../data/import/upsert.js'
import { CHOICES } from './choices.js'
import { ANCHOR, DAY, HOUR, MINUTE, toDate, toTimestamp } from './clock.js'
import type { Listing } from './listings.js'
import { SYSTEM_NAME } from './people.js'
import type { Random } from './random.js'

// biome-ignore format: words
const PHOTOS = ['Front of Structure', 'Living Room', 'Kitchen', 'Master Bedroom', 'Bathroom', 'Dining Room', 'Bedroom', 'Yard', 'View', 'Garage', 'Laundry']

const toItemKey = (listing: Listing, letter: string, number: number) =>
  `${listing.key}-${letter}${String(number).padStart(2, '0')}`

function toMediaRow(random: Random, listing: Listing, number: number, last: boolean): Row {
  const key = toItemKey(listing, 'M', number)
  const plan = last && number > 3 && random.chance(0.3)
  const portrait = random.chance(0.15)
  const png = plan || random.chance(0.1)
  const changed = Math.floor(random.between(listing.timeline.entered, listing.timeline.modified))
  const imageOf = plan ? 'Floor Plan' : (PHOTOS[number - 1] ?? random.pick(PHOTOS))
  return {
    MediaKey: key,
    ResourceName: 'Property',
    ResourceRecordKey: listing.key,
    ResourceRecordID: listing.id,
    MediaObjectID: `${listing.id}-${number}`,
    MediaURL: `https://media.example.com/${listing.key}/${number}.${png ? 'png' : 'jpg'}`,
    MediaType: png ? 'image/png' : 'image/jpeg',
    MediaCategory: plan ? 'Floor Plan' : 'Photo',
    MediaStatus: 'Complete',
    MediaModificationTimestamp: toTimestamp(changed),
    ModificationTimestamp: toTimestamp(changed),
    Order: number,
    PreferredPhotoYN: number === 1,
    ShortDescription: random.maybe(0.4, imageOf),
    LongDescription: random.maybe(0.8, `${imageOf}, as seen by "João’s Photos"`),
    ImageHeight: portrait ? 1536 : 1024,
    ImageWidth: portrait ? 1024 : 1536,
    ImageSizeDescription: 'Large',
    ImageOf: imageOf,
    Permission: random.chance(0.9) ? ['Public'] : random.pickSome(['IDX', 'VOW', 'Office Only'], 1, 2),
    MediaHTML: null,
    OriginatingSystemName: SYSTEM_NAME,
    OriginatingSystemMediaKey: key,
  }
}

/** Three to twelve pictures, none for one listing in thirty. */
export function toMediaRows(random: Random, listing: Listing): readonly Row[] {
  const count = random.chance(1 / 30) ? 0 : random.int(3, 12)
  return Array.from({ length: count }, (_, place) =>
    toMediaRow(random, listing, place + 1, place === count - 1),
  )
}

// biome-ignore format: words
const ROOMS = [
  'Kitchen', 'Living Room', 'Master Bedroom', 'Bathroom', 'Bedroom 2', 'Bedroom 3', 'Dining Room', 'Laundry', 'Family Room', 'Office', 'Bonus Room', 'Den',
]

function toRoomRow(random: Random, listing: Listing, type: string, number: number): Row {
  const length = random.int(14, 44) / 2
  const width = random.int(12, 36) / 2
  const measured = random.chance(0.8)
  return {
    RoomKey: toItemKey(listing, 'R', number),
    ListingKey: listing.key,
    ListingId: listing.id,
    RoomType: type,
    RoomLevel: random.pickUsual(['Main', 'Second', 'First', 'Upper', 'Lower', 'Basement', 'Third']),
    RoomDescription: random.maybe(
      0.7,
      `${type} with ${random.pick(["10' ceilings", 'a view', 'built-ins & "nook"', 'new paint'])}`,
    ),
    RoomFeatures: random.pickSome(CHOICES.InteriorFeatures, 0, 3),
    RoomDimensions: measured ? `${length} x ${width}` : null,
    RoomLength: measured ? length : null,
    RoomWidth: measured ? width : null,
    RoomLengthWidthUnits: measured ? 'Feet' : null,
    RoomLengthWidthSource: measured ? random.pickUsual(['Measured', 'Estimated', 'Owner', 'Builder']) : null,
    RoomArea: measured ? length * width : null,
    RoomAreaUnits: measured ? 'Square Feet' : null,
    RoomAreaSource: measured ? random.pickUsual(['Estimated', 'Owner', 'Assessor']) : null,
    BedroomClosetType: type.includes('Bedroom')
      ? random.pick(['Walk-in Closet', 'Built-in Closet', 'None'])
      : null,
    ModificationTimestamp: toTimestamp(listing.timeline.modified),
  }
}

/** Three to ten rooms; none on bare land and in one building of forty. */
export function toRoomRows(random: Random, listing: Listing): readonly Row[] {
  if (listing.building.livingArea === 0 || random.chance(1 / 40)) return []
  const count = Math.min(10, Math.max(3, listing.building.bedrooms + random.int(1, 4)))
  return ROOMS.slice(0, count).map((type, place) => toRoomRow(random, listing, type, place + 1))
}

function toOpenHouseRow(random: Random, listing: Listing, number: number): Row {
  const { modified, entered } = listing.timeline
  const day = Math.floor((ANCHOR + random.int(-10, 20) * DAY) / DAY) * DAY
  const start = day + random.int(16, 21) * HOUR + random.pick([0, 30]) * MINUTE
  const key = toItemKey(listing, 'H', number)
  const livestream = random.chance(0.1)
  return {
    OpenHouseKey: key,
    OpenHouseId: `${listing.id}-${number}`,
    ListingKey: listing.key,
    ListingId: listing.id,
    OpenHouseDate: toDate(day),
    OpenHouseStartTime: toTimestamp(start),
    OpenHouseEndTime: toTimestamp(start + random.int(2, 6) * 30 * MINUTE),
    OpenHouseStatus: day < ANCHOR ? 'Ended' : random.chance(0.08) ? 'Canceled' : 'Active',
    OpenHouseType: livestream ? 'Livestream Public' : random.pickUsual(['Public', 'Broker', 'Office']),
    OpenHouseRemarks: random.maybe(0.5, "Don't forget: shoes off, please!"),
    OpenHouseAttendedBy: random.pickUsual(['Agent', 'Seller', 'Unattended']),
    AppointmentRequiredYN: random.chance(0.1),
    Refreshments: random.maybe(0.6, random.pick(['Coffee & crêpes', 'Huckleberry pie', 'Lemonade'])),
    LivestreamOpenHouseURL: livestream ? `https://live.example.com/${key}` : null,
    ShowingAgentKey: listing.agent.key,
    ShowingAgentFirstName: listing.agent.firstName,
    ShowingAgentLastName: listing.agent.lastName,
    OriginalEntryTimestamp: toTimestamp(Math.floor(random.between(entered, modified))),
    ModificationTimestamp: toTimestamp(modified),
    OriginatingSystemName: SYSTEM_NAME,
    OriginatingSystemKey: key,
  }
}

/** One or two open houses for three of ten active listings, some past, some to come. */
export function toOpenHouseRows(random: Random, listing: Listing): readonly Row[] {
  if (listing.timeline.status !== 'Active' || !random.chance(0.3)) return []
  return Array.from({ length: random.int(1, 2) }, (_, place) => toOpenHouseRow(random, listing, place + 1))
}
