import { memoize } from '../../query/memoize.js'
import type { Representation } from '../../query/representation.js'
import type { JsonFormat } from './negotiate.js'

/** A member of a JSON object, as JSON text. Absent members are left out. */
export type PayloadMember = string | undefined

/**
 * How records are to be written. Control information has its prefix in every version: 4.01 allows it, and
 * clients look for it.
 */
export const toRecordRepresentation = memoize(function toRecordRepresentation({
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

/** The representation of parts of records: nothing but the values. */
export const toValueRepresentation = ({
  ieee754Compatible,
}: Pick<JsonFormat, 'ieee754Compatible'>): Representation => ({
  reference: '@odata.id',
  countSuffix: '@odata.count',
  numbersAsText: ieee754Compatible,
})

/** `@odata.context`, unless the client wants no control information. */
export const contextMember = ({ metadata }: JsonFormat, url: string): PayloadMember =>
  metadata === 'none' ? undefined : stringMember('@odata.context', url)

/** A member whose value is JSON text already. The names of members are ours, and need no escapes. */
export const payloadMember = (name: string, json: string): PayloadMember => `"${name}":${json}`

export const stringMember = (name: string, value: string): PayloadMember =>
  payloadMember(name, JSON.stringify(value))

/** A count is a 64-bit integer for OData. */
export const countMember = ({ ieee754Compatible }: JsonFormat, value: number | undefined): PayloadMember =>
  value === undefined
    ? undefined
    : payloadMember('@odata.count', ieee754Compatible ? `"${value}"` : String(value))

/** An object of members. */
export const renderPayloadObject = (members: readonly PayloadMember[]): string =>
  `{${renderMembers(members)}}`

/** A record with members before its own: it is finished JSON, and stays as it is. */
export function prependMembers(members: readonly PayloadMember[], record: string): string {
  const before = renderMembers(members)
  return before === '' || record === '{}' ? `{${before}${record.slice(1)}` : `{${before},${record.slice(1)}`
}

const renderMembers = (members: readonly PayloadMember[]): string =>
  members.filter(part => part !== undefined).join(',')

/**
 * The only value of a record that was read with one field. Cut out and not parsed, since its numbers may have
 * more digits than a double.
 */
export const extractOnlyValue = (name: string, record: string): string =>
  record.slice(JSON.stringify(name).length + 2, -1)

/** A value as plain text (Part 1, 11.2.4.1): texts without their quotes, points as well-known text. */
export function toRawValue(json: string): string {
  if (json.startsWith('"')) return String(JSON.parse(json))
  const [, longitude, latitude] = /"coordinates" ?: ?\[(\S+?), ?(\S+?)\]/.exec(json) ?? []
  return longitude === undefined ? json : `SRID=4326;POINT(${longitude} ${latitude})`
}
