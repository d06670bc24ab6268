import { ANCHOR, DAY, toTimestamp } from './clock.js'
import { type City, pickCity, pickSite, type Site } from './places.js'
import { Random } from './random.js'

export const SYSTEM_NAME = 'Inland Northwest Sample MLS'
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
const OFFICE_KINDS = ['Realty', 'Properties', 'Homes', 'Real Estate Group', 'Brokers', 'Land & Home']

/** An office as listings and members name it. */
export interface Office {
  readonly key: string
  readonly mlsId: string
  readonly name: string
  readonly phone: string
  readonly site: Site
}

/** An agent as listings name it. */
export interface Member {
  readonly key: string
  readonly mlsId: string
  readonly firstName: string
  readonly lastName: string
  readonly fullName: string
  readonly office: Office
}

/** A number of the range that is kept for made-up phones (555-0100 to 555-0199). */
export const pickPhone = (random: Random, city: City): string =>
  `${city.phoneArea}-555-01${String(random.int(0, 99)).padStart(2, '0')}`

/** Letters and digits that fit in an address: accents go. */
export const toSlug = (text: string): string =>
  text
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '')

/** Keys and numbers of offices and members follow from their index (from 0). */
export const toOfficeIds = (index: number) => ({
  key: `O${String(index + 1).padStart(7, '0')}`,
  mlsId: `OF${index + 1001}`,
})
export const toMemberIds = (index: number) => ({
  key: `M${String(index + 1).padStart(8, '0')}`,
  mlsId: `AG${index + 10001}`,
})

export function toOffice(index: number): Office {
  const random = new Random(1, index)
  const site = pickSite(random, pickCity(random))
  return {
    ...toOfficeIds(index),
    name: `${random.pick(OFFICE_NAMES)} ${random.pick(OFFICE_KINDS)}`,
    phone: pickPhone(random, site.city),
    site,
  }
}

export function toMember(index: number, office: Office): Member {
  const random = new Random(2, index)
  const firstName = random.pick(FIRST_NAMES)
  const lastName = random.pick(LAST_NAMES)
  return { ...toMemberIds(index), firstName, lastName, fullName: `${firstName} ${lastName}`, office }
}

/** The board of the area that an office and its members belong to. */
export const toBoard = ({ area, phoneArea }: City) => ({
  name: `${area} REALTORS`,
  mlsId: `AOR${phoneArea}`,
  key: `A-${toSlug(area)}`,
})

/** People change seldom: some day in the three years before the end of the sample. */
export function pickTimes(random: Random): {
  readonly OriginalEntryTimestamp: string
  readonly ModificationTimestamp: string
} {
  const modified = ANCHOR - Math.floor(random.between(1, 1000) * DAY)
  return {
    OriginalEntryTimestamp: toTimestamp(modified - Math.floor(random.between(0, 3000) * DAY)),
    ModificationTimestamp: toTimestamp(modified),
  }
}
