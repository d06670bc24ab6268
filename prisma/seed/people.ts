import type { Row } from '../../src/data/load.js'
import { CHOICES } from './choices.js'
import { ANCHOR, DAY, toTimestamp } from './clock.js'
import { type City, pickCity, pickSite, renderStreet, type Site } from './places.js'
import { Random } from './random.js'

export const SYSTEM_NAME = 'Inland Northwest Sample MLS'
export const MEMBERS_PER_OFFICE = 5

const FIRST_NAMES = ['James', 'Mary', 'Zoë', 'João', 'Renée', 'Siobhán', 'Luis', 'Aisha', 'Björn', 'Olena', 'Mei', 'Nguyễn', 'Søren', 'Kateri', 'Hannah', 'Diego', 'Priya', 'Walter', 'Chloé', 'Tomás', 'Grace', 'Kenji']
const LAST_NAMES = ["O'Brien", 'Smith', 'São Pedro', 'Müller', "D'Angelo", 'Nakamura', 'García', 'Johnson', 'Tran', 'Kowalski', 'Núñez', 'Whitehorse', 'Andersen', 'Patel', 'Ivanova', 'Brown', "O'Neill-Hayes", 'Lindqvist', 'Çelik', '山田']
const OFFICE_NAMES = ['Lakeview', 'Pend Oreille', 'Northwest', "Coeur d'Alene", 'Palouse', 'Cascade', 'Treasure Valley', 'Huckleberry', 'Selkirk', 'Big Sky & Sons', 'Rainier', 'Riverfront']
const OFFICE_KINDS = ['Realty', 'Properties', 'Homes', 'Real Estate Group', 'Brokers', 'Land & Home']

/** An office as listings and members name it. `index` counts from 0. */
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

/** Numbers of the range that is kept for made-up phones (555-0100 to 555-0199). */
const pickPhone = (random: Random, city: City) => `${city.phoneArea}-555-01${String(random.int(0, 99)).padStart(2, '0')}`

const toSlug = (text: string) => text.normalize('NFD').toLowerCase().replace(/[^a-z0-9]+/g, '')

const toOfficeKey = (index: number) => `O${String(index + 1).padStart(7, '0')}`
const toMemberKey = (index: number) => `M${String(index + 1).padStart(8, '0')}`

export function toOffice(index: number): Office {
  const random = new Random(1, index)
  const site = pickSite(random, pickCity(random))
  const name = `${random.pick(OFFICE_NAMES)} ${random.pick(OFFICE_KINDS)}`
  return { key: toOfficeKey(index), mlsId: `OF${index + 1001}`, name, phone: pickPhone(random, site.city), site }
}

export function toMember(index: number, office: Office): Member {
  const random = new Random(2, index)
  const firstName = random.pick(FIRST_NAMES)
  const lastName = random.pick(LAST_NAMES)
  return { key: toMemberKey(index), mlsId: `AG${index + 10001}`, firstName, lastName, fullName: `${firstName} ${lastName}`, office }
}

/** People change seldom: some day in the three years before the end of the sample. */
const pickTimes = (random: Random) => {
  const modified = ANCHOR - Math.floor(random.between(1, 1000) * DAY)
  return { OriginalEntryTimestamp: toTimestamp(modified - Math.floor(random.between(0, 3000) * DAY)), ModificationTimestamp: toTimestamp(modified) }
}

/** The record of an office, the one with that index; its broker is the first of its members. */
export function toOfficeRow({ key, mlsId, name, phone, site }: Office, index: number): Row {
  const random = new Random(3, index)
  const { city, postalCode } = site
  const first = index * MEMBERS_PER_OFFICE
  const branch = index % 5 === 4
  return {
    OfficeKey: key, OfficeMlsId: mlsId, OfficeName: name, OfficeStatus: random.chance(0.03) ? 'Inactive' : 'Active',
    OfficeType: branch ? 'Realtor Branch Office' : 'Realtor Firm', OfficeBranchType: branch ? 'Branch' : random.pick(['Main', 'Stand Alone']),
    OfficeAOR: `${city.area} REALTORS`, OfficeAORMlsId: `AOR${city.phoneArea}`, OfficeAORkey: `A-${toSlug(city.area)}`,
    OfficePhone: phone, OfficePhoneExt: random.maybe(0.7, String(random.int(1, 99))), OfficeFax: random.maybe(0.5, pickPhone(random, city)),
    OfficeEmail: `office@${toSlug(name)}.example.com`, OfficeAddress1: renderStreet(site), OfficeAddress2: random.maybe(0.6, `Suite ${random.int(100, 450)}`),
    OfficeCity: city.name, OfficeCountyOrParish: city.county, OfficeStateOrProvince: city.state, OfficePostalCode: postalCode,
    OfficePostalCodePlus4: random.maybe(0.6, String(random.int(1000, 9999))), OfficeCountry: 'US', OfficeMailAddress1: random.maybe(0.5, `PO Box ${random.int(10, 9000)}`),
    OfficeMailCity: city.name, OfficeMailStateOrProvince: city.state, OfficeMailPostalCode: postalCode, OfficeCorporateLicense: `${city.state}-${random.int(10000, 99999)}`,
    OfficeNationalAssociationId: String(random.int(800000000, 899999999)), OfficeBrokerKey: toMemberKey(first), OfficeBrokerMlsId: `AG${first + 10001}`,
    OfficeManagerKey: toMemberKey(first + 1), OfficeManagerMlsId: `AG${first + 10002}`, MainOfficeKey: toOfficeKey(branch ? index - 4 : index),
    MainOfficeMlsId: `OF${(branch ? index - 4 : index) + 1001}`, FranchiseAffiliation: random.maybe(0.7, 'Example Homes International'),
    IDXOfficeParticipationYN: random.chance(0.92), SyndicateTo: random.pickSome(CHOICES.SyndicateTo, 0, 4),
    OfficeBio: random.maybe(0.4, `${name} has sold homes in ${city.name} since ${random.int(1948, 2019)}.`), ...pickTimes(random),
    OriginatingSystemName: SYSTEM_NAME, OriginatingSystemOfficeKey: mlsId,
  }
}

/** The record of the member with that index. */
export function toMemberRow({ key, mlsId, firstName, lastName, fullName, office }: Member, index: number): Row {
  const random = new Random(4, index)
  const { city, postalCode } = office.site
  const mobile = pickPhone(random, city)
  const middle = random.maybe(0.7, random.pick(['A.', 'Lee', 'Ann', 'J.', 'Marie']))
  const broker = index % MEMBERS_PER_OFFICE === 0
  return {
    MemberKey: key, MemberMlsId: mlsId, MemberLoginId: mlsId.toLowerCase(), MemberFirstName: firstName, MemberMiddleName: middle, MemberLastName: lastName,
    MemberFullName: fullName, MemberNickname: random.maybe(0.85, firstName.slice(0, 3)), MemberNamePrefix: random.maybe(0.8, random.pick(['Ms.', 'Mr.', 'Dr.'])),
    MemberNameSuffix: random.maybe(0.95, random.pick(['Jr.', 'III'])), MemberStatus: random.chance(0.04) ? 'Inactive' : 'Active',
    MemberType: broker ? 'Designated REALTOR Participant' : random.pickUsual(['REALTOR Salesperson', 'REALTOR Broker Associate', 'Licensed Assistant', 'MLS Only Salesperson']),
    MemberAOR: `${city.area} REALTORS`, MemberAORMlsId: `AOR${city.phoneArea}`, MemberAORkey: `A-${toSlug(city.area)}`, MemberMlsAccessYN: random.chance(0.97),
    MemberMlsSecurityClass: broker ? 'Broker' : 'Agent', MemberEmail: `${toSlug(firstName)}.${toSlug(lastName) || 'agent'}.${mlsId.toLowerCase()}@example.com`,
    MemberDirectPhone: random.maybe(0.3, pickPhone(random, city)), MemberMobilePhone: mobile, MemberOfficePhone: office.phone, MemberPreferredPhone: mobile,
    MemberFax: random.maybe(0.8, pickPhone(random, city)), MemberAddress1: random.maybe(0.3, renderStreet(office.site)), MemberAddress2: null,
    MemberCity: city.name, MemberStateOrProvince: city.state, MemberPostalCode: postalCode, MemberCountry: 'US',
    MemberStateLicense: `${city.state}${random.int(100000, 999999)}`, MemberStateLicenseState: city.state,
    MemberNationalAssociationId: String(random.int(100000000, 999999999)), MemberDesignation: random.pickSome(CHOICES.MemberDesignation, 0, 3),
    MemberLanguages: random.chance(0.6) ? ['English'] : random.pickSome(CHOICES.Languages, 1, 3),
    MemberBio: random.maybe(0.5, `${firstName} knows ${city.name} like no one else: "born here, stayed here".`),
    JobTitle: broker ? 'Designated Broker' : random.maybe(0.3, 'Agent'), OfficeKey: office.key, OfficeMlsId: office.mlsId, OfficeName: office.name,
    ...pickTimes(random), OriginatingSystemName: SYSTEM_NAME, OriginatingSystemMemberKey: mlsId,
  }
}
