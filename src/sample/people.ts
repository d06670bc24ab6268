import { type City, pickCity, pickSite, type Site } from './cities-and-sites.js'
import { DAY_MS, SAMPLE_END_MS, toIsoTimestamp } from './clock.js'
import { SeededRandom } from './random.js'

export const ORIGINATING_SYSTEM_NAME = 'Inland Northwest Sample MLS'
export const MEMBERS_PER_OFFICE = 5

// biome-ignore format: words
const FIRST_NAMES = [
  'James', 'Mary', 'Zoë', 'João', 'Renée', 'Siobhán', 'Luis', 'Aisha', 'Björn', 'Olena', 'Mei', 'Nguyễn', 'Søren', 'Kateri', 'Hannah', 'Diego', 'Priya',
  'Walter', 'Chloé', 'Tomás', 'Grace', 'Kenji',
]
// biome-ignore format: words
const LAST_NAMES = [
  "O'Brien", 'Smith', 'São Pedro', 'Müller', "D'Angelo", 'Nakamura', 'García', 'Johnson', 'Tran', 'Kowalski', 'Núñez', 'Whitehorse', 'Andersen', 'Patel',
  'Ivanova', 'Brown', "O'Neill-Hayes", 'Lindqvist', 'Çelik', '山田',
]
// biome-ignore format: words
const OFFICE_NAMES = [
  'Lakeview', 'Pend Oreille', 'Northwest', "Coeur d'Alene", 'Palouse', 'Cascade', 'Treasure Valley', 'Huckleberry', 'Selkirk', 'Big Sky & Sons', 'Rainier',
  'Riverfront',
]
const OFFICE_NAME_SUFFIXES = ['Realty', 'Properties', 'Homes', 'Real Estate Group', 'Brokers', 'Land & Home']

/** The facts about an office that listings and members refer to. */
export interface SampleOffice {
  readonly key: string
  readonly mlsId: string
  readonly name: string
  readonly phone: string
  readonly site: Site
}

/** The facts about an agent that listings refer to. */
export interface SampleMember {
  readonly key: string
  readonly mlsId: string
  readonly firstName: string
  readonly lastName: string
  readonly fullName: string
  readonly office: SampleOffice
}

/** Returns a phone number from the range that is reserved for fiction (555-0100 to 555-0199). */
export const pickPhone = (random: SeededRandom, city: City): string =>
  `${city.phoneArea}-555-01${String(random.int(0, 99)).padStart(2, '0')}`

/** Converts a text to the letters and digits of an email address. Accents are removed. */
export const toSlug = (text: string): string =>
  text
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '')

/** Returns keys and numbers of an office, which follow from its index (from 0). */
export const toOfficeIds = (index: number) => ({
  key: `O${String(index + 1).padStart(7, '0')}`,
  mlsId: `OF${index + 1001}`,
})
export const toMemberIds = (index: number) => ({
  key: `M${String(index + 1).padStart(8, '0')}`,
  mlsId: `AG${index + 10001}`,
})

export function toSampleOffice(index: number): SampleOffice {
  const random = new SeededRandom(1, index)
  const site = pickSite(random, pickCity(random))
  return {
    ...toOfficeIds(index),
    name: `${random.pick(OFFICE_NAMES)} ${random.pick(OFFICE_NAME_SUFFIXES)}`,
    phone: pickPhone(random, site.city),
    site,
  }
}

export function toSampleMember(index: number, office: SampleOffice): SampleMember {
  const random = new SeededRandom(2, index)
  const firstName = random.pick(FIRST_NAMES)
  const lastName = random.pick(LAST_NAMES)
  return { ...toMemberIds(index), firstName, lastName, fullName: `${firstName} ${lastName}`, office }
}

/** Returns the association of an area, to which offices and members belong. */
export const toAssociation = ({ area, phoneArea }: City) => ({
  name: `${area} REALTORS`,
  mlsId: `AOR${phoneArea}`,
  key: `A-${toSlug(area)}`,
})

/** Members and offices change rarely: at some time in the three years before the end of the sample. */
export function pickTimestamps(random: SeededRandom): {
  readonly OriginalEntryTimestamp: string
  readonly ModificationTimestamp: string
} {
  const modified = SAMPLE_END_MS - Math.floor(random.between(1, 1000) * DAY_MS)
  return {
    OriginalEntryTimestamp: toIsoTimestamp(modified - Math.floor(random.between(0, 3000) * DAY_MS)),
    ModificationTimestamp: toIsoTimestamp(modified),
  }
}
