import { LRUCache } from 'lru-cache'
import { NAMESPACE, type Scalar } from '../../model/model.js'
import { getOrCreate, memoize } from '../../query/memoize.js'
import type { FullMetadata, Representation } from '../../query/representation.js'
import type { JsonFormat } from './negotiate.js'
import type { ODataRequest } from './request.js'
import type { ODataVersion } from './version.js'

/** A member of a JSON object as text. Undefined members are omitted. */
export type PayloadMember = string | undefined

/**
 * Returns the representation of records in an answer. Control information has its prefix in every version: 4.01
 * allows it, and clients look for it.
 */
export function toRecordRepresentation(format: JsonFormat, { root, version }: ResponseBase): Representation {
  const representation = toPlainRepresentation(format)
  return format.metadata === 'full'
    ? getOrCreate(
        FULL_REPRESENTATIONS,
        `${version} ${format.ieee754Compatible} ${root}`,
        (): Representation => ({
          ...representation,
          full: toFullMetadata(root, version),
        }),
      )
    : representation
}

/** The base URL of the links in an answer, and its protocol version. */
type ResponseBase = Pick<ODataRequest, 'root' | 'version'>

const toPlainRepresentation = memoize(function toPlainRepresentation({
  metadata,
  ieee754Compatible,
}: JsonFormat): Representation {
  return {
    ...(metadata !== 'none' && {
      etag: '@odata.etag',
      restricted: { suffix: '@Core.Permissions', value: 'None' },
    }),
    reference: '@odata.id',
    countSuffix: '@odata.count',
    numbersAsText: ieee754Compatible,
  }
})

/**
 * One object per host and format, since statements are cached by it. The cache is bounded because clients
 * choose the host.
 */
const FULL_REPRESENTATIONS = new LRUCache<string, Representation>({ max: 20 })

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
  { version }: ResponseBase,
  { type, collection }: Scalar,
): PayloadMember {
  if (metadata !== 'full' || (!collection && (type === 'String' || type === 'Boolean'))) return undefined
  const name = collection ? `Collection(${type})` : type
  return stringMember('@odata.type', `${version === '4.0' ? '#' : ''}${name}`)
}

/** Returns the representation of parts of records: the values only. */
export const toValueRepresentation = ({
  ieee754Compatible,
}: Pick<JsonFormat, 'ieee754Compatible'>): Representation => ({
  reference: '@odata.id',
  countSuffix: '@odata.count',
  numbersAsText: ieee754Compatible,
})

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
 * Returns the only value of a record that was read with one field. The text is cut out instead of parsed,
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
