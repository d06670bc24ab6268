import { isList, isObject, JsonNumber, type JsonValue } from '../../domain/json.js'
import { isDate, isStorable, isTimestamp, isWgs84, truncateToMilliseconds } from '../../domain/values.js'
import { EXPECTED_COLUMN_VALUE } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'
import type { EdmType, Scalar } from '../../model/model.js'
import type { ColumnValue, TableRow } from './record.js'

/** Reads a value that is not null. Returns `undefined` if it does not have the type. */
type ColumnValueReader = (json: JsonValue) => ColumnValue | undefined

/** Returns the text of a number. Numbers may be strings, which no program rounds. */
const toNumberText = (json: JsonValue): string | undefined =>
  json instanceof JsonNumber ? json.text : typeof json === 'string' ? json : undefined

const DECIMAL = /^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/

const isDecimal = (text: string | undefined): text is string =>
  text !== undefined && text.length < 1000 && DECIMAL.test(text)

/** Returns the digits of an integer. Some programs write integers as `5.0`. */
function readIntegerText(json: JsonValue, limit: bigint): string | undefined {
  const [, digits] = /^([+-]?\d{1,30})(?:\.0+)?$/.exec(toNumberText(json) ?? '') ?? []
  if (digits === undefined) return undefined
  const value = BigInt(digits.replace(/^\+/, ''))
  return value >= -limit && value < limit ? String(value) : undefined
}

const isStorableText = (json: JsonValue): json is string => typeof json === 'string' && isStorable(json)

const VALUE_READERS: Readonly<Record<EdmType, ColumnValueReader>> = {
  Boolean: json => (typeof json === 'boolean' ? json : undefined),
  Int32: json => readIntegerText(json, 2n ** 31n),
  Int64: json => readIntegerText(json, 2n ** 63n),
  Decimal: json => {
    const text = toNumberText(json)
    return isDecimal(text) ? text : undefined
  },
  String: json => (isStorableText(json) ? json : undefined),
  Date: json => (typeof json === 'string' && isDate(json) ? json : undefined),
  DateTimeOffset: json =>
    typeof json === 'string' && isTimestamp(json) ? truncateToMilliseconds(json) : undefined,
  // Read by `readPointCoordinates`.
  GeographyPoint: () => undefined,
}

/** Describes the expected type of a column. */
export const describeExpectedType = ({ type, collection }: Scalar): Phrase =>
  collection ? EXPECTED_COLUMN_VALUE.listOf(EXPECTED_COLUMN_VALUE[type]) : EXPECTED_COLUMN_VALUE[type]

/**
 * Returns the value of a column that is not null, or `undefined` if it does not have the type of the column.
 * Lengths and lookups are not checked.
 */
export function readColumnValue({ type, collection }: Scalar, json: JsonValue): ColumnValue | undefined {
  if (!collection) return VALUE_READERS[type](json)
  // All collections of the model contain strings.
  return isList(json) && json.every(isStorableText) ? json : undefined
}

const isWgs84CrsMember = (json: JsonValue | undefined): boolean => {
  if (json === undefined || json === null) return true
  const properties = isObject(json) ? json['properties'] : undefined
  const name = isObject(properties) ? properties['name'] : undefined
  return typeof name === 'string' && isWgs84(name)
}

/**
 * Returns longitude and latitude of a GeoJSON point (RFC 7946, with the `crs` of 2008 that OData writes) with
 * all digits, or `undefined` if the value is not a point.
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
