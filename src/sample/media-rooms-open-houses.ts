import type { TableRow } from '../data/import/record.js'
import { DAY_MS, HOUR_MS, MINUTE_MS, SAMPLE_END_MS, toIsoDate, toIsoTimestamp } from './clock.js'
import type { SampleListing } from './listings.js'
import { LOOKUP_CHOICES } from './lookup-choices.js'
import { ORIGINATING_SYSTEM_NAME } from './people.js'
import type { SeededRandom } from './random.js'

// biome-ignore format: words
const PHOTO_SUBJECTS = ['Front of Structure', 'Living Room', 'Kitchen', 'Master Bedroom', 'Bathroom', 'Dining Room', 'Bedroom', 'Yard', 'View', 'Garage', 'Laundry']

const toChildKey = (listing: SampleListing, letter: string, number: number) =>
  `${listing.key}-${letter}${String(number).padStart(2, '0')}`

function toMediaRow(random: SeededRandom, listing: SampleListing, number: number, isLast: boolean): TableRow {
  const key = toChildKey(listing, 'M', number)
  const isFloorPlan = isLast && number > 3 && random.chance(0.3)
  const isPortrait = random.chance(0.15)
  const isPng = isFloorPlan || random.chance(0.1)
  const changed = Math.floor(random.between(listing.timeline.entered, listing.timeline.modified))
  const imageOf = isFloorPlan ? 'Floor Plan' : (PHOTO_SUBJECTS[number - 1] ?? random.pick(PHOTO_SUBJECTS))
  return {
    MediaKey: key,
    ResourceName: 'Property',
    ResourceRecordKey: listing.key,
    ResourceRecordID: listing.id,
    MediaObjectID: `${listing.id}-${number}`,
    MediaURL: `https://media.example.com/${listing.key}/${number}.${isPng ? 'png' : 'jpg'}`,
    MediaType: isPng ? 'image/png' : 'image/jpeg',
    MediaCategory: isFloorPlan ? 'Floor Plan' : 'Photo',
    MediaStatus: 'Complete',
    MediaModificationTimestamp: toIsoTimestamp(changed),
    ModificationTimestamp: toIsoTimestamp(changed),
    Order: number,
    PreferredPhotoYN: number === 1,
    ShortDescription: random.orNull(0.4, imageOf),
    LongDescription: random.orNull(0.8, `${imageOf}, as seen by "João’s Photos"`),
    ImageHeight: isPortrait ? 1536 : 1024,
    ImageWidth: isPortrait ? 1024 : 1536,
    ImageSizeDescription: 'Large',
    ImageOf: imageOf,
    Permission: random.chance(0.9) ? ['Public'] : random.pickSubset(['IDX', 'VOW', 'Office Only'], 1, 2),
    MediaHTML: null,
    OriginatingSystemName: ORIGINATING_SYSTEM_NAME,
    OriginatingSystemMediaKey: key,
  }
}

/** Returns three to twelve photos, and none for one listing in thirty. */
export function toMediaRows(random: SeededRandom, listing: SampleListing): readonly TableRow[] {
  const count = random.chance(1 / 30) ? 0 : random.int(3, 12)
  return Array.from({ length: count }, (_, index) =>
    toMediaRow(random, listing, index + 1, index === count - 1),
  )
}

// biome-ignore format: words
const ROOM_TYPES = [
  'Kitchen', 'Living Room', 'Master Bedroom', 'Bathroom', 'Bedroom 2', 'Bedroom 3', 'Dining Room', 'Laundry', 'Family Room', 'Office', 'Bonus Room', 'Den',
]

function toRoomRow(random: SeededRandom, listing: SampleListing, type: string, number: number): TableRow {
  const length = random.int(14, 44) / 2
  const width = random.int(12, 36) / 2
  const isMeasured = random.chance(0.8)
  return {
    RoomKey: toChildKey(listing, 'R', number),
    ListingKey: listing.key,
    ListingId: listing.id,
    RoomType: type,
    RoomLevel: random.pickWeighted(['Main', 'Second', 'First', 'Upper', 'Lower', 'Basement', 'Third']),
    RoomDescription: random.orNull(
      0.7,
      `${type} with ${random.pick(["10' ceilings", 'a view', 'built-ins & "nook"', 'new paint'])}`,
    ),
    RoomFeatures: random.pickSubset(LOOKUP_CHOICES.InteriorFeatures, 0, 3),
    RoomDimensions: isMeasured ? `${length} x ${width}` : null,
    RoomLength: isMeasured ? length : null,
    RoomWidth: isMeasured ? width : null,
    RoomLengthWidthUnits: isMeasured ? 'Feet' : null,
    RoomLengthWidthSource: isMeasured
      ? random.pickWeighted(['Measured', 'Estimated', 'Owner', 'Builder'])
      : null,
    RoomArea: isMeasured ? length * width : null,
    RoomAreaUnits: isMeasured ? 'Square Feet' : null,
    RoomAreaSource: isMeasured ? random.pickWeighted(['Estimated', 'Owner', 'Assessor']) : null,
    BedroomClosetType: type.includes('Bedroom')
      ? random.pick(['Walk-in Closet', 'Built-in Closet', 'None'])
      : null,
    ModificationTimestamp: toIsoTimestamp(listing.timeline.modified),
  }
}

/** Returns three to ten rooms, and none for bare land and for one building in forty. */
export function toRoomRows(random: SeededRandom, listing: SampleListing): readonly TableRow[] {
  if (listing.building.livingArea === 0 || random.chance(1 / 40)) return []
  const count = Math.min(10, Math.max(3, listing.building.bedrooms + random.int(1, 4)))
  return ROOM_TYPES.slice(0, count).map((type, index) => toRoomRow(random, listing, type, index + 1))
}

function toOpenHouseRow(random: SeededRandom, listing: SampleListing, number: number): TableRow {
  const { modified, entered } = listing.timeline
  const day = Math.floor((SAMPLE_END_MS + random.int(-10, 20) * DAY_MS) / DAY_MS) * DAY_MS
  const start = day + random.int(16, 21) * HOUR_MS + random.pick([0, 30]) * MINUTE_MS
  const key = toChildKey(listing, 'H', number)
  const isLivestream = random.chance(0.1)
  return {
    OpenHouseKey: key,
    OpenHouseId: `${listing.id}-${number}`,
    ListingKey: listing.key,
    ListingId: listing.id,
    OpenHouseDate: toIsoDate(day),
    OpenHouseStartTime: toIsoTimestamp(start),
    OpenHouseEndTime: toIsoTimestamp(start + random.int(2, 6) * 30 * MINUTE_MS),
    OpenHouseStatus: day < SAMPLE_END_MS ? 'Ended' : random.chance(0.08) ? 'Canceled' : 'Active',
    OpenHouseType: isLivestream ? 'Livestream Public' : random.pickWeighted(['Public', 'Broker', 'Office']),
    OpenHouseRemarks: random.orNull(0.5, "Don't forget: shoes off, please!"),
    OpenHouseAttendedBy: random.pickWeighted(['Agent', 'Seller', 'Unattended']),
    AppointmentRequiredYN: random.chance(0.1),
    Refreshments: random.orNull(0.6, random.pick(['Coffee & crêpes', 'Huckleberry pie', 'Lemonade'])),
    LivestreamOpenHouseURL: isLivestream ? `https://live.example.com/${key}` : null,
    ShowingAgentKey: listing.agent.key,
    ShowingAgentFirstName: listing.agent.firstName,
    ShowingAgentLastName: listing.agent.lastName,
    OriginalEntryTimestamp: toIsoTimestamp(Math.floor(random.between(entered, modified))),
    ModificationTimestamp: toIsoTimestamp(modified),
    OriginatingSystemName: ORIGINATING_SYSTEM_NAME,
    OriginatingSystemKey: key,
  }
}

/** Returns one or two open houses for three of ten active listings, in the past or in the future. */
export function toOpenHouseRows(random: SeededRandom, listing: SampleListing): readonly TableRow[] {
  if (listing.timeline.status !== 'Active' || !random.chance(0.3)) return []
  return Array.from({ length: random.int(1, 2) }, (_, index) => toOpenHouseRow(random, listing, index + 1))
}
