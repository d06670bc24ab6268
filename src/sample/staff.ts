import type { Row } from '../data/import/upsert.js'
import { CHOICES } from './choices.js'
import {
  MEMBERS_PER_OFFICE,
  type Member,
  type Office,
  pickPhone,
  pickTimes,
  SYSTEM_NAME,
  toBoard,
  toMemberIds,
  toOfficeIds,
  toSlug,
} from './people.js'
import { renderStreet } from './places.js'
import { Random } from './random.js'

function toOfficeAddress(random: Random, { name, phone, site }: Office): Row {
  const { city, postalCode } = site
  return {
    OfficePhone: phone,
    OfficePhoneExt: random.maybe(0.7, String(random.int(1, 99))),
    OfficeFax: random.maybe(0.5, pickPhone(random, city)),
    OfficeEmail: `office@${toSlug(name)}.example.com`,
    OfficeAddress1: renderStreet(site),
    OfficeAddress2: random.maybe(0.6, `Suite ${random.int(100, 450)}`),
    OfficeCity: city.name,
    OfficeCountyOrParish: city.county,
    OfficeStateOrProvince: city.state,
    OfficePostalCode: postalCode,
    OfficePostalCodePlus4: random.maybe(0.6, String(random.int(1000, 9999))),
    OfficeCountry: 'US',
    OfficeMailAddress1: random.maybe(0.5, `PO Box ${random.int(10, 9000)}`),
    OfficeMailCity: city.name,
    OfficeMailStateOrProvince: city.state,
    OfficeMailPostalCode: postalCode,
  }
}

/**
 * Every fifth office is a branch of the first of its five. The broker is the first of the members, the
 * manager the second.
 */
function toOfficeLeaders(index: number): Row {
  const branch = index % 5 === 4
  const main = toOfficeIds(branch ? index - 4 : index)
  const broker = toMemberIds(index * MEMBERS_PER_OFFICE)
  const manager = toMemberIds(index * MEMBERS_PER_OFFICE + 1)
  return {
    OfficeType: branch ? 'Realtor Branch Office' : 'Realtor Firm',
    OfficeBranchType: branch ? 'Branch' : index % 5 === 0 ? 'Main' : 'Stand Alone',
    OfficeBrokerKey: broker.key,
    OfficeBrokerMlsId: broker.mlsId,
    OfficeManagerKey: manager.key,
    OfficeManagerMlsId: manager.mlsId,
    MainOfficeKey: main.key,
    MainOfficeMlsId: main.mlsId,
  }
}

/** The record of the office with that index (from 0). */
export function toOfficeRow(office: Office, index: number): Row {
  const random = new Random(3, index)
  const { key, mlsId, name, site } = office
  const board = toBoard(site.city)
  return {
    OfficeKey: key,
    OfficeMlsId: mlsId,
    OfficeName: name,
    OfficeStatus: random.chance(0.03) ? 'Inactive' : 'Active',
    OfficeAOR: board.name,
    OfficeAORMlsId: board.mlsId,
    OfficeAORkey: board.key,
    ...toOfficeAddress(random, office),
    ...toOfficeLeaders(index),
    OfficeCorporateLicense: `${site.city.state}-${random.int(10000, 99999)}`,
    OfficeNationalAssociationId: String(random.int(800000000, 899999999)),
    FranchiseAffiliation: random.maybe(0.7, 'Example Homes International'),
    IDXOfficeParticipationYN: random.chance(0.92),
    SyndicateTo: random.pickSome(CHOICES.SyndicateTo, 0, 4),
    OfficeBio: random.maybe(
      0.4,
      `${name} has sold homes in ${site.city.name} since ${random.int(1948, 2019)}.`,
    ),
    ...pickTimes(random),
    OriginatingSystemName: SYSTEM_NAME,
    OriginatingSystemOfficeKey: mlsId,
  }
}

function toMemberName(random: Random, { key, mlsId, firstName, lastName, fullName }: Member): Row {
  return {
    MemberKey: key,
    MemberMlsId: mlsId,
    MemberLoginId: mlsId.toLowerCase(),
    MemberFirstName: firstName,
    MemberMiddleName: random.maybe(0.7, random.pick(['A.', 'Lee', 'Ann', 'J.', 'Marie'])),
    MemberLastName: lastName,
    MemberFullName: fullName,
    MemberNickname: random.maybe(0.85, firstName.slice(0, 3)),
    MemberNamePrefix: random.maybe(0.8, random.pick(['Ms.', 'Mr.', 'Dr.'])),
    MemberNameSuffix: random.maybe(0.95, random.pick(['Jr.', 'III'])),
    // The key tells apart those who share a name; a name in another script leaves nothing that fits in an
    // address.
    MemberEmail: `${toSlug(firstName)}.${toSlug(lastName) || 'agent'}.${mlsId.toLowerCase()}@example.com`,
  }
}

function toMemberAddress(random: Random, { office }: Member): Row {
  const { city, postalCode } = office.site
  const mobile = pickPhone(random, city)
  return {
    MemberDirectPhone: random.maybe(0.3, pickPhone(random, city)),
    MemberMobilePhone: mobile,
    MemberOfficePhone: office.phone,
    MemberPreferredPhone: mobile,
    MemberFax: random.maybe(0.8, pickPhone(random, city)),
    MemberAddress1: random.maybe(0.3, renderStreet(office.site)),
    MemberAddress2: null,
    MemberCity: city.name,
    MemberStateOrProvince: city.state,
    MemberPostalCode: postalCode,
    MemberCountry: 'US',
    MemberStateLicense: `${city.state}${random.int(100000, 999999)}`,
    MemberStateLicenseState: city.state,
  }
}

/** Rank and board. */
function toMemberStanding(random: Random, { office }: Member, broker: boolean): Row {
  const board = toBoard(office.site.city)
  const types = [
    'REALTOR Salesperson',
    'REALTOR Broker Associate',
    'Licensed Assistant',
    'MLS Only Salesperson',
  ]
  return {
    MemberStatus: random.chance(0.04) ? 'Inactive' : 'Active',
    MemberType: broker ? 'Designated REALTOR Participant' : random.pickUsual(types),
    MemberAOR: board.name,
    MemberAORMlsId: board.mlsId,
    MemberAORkey: board.key,
    MemberMlsAccessYN: random.chance(0.97),
    MemberMlsSecurityClass: broker ? 'Broker' : 'Agent',
    MemberNationalAssociationId: String(random.int(100000000, 999999999)),
    MemberDesignation: random.pickSome(CHOICES.MemberDesignation, 0, 3),
    JobTitle: broker ? 'Designated Broker' : random.maybe(0.3, 'Agent'),
    OfficeKey: office.key,
    OfficeMlsId: office.mlsId,
    OfficeName: office.name,
  }
}

/** The record of the member with that index (from 0). */
export function toMemberRow(member: Member, index: number): Row {
  const random = new Random(4, index)
  return {
    ...toMemberName(random, member),
    ...toMemberAddress(random, member),
    ...toMemberStanding(random, member, index % MEMBERS_PER_OFFICE === 0),
    MemberLanguages: random.chance(0.6) ? ['English'] : random.pickSome(CHOICES.Languages, 1, 3),
    MemberBio: random.maybe(
      0.5,
      `${member.firstName} knows ${member.office.site.city.name} like no one else: "born here, stayed here".`,
    ),
    ...pickTimes(random),
    OriginatingSystemName: SYSTEM_NAME,
    OriginatingSystemMemberKey: member.mlsId,
  }
}
