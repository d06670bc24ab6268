import { isList, isObject, JsonNumber, type JsonValue } from '../../domain/json.js'
import { cutToMilliseconds, isDate, isStorable, isTimestamp, isWgs84 } from '../../domain/values.js'
import type { EdmType, Scalar } from '../../model/model.js'
import type { ColumnValue, TableRow } from './record.js'

/** Reads a value that is not null; `undefined` means that it is not of the type. */
interface ColumnValueReader {
  readonly expected: string
  readonly read: (json: JsonValue) => ColumnValue | undefined
}

/** The text of a number; numbers may also be written as text, so that no program on the way rounds them. */
const toNumberText = (json: JsonValue): string | undefined =>
  json instanceof JsonNumber ? json.text : typeof json === 'string' ? json : undefined

const DECIMAL = /^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/

const isDecimal = (text: string | undefined): text is string =>
  text !== undefined && text.length < 1000 && DECIMAL.test(text)

/** Programs that know one kind of number write whole ones as `5.0`. */
function readIntegerText(json: JsonValue, limit: bigint): string | undefined {
  const [, digits] = /^([+-]?\d{1,30})(?:\.0+)?$/.exec(toNumberText(json) ?? '') ?? []
  if (digits === undefined) return undefined
  const value = BigInt(digits.replace(/^\+/, ''))
  return value >= -limit && value < limit ? String(value) : undefined
}

/** An offset can move a timestamp out of the years that the service answers. */
function readTimestamp(text: string): string | undefined {
  const milliseconds = cutToMilliseconds(text)
  const year = new Date(milliseconds).getUTCFullYear()
  return year >= 1 && year <= 9999 ? milliseconds : undefined
}

const isStorableText = (json: JsonValue): json is string => typeof json === 'string' && isStorable(json)

const VALUE_READERS: Readonly<Record<EdmType, ColumnValueReader>> = {
  Boolean: { expected: 'true or false', read: json => (typeof json === 'boolean' ? json : undefined) },
  Int32: { expected: 'a whole number of 32 bits', read: json => readIntegerText(json, 2n ** 31n) },
  Int64: { expected: 'a whole number of 64 bits', read: json => readIntegerText(json, 2n ** 63n) },
  Decimal: {
    expected: 'a decimal number',
    read: json => {
      const text = toNumberText(json)
      return isDecimal(text) ? text : undefined
    },
  },
  String: { expected: 'a text', read: json => (isStorableText(json) ? json : undefined) },
  Date: {
    expected: 'a date (YYYY-MM-DD)',
    read: json => (typeof json === 'string' && isDate(json) ? json : undefined),
  },
  DateTimeOffset: {
    expected: 'a timestamp (YYYY-MM-DDThh:mm:ss.sssZ)',
    read: json => (typeof json === 'string' && isTimestamp(json) ? readTimestamp(json) : undefined),
  },
  GeographyPoint: { expected: 'a GeoJSON point', read: () => undefined },
}

/** What a column takes, in words. */
export const describeExpectedType = ({ type, collection }: Scalar): string =>
  collection ? `a list, each item ${VALUE_READERS[type].expected}` : VALUE_READERS[type].expected

/**
 * The value of a column that is not null; `undefined` if it is not of the column's type. Lengths and lookups
 * are not looked at.
 */
export function readColumnValue({ type, collection }: Scalar, json: JsonValue): ColumnValue | undefined {
  if (!collection) return VALUE_READERS[type].read(json)
  // Collections of this model hold text.
  return isList(json) && json.every(isStorableText) ? json : undefined
}

const isWgs84CrsMember = (json: JsonValue | undefined): boolean => {
  if (json === undefined || json === null) return true
  const properties = isObject(json) ? json['properties'] : undefined
  const name = isObject(properties) ? properties['name'] : undefined
  return typeof name === 'string' && isWgs84(name)
}

/**
 * Longitude and latitude of a GeoJSON point (RFC 7946, with the `crs` of 2008 that OData writes), digit by
 * digit; `undefined` if it is none.
 */
export function readPointCoordinates(json: JsonValue): TableRow | undefined {
  if (!isObject(json) || json['type'] !== 'Point' || !isWgs84CrsMember(json['crs'])) return undefined
  const coordinates = json['coordinates']
  if (!isList(coordinates) || coordinates.length < 2) return undefined
  const [longitude, latitude] = coordinates.map(toNumberText)
  if (!isDecimal(longitude) || !isDecimal(latitude)) return undefined
  return Math.abs(Number(longitude)) <= 180 && Math.abs(Number(latitude)) <= 90
    ? { Longitude: longitude, Latitude: latitude }
    : undefined
}
