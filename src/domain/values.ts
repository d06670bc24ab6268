import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_FIELD_VALUE, FOUND, LIMITS } from '../errors/phrases.js'
import type { Problem } from '../errors/problem.js'
import type { EdmType, Scalar } from '../model/model.js'
import { type Decimal, fractionDigits, readDecimal, renderDecimal, wholeDigits } from './decimal.js'
import { isList, isObject, JsonNumber, type JsonValue } from './json.js'

/**
 * A field value in its stored form. Decimals are exact strings without redundant zeros, dates are
 * `YYYY-MM-DD`, timestamps are UTC with milliseconds.
 */
export type FieldValue = string | number | boolean | null | readonly string[]

/** Field values by name. */
export type Values = { readonly [field: string]: FieldValue }

/** The result of reading a value: the value or a fault. */
export type ReadResult<T = FieldValue> = { readonly value: T } | { readonly problem: Problem }

type ValueReader = (field: Scalar, json: JsonValue) => ReadResult

/** Reads a value that is not null and checks the facets of its field. Lookups are not checked here. */
export function readFieldValue(field: Scalar, json: JsonValue): ReadResult {
  const read = READERS[field.type]
  if (!field.collection) return read(field, json)
  if (!isList(json))
    return invalidValue(
      field,
      EXPECTED_FIELD_VALUE.arrayOf(EXPECTED_FIELD_VALUE[field.type]),
      describeJson(json),
    )
  const items: string[] = []
  for (const item of json) {
    const outcome = read(field, item)
    if ('problem' in outcome) return outcome
    items.push(String(outcome.value))
  }
  return { value: items }
}

// biome-ignore format: table
const READERS: Readonly<Record<EdmType, ValueReader>> = {
  Boolean:        (field, json) => (typeof json === 'boolean' ? { value: json } : wrongType(field, json)),
  Int32:          (field, json) => readInteger(field, json, json instanceof JsonNumber ? readDecimal(json.text) : undefined, 31n, Number),
  Int64:          (field, json) => readInteger(field, json, readJsonNumber(json), 63n, String),
  Decimal:        (field, json) => readDecimalValue(field, json),
  String:         (field, json) => readString(field, json),
  Date:           (field, json) => (typeof json === 'string' && isDate(json) ? { value: json } : wrongType(field, json)),
  DateTimeOffset: (field, json) => readTimestamp(field, json),
  // Not stored in this form: `readPosition` converts it to coordinates.
  GeographyPoint: (field, json) => wrongType(field, json),
}

/**
 * Reads a number, also from a string: clients with binary numbers send decimals as strings (OData JSON 4.01,
 * 3.2).
 */
export const readJsonNumber = (json: JsonValue | undefined): Decimal | undefined =>
  json instanceof JsonNumber
    ? readDecimal(json.text)
    : typeof json === 'string'
      ? readDecimal(json)
      : undefined

function readInteger(
  field: Scalar,
  json: JsonValue,
  number: Decimal | undefined,
  bits: bigint,
  toValue: (whole: bigint) => FieldValue,
): ReadResult {
  if (!number || fractionDigits(number) > 0) return wrongType(field, json)
  const limit = 2n ** bits
  if (wholeDigits(number) > String(limit).length) return outOfRange(field, LIMITS.bits(Number(bits) + 1))
  const whole = BigInt(renderDecimal(number))
  if (whole < -limit || whole >= limit) return outOfRange(field, LIMITS.bits(Number(bits) + 1))
  return number.negative ? outOfRange(field, LIMITS.notNegative) : { value: toValue(whole) }
}

function readDecimalValue(field: Scalar, json: JsonValue): ReadResult {
  const number = readJsonNumber(json)
  if (!number) return wrongType(field, json)
  const limit = violatedPrecision(field, number) ?? violatedRange(field, number)
  return limit === undefined ? { value: renderDecimal(number) } : outOfRange(field, limit)
}

/** Returns the limit of precision or scale that the number exceeds, as text. */
export function violatedPrecision(
  { precision = 38, scale = 0 }: Scalar,
  number: Decimal,
): Phrase | undefined {
  return wholeDigits(number) > precision - scale || fractionDigits(number) > scale
    ? LIMITS.digits(precision - scale, scale)
    : undefined
}

/** Bounds of the coordinates in degrees. */
const COORDINATE_BOUNDS: Readonly<Record<string, number>> = { Latitude: 90, Longitude: 180 }

/**
 * Returns the range that the number violates, as text. Only coordinates can be negative: prices, areas,
 * counts and years cannot.
 */
export function violatedRange({ name }: Scalar, number: Decimal): Phrase | undefined {
  const bound = COORDINATE_BOUNDS[name]
  if (bound === undefined) return number.negative ? LIMITS.notNegative : undefined
  return Math.abs(Number(renderDecimal(number))) > bound ? LIMITS.between(-bound, bound) : undefined
}

function readString(field: Scalar, json: JsonValue): ReadResult {
  if (typeof json !== 'string') return wrongType(field, json)
  if (!isStorable(json))
    return invalidValue(field, EXPECTED_FIELD_VALUE.storableString, FOUND.unstorableString)
  const { maxLength } = field
  if (maxLength !== undefined && json.length > maxLength && [...json].length > maxLength)
    return outOfRange(field, LIMITS.length(maxLength))
  return { value: json }
}

function readTimestamp(field: Scalar, json: JsonValue): ReadResult {
  return typeof json === 'string' && isTimestamp(json)
    ? { value: new Date(truncateToMilliseconds(json)).toISOString() }
    : wrongType(field, json)
}

export const wrongType = (field: Scalar, json: JsonValue) =>
  invalidValue(field, EXPECTED_FIELD_VALUE[field.type], describeJson(json))

export const invalidValue = (
  { name }: Scalar,
  expected: Phrase,
  found: string,
): { readonly problem: Problem } => ({
  problem: { kind: 'BadValue', field: name, expected, found },
})

export const outOfRange = ({ name }: Scalar, limit: Phrase): { readonly problem: Problem } => ({
  problem: { kind: 'OutOfRange', field: name, limit },
})

/** Describes a value for an error message: strings in quotes, arrays and objects only by their kind. */
export function describeJson(json: JsonValue): string {
  if (json instanceof JsonNumber) return json.text
  if (typeof json === 'string') return FOUND.text(json)
  if (isList(json)) return FOUND.array
  return isObject(json) ? FOUND.object : String(json)
}

// Formats that bodies and import files share.

/**
 * Returns true for text that PostgreSQL can store: without NUL and, since its text is UTF-8, without unpaired
 * surrogates.
 */
export const isStorable = (text: string): boolean => !/\0|\p{Surrogate}/u.test(text)

const DATE = /^\d{4}-\d{2}-\d{2}$/
const TIMESTAMP =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,12})?)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/

/** Returns true for a calendar date `YYYY-MM-DD`. PostgreSQL has no year 0. */
export function isDate(text: string): boolean {
  const time = DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return text >= '0001' && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

const [FIRST_TIME, LAST_TIME] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'].map(Date.parse)

/**
 * Returns true for a date with a time of day and an offset from UTC, if it is also in the years 0001 to 9999
 * in UTC: 9999-12-31T23:59:59-05:00 is in the year 10000.
 */
export function isTimestamp(text: string): boolean {
  if (!isDate(TIMESTAMP.exec(text)?.[1] ?? '')) return false
  const time = Date.parse(truncateToMilliseconds(text))
  return time >= Number(FIRST_TIME) && time <= Number(LAST_TIME)
}

/**
 * Truncates a timestamp to the milliseconds that columns store. `Date` and PostgreSQL would round further
 * digits, and `Date` misreads fractions of ten digits.
 */
export const truncateToMilliseconds = (timestamp: string): string => timestamp.replace(/(\.\d{3})\d+/, '$1')

/** Returns true for a name of WGS 84, the coordinate system of GeoJSON, in a `crs` member of GeoJSON 2008. */
export const isWgs84 = (crs: string): boolean =>
  /^(EPSG:4326|urn:ogc:def:crs:(EPSG:[\d.]*:4326|OGC:1\.3:CRS84))$/i.test(crs)
