import { NAMESPACE, type Scalar } from '../../model/model.js'
import type { PlanCacheLevel } from '../../query/plan-cache.js'
import type { FullMetadata, Representation } from '../../query/representation.js'
import type { JsonFormat } from './negotiate.js'
import type { ODataRequest } from './request.js'
import type { ODataVersion } from './version.js'

/** A member of a JSON object as text. Undefined members are omitted. */
export type PayloadMember = string | undefined

/**
 * Returns the representation of records in a response. Control information has its prefix in every version: 4.01
 * allows it, and clients expect it. Equal representations are the same object, since statements are cached by it.
 */
export function toRecordRepresentation(
  { metadata, ieee754Compatible }: JsonFormat,
  { root, version, plans }: Pick<ODataRequest, 'root' | 'version' | 'plans'>,
): Representation {
  const plain = (metadata === 'none' ? BARE_RECORDS : RECORDS)[numberFormOf({ ieee754Compatible })]
  if (metadata !== 'full') return plain
  const key = `${version} ${ieee754Compatible} ${root}`
  return plans.getOrCreate(FULL_METADATA_LEVEL, key, () => ({
    ...plain,
    full: toFullMetadata(root, version),
  }))
}

/** The form of decimals and 64-bit integers. */
const numberFormOf = ({ ieee754Compatible }: Pick<JsonFormat, 'ieee754Compatible'>) =>
  ieee754Compatible ? 'text' : 'number'

const inBothNumberForms = (representation: Omit<Representation, 'numbersAsText'>) => ({
  number: { ...representation, numbersAsText: false },
  text: { ...representation, numbersAsText: true },
})

const BARE_RECORDS = inBothNumberForms({ reference: '@odata.id', countSuffix: '@odata.count' })
const RECORDS = inBothNumberForms({
  etag: '@odata.etag',
  restricted: { suffix: '@Core.Permissions', value: 'None' },
  reference: '@odata.id',
  countSuffix: '@odata.count',
})

/** Representations with links, whose root depends on the host that the client called. */
const FULL_METADATA_LEVEL: PlanCacheLevel<Representation> = { name: 'full metadata', sizeOf: () => 128 }

/** Names of standard types have a hash in 4.0 and none in 4.01 (OData JSON 4.01, 4.6.3). */
const toFullMetadata = (root: string, version: ODataVersion): FullMetadata => ({
  type: '@odata.type',
  id: '@odata.id',
  editLink: '@odata.editLink',
  navigationLink: '@odata.navigationLink',
  associationLink: '@odata.associationLink',
  root,
  entityTypePrefix: `#${NAMESPACE}.`,
  primitiveTypePrefix: version === '4.0' ? '#' : '',
})

/** Returns the type annotation of a single value, unless clients derive the type from its JSON. */
export function typeMember(
  { metadata }: JsonFormat,
  { version }: Pick<ODataRequest, 'version'>,
  { type, collection }: Scalar,
): PayloadMember {
  if (metadata !== 'full' || (!collection && (type === 'String' || type === 'Boolean'))) return undefined
  const name = collection ? `Collection(${type})` : type
  return stringMember('@odata.type', `${version === '4.0' ? '#' : ''}${name}`)
}

/** Returns the representation of parts of records: the values only. */
export const toValueRepresentation = (format: Pick<JsonFormat, 'ieee754Compatible'>): Representation =>
  BARE_RECORDS[numberFormOf(format)]

/** Returns `@odata.context`, unless the client requested no control information. */
export const contextMember = ({ metadata }: JsonFormat, url: string): PayloadMember =>
  metadata === 'none' ? undefined : stringMember('@odata.context', url)

/** Renders a member with a JSON text as its value. The names are constants that need no escaping. */
export const payloadMember = (name: string, json: string): PayloadMember => `"${name}":${json}`

export const stringMember = (name: string, value: string): PayloadMember =>
  payloadMember(name, JSON.stringify(value))

/** Renders a count, which is a 64-bit integer in OData. */
export const countMember = ({ ieee754Compatible }: JsonFormat, value: number | undefined): PayloadMember =>
  value === undefined
    ? undefined
    : payloadMember('@odata.count', ieee754Compatible ? `"${value}"` : String(value))

/** Renders an object from its members. */
export const renderPayloadObject = (members: readonly PayloadMember[]): string =>
  `{${renderMembers(members)}}`

/** Inserts members at the start of a record's JSON. */
export function prependMembers(members: readonly PayloadMember[], record: string): string {
  const before = renderMembers(members)
  return before === '' || record === '{}' ? `{${before}${record.slice(1)}` : `{${before},${record.slice(1)}`
}

const renderMembers = (members: readonly PayloadMember[]): string =>
  members.filter(part => part !== undefined).join(',')

/**
 * Returns the only value of a record that was read with one field. The text is extracted instead of parsed,
 * since its numbers may have more digits than a double.
 */
export const extractOnlyValue = (name: string, record: string): string =>
  record.slice(JSON.stringify(name).length + 2, -1)

/** Renders a value as plain text (Part 1, 11.2.4.1): strings without quotes, points as well-known text. */
export function toRawValue(json: string): string {
  if (json.startsWith('"')) return String(JSON.parse(json))
  const [, longitude, latitude] = /"coordinates" ?: ?\[(\S+?), ?(\S+?)\]/.exec(json) ?? []
  return longitude === undefined ? json : `SRID=4326;POINT(${longitude} ${latitude})`
}

/** A member that is null, after another member that is not its annotation. */
const NULL_MEMBER = /(?<!"[^"\\@]+@[^"\\]*":"[^"\\]*"),"[^\s"\\:,{}[\]@]+":null(?=[,}])/g
/** A first member that is null. */
const NULL_FIRST_MEMBER = /\{"[^\s"\\:,{}[\]@]+":null(?:,|(?=\}))/g

/**
 * Removes the null members of records, except annotated ones (Part 1, 8.2.8.6). Quotes in strings are escaped,
 * so the patterns match members only: `{"A":1,"B":null}` becomes `{"A":1}`.
 */
export const omitNulls = (json: string): string =>
  json.replace(NULL_MEMBER, '').replace(NULL_FIRST_MEMBER, '{')
