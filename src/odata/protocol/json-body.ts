import { remember } from '../../query/memoize.js'
import type { Notation } from '../../query/representation.js'
import type { DataFormat } from './negotiate.js'

/** A member of a JSON object, as JSON text. Absent members are left out. */
export type Member = string | undefined

/**
 * How records are to be written. Control information has its prefix in every version: 4.01 allows it, and
 * clients look for it.
 */
export const toNotation = remember(
  ({ metadata, numbersAsText }: DataFormat): Notation => ({
    ...(metadata !== 'none' && {
      etag: '@odata.etag',
      restricted: { suffix: '@Core.Permissions', value: 'None' },
    }),
    reference: '@odata.id',
    countSuffix: '@odata.count',
    numbersAsText,
  }),
)

/** The notation of parts of records: nothing but the values. */
export const toBareNotation = ({ numbersAsText }: Pick<DataFormat, 'numbersAsText'>): Notation => ({
  reference: '@odata.id',
  countSuffix: '@odata.count',
  numbersAsText,
})

/** `@odata.context`, unless the client wants no control information. */
export const context = ({ metadata }: DataFormat, url: string): Member =>
  metadata === 'none' ? undefined : text('@odata.context', url)

/** A member whose value is JSON text already. The names of members are ours, and need no escapes. */
export const member = (name: string, json: string): Member => `"${name}":${json}`

export const text = (name: string, value: string): Member => member(name, JSON.stringify(value))

/** A count is a 64-bit integer for OData. */
export const count = ({ numbersAsText }: DataFormat, value: number | undefined): Member =>
  value === undefined ? undefined : member('@odata.count', numbersAsText ? `"${value}"` : String(value))

/** An object of members. */
export const renderObject = (members: readonly Member[]): string => `{${renderMembers(members)}}`

/** A record with members before its own: it is finished JSON, and stays as it is. */
export function renderRecord(members: readonly Member[], record: string): string {
  const before = renderMembers(members)
  return before === '' || record === '{}' ? `{${before}${record.slice(1)}` : `{${before},${record.slice(1)}`
}

const renderMembers = (members: readonly Member[]): string =>
  members.filter(part => part !== undefined).join(',')

/**
 * The only value of a record that was read with one field. Cut out and not parsed, since its numbers may have
 * more digits than a double.
 */
export const onlyValue = (name: string, record: string): string =>
  record.slice(JSON.stringify(name).length + 2, -1)

/** A value as plain text (Part 1, 11.2.4.1): texts without their quotes, points as well-known text. */
export function renderPlain(json: string): string {
  if (json.startsWith('"')) return String(JSON.parse(json))
  const [, longitude, latitude] = /"coordinates" ?: ?\[(\S+?), ?(\S+?)\]/.exec(json) ?? []
  return longitude === undefined ? json : `SRID=4326;POINT(${longitude} ${latitude})`
}
