import type { TableRow } from '../data/import/record.js'
import { renderStreet } from './cities-and-sites.js'
import { LOOKUP_CHOICES } from './lookup-choices.js'
import {
  MEMBERS_PER_OFFICE,
  ORIGINATING_SYSTEM_NAME,
  pickPhone,
  pickTimestamps,
  type SampleMember,
  type SampleOffice,
  toAssociation,
  toMemberIds,
  toOfficeIds,
  toSlug,
} from './people.js'
import { SeededRandom } from './random.js'

function toOfficeAddressFields(random: SeededRandom, { name, phone, site }: SampleOffice): TableRow {
  const { city, postalCode } = site
  return {
    OfficePhone: phone,
    OfficePhoneExt: random.orNull(0.7, String(random.int(1, 99))),
    OfficeFax: random.orNull(0.5, pickPhone(random, city)),
    OfficeEmail: `office@${toSlug(name)}.example.com`,
    OfficeAddress1: renderStreet(site),
    OfficeAddress2: random.orNull(0.6, `Suite ${random.int(100, 450)}`),
    OfficeCity: city.name,
    OfficeCountyOrParish: city.county,
    OfficeStateOrProvince: city.state,
    OfficePostalCode: postalCode,
    OfficePostalCodePlus4: random.orNull(0.6, String(random.int(1000, 9999))),
    OfficeCountry: 'US',
    OfficeMailAddress1: random.orNull(0.5, `PO Box ${random.int(10, 9000)}`),
    OfficeMailCity: city.name,
    OfficeMailStateOrProvince: city.state,
    OfficeMailPostalCode: postalCode,
  }
}

/**
 * Every fifth office is a branch of the first of its group of five. The broker is its first member, the
 * manager its second.
 */
function toOfficeLeaderFields(index: number): TableRow {
  const isBranch = index % 5 === 4
  const main = toOfficeIds(isBranch ? index - 4 : index)
  const broker = toMemberIds(index * MEMBERS_PER_OFFICE)
  const manager = toMemberIds(index * MEMBERS_PER_OFFICE + 1)
  return {
    OfficeType: isBranch ? 'Realtor Branch Office' : 'Realtor Firm',
    OfficeBranchType: isBranch ? 'Branch' : index % 5 === 0 ? 'Main' : 'Stand Alone',
    OfficeBrokerKey: broker.key,
    OfficeBrokerMlsId: broker.mlsId,
    OfficeManagerKey: manager.key,
    OfficeManagerMlsId: manager.mlsId,
    MainOfficeKey: main.key,
    MainOfficeMlsId: main.mlsId,
  }
}

/** Returns the record of the office with an index (from 0). */
export function toOfficeRow(office: SampleOffice, index: number): TableRow {
  const random = new SeededRandom(3, index)
  const { key, mlsId, name, site } = office
  const board = toAssociation(site.city)
  return {
    OfficeKey: key,
    OfficeMlsId: mlsId,
    OfficeName: name,
    OfficeStatus: random.chance(0.03) ? 'Inactive' : 'Active',
    OfficeAOR: board.name,
    OfficeAORMlsId: board.mlsId,
    OfficeAORkey: board.key,
    ...toOfficeAddressFields(random, office),
    ...toOfficeLeaderFields(index),
    OfficeCorporateLicense: `${site.city.state}-${random.int(10000, 99999)}`,
    OfficeNationalAssociationId: String(random.int(800000000, 899999999)),
    FranchiseAffiliation: random.orNull(0.7, 'Example Homes International'),
    IDXOfficeParticipationYN: random.chance(0.92),
    SyndicateTo: random.pickSubset(LOOKUP_CHOICES.SyndicateTo, 0, 4),
    OfficeBio: random.orNull(
      0.4,
      `${name} has sold homes in ${site.city.name} since ${random.int(1948, 2019)}.`,
    ),
    ...pickTimestamps(random),
    OriginatingSystemName: ORIGINATING_SYSTEM_NAME,
    OriginatingSystemOfficeKey: mlsId,
  }
}

function toMemberNameFields(
  random: SeededRandom,
  { key, mlsId, firstName, lastName, fullName }: SampleMember,
): TableRow {
  return {
    MemberKey: key,
    MemberMlsId: mlsId,
    MemberLoginId: mlsId.toLowerCase(),
    MemberFirstName: firstName,
    MemberMiddleName: random.orNull(0.7, random.pick(['A.', 'Lee', 'Ann', 'J.', 'Marie'])),
    MemberLastName: lastName,
    MemberFullName: fullName,
    MemberNickname: random.orNull(0.85, firstName.slice(0, 3)),
    MemberNamePrefix: random.orNull(0.8, random.pick(['Ms.', 'Mr.', 'Dr.'])),
    MemberNameSuffix: random.orNull(0.95, random.pick(['Jr.', 'III'])),
    // The key distinguishes members of the same name. A name in another script has no characters that are
    // valid in an address.
    MemberEmail: `${toSlug(firstName)}.${toSlug(lastName) || 'agent'}.${mlsId.toLowerCase()}@example.com`,
  }
}

function toMemberAddressFields(random: SeededRandom, { office }: SampleMember): TableRow {
  const { city, postalCode } = office.site
  const mobile = pickPhone(random, city)
  return {
    MemberDirectPhone: random.orNull(0.3, pickPhone(random, city)),
    MemberMobilePhone: mobile,
    MemberOfficePhone: office.phone,
    MemberPreferredPhone: mobile,
    MemberFax: random.orNull(0.8, pickPhone(random, city)),
    MemberAddress1: random.orNull(0.3, renderStreet(office.site)),
    MemberAddress2: null,
    MemberCity: city.name,
    MemberStateOrProvince: city.state,
    MemberPostalCode: postalCode,
    MemberCountry: 'US',
    MemberStateLicense: `${city.state}${random.int(100000, 999999)}`,
    MemberStateLicenseState: city.state,
  }
}

/** Returns the designation and the association of a member. */
function toMembershipFields(random: SeededRandom, { office }: SampleMember, isBroker: boolean): TableRow {
  const board = toAssociation(office.site.city)
  const types = [
    'REALTOR Salesperson',
    'REALTOR Broker Associate',
    'Licensed Assistant',
    'MLS Only Salesperson',
  ]
  return {
    MemberStatus: random.chance(0.04) ? 'Inactive' : 'Active',
    MemberType: isBroker ? 'Designated REALTOR Participant' : random.pickWeighted(types),
    MemberAOR: board.name,
    MemberAORMlsId: board.mlsId,
    MemberAORkey: board.key,
    MemberMlsAccessYN: random.chance(0.97),
    MemberMlsSecurityClass: isBroker ? 'Broker' : 'Agent',
    MemberNationalAssociationId: String(random.int(100000000, 999999999)),
    MemberDesignation: random.pickSubset(LOOKUP_CHOICES.MemberDesignation, 0, 3),
    JobTitle: isBroker ? 'Designated Broker' : random.orNull(0.3, 'Agent'),
    OfficeKey: office.key,
    OfficeMlsId: office.mlsId,
    OfficeName: office.name,
  }
}

/** Returns the record of the member with an index (from 0). */
export function toMemberRow(member: SampleMember, index: number): TableRow {
  const random = new SeededRandom(4, index)
  return {
    ...toMemberNameFields(random, member),
    ...toMemberAddressFields(random, member),
    ...toMembershipFields(random, member, index % MEMBERS_PER_OFFICE === 0),
    MemberLanguages: random.chance(0.6) ? ['English'] : random.pickSubset(LOOKUP_CHOICES.Languages, 1, 3),
    MemberBio: random.orNull(
      0.5,
      `${member.firstName} knows ${member.office.site.city.name} like no one else: "born here, stayed here".`,
    ),
    ...pickTimestamps(random),
    OriginatingSystemName: ORIGINATING_SYSTEM_NAME,
    OriginatingSystemMemberKey: member.mlsId,
  }
}
