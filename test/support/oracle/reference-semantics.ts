import { Decimal } from 'decimal.js'
import type { ExprType, FunctionName, ValueType } from '../../../src/query/functions.js'

/**
 * Reference implementation of each function in plain TypeScript. It is slow and simple, and every engine is
 * compared with it. Integers, decimals, durations, timestamps and times of day (seconds) are exact decimals,
 * doubles are numbers, dates are days since 1970, points are `lon lat`.
 */
export type OracleValue = boolean | string | number | Decimal | null | readonly OracleValue[]

/** Enough digits for every product of a test, and for the quotients that PostgreSQL rounds. */
export const ExactDecimal = Decimal.clone({
  precision: 120,
  rounding: Decimal.ROUND_HALF_UP,
  toExpNeg: -100,
  toExpPos: 100,
})

type FunctionSemantics = (args: readonly OracleValue[], types: readonly ExprType[]) => OracleValue

/** Functions and arithmetic of null are null. */
const strict =
  // biome-ignore lint/suspicious/noExplicitAny: each row of the table has the types of its own arguments
    (f: (...args: any[]) => OracleValue): FunctionSemantics =>
    (args, types) =>
      args.some(a => a === null) ? null : f(...args, types)

const isEqual = (a: OracleValue, b: OracleValue): boolean => {
  if (a === null || b === null) return a === b
  if (a instanceof Decimal && b instanceof Decimal) return a.eq(b)
  return a === b
}

/** By code point, as the database compares: UTF-8 bytes have that order. */
export function compareValues(a: OracleValue, b: OracleValue): number {
  if (a instanceof Decimal && b instanceof Decimal) return a.cmp(b)
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (a === null || b === null || Array.isArray(a) || Array.isArray(b)) throw new Error('not ordered')
  // The standard leaves open where NaN sorts; PostgreSQL puts it above every number.
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a < b ? -1 : a > b ? 1 : 0
}

const comparison =
  (holds: (c: number) => boolean): FunctionSemantics =>
  ([a = null, b = null]) =>
    a !== null && b !== null && !Number.isNaN(a) && !Number.isNaN(b) && holds(compareValues(a, b))

const SECONDS_PER_DAY = 86_400
export const toEpochDay = (t: Decimal) => t.div(SECONDS_PER_DAY).floor().toNumber()
export const toTimeOfDay = (t: Decimal) => t.minus(t.div(SECONDS_PER_DAY).floor().times(SECONDS_PER_DAY))
const toUtcDate = (v: Decimal | number) =>
  new Date((v instanceof Decimal ? toEpochDay(v) : v) * SECONDS_PER_DAY * 1000)
/** Unit of a time of day, in seconds, and how many of them the next larger unit has. */
const clockPart = (seconds: number, count: number) =>
  strict(t => toTimeOfDay(t).div(seconds).floor().mod(count))
const milliseconds = (text: string) => new ExactDecimal(Date.parse(text)).div(1000)
const toDays = (seconds: Decimal) => seconds.div(86_400).trunc().toNumber()

const isDouble = (types: readonly ExprType[]) => types.includes('Double')
const isInteger = (types: readonly ExprType[]) => types.every(t => t === 'Int32' || t === 'Int64')

/** A number by the type the overload works in. */
const numeric = (
  exact: (a: Decimal, b: Decimal, types: readonly ExprType[]) => Decimal | null,
  double: (a: number, b: number) => number,
): FunctionSemantics =>
  strict((a, b, types) =>
    isDouble(types) ? double(Number(a), Number(b)) : exact(new ExactDecimal(a), new ExactDecimal(b), types),
  )

const quotient = numeric(
  (a, b, types) => (b.isZero() ? null : isInteger(types) ? a.divToInt(b) : a.div(b)),
  (a, b) => a / b,
)
/** PostgreSQL has no remainder of doubles: they become decimals with their shortest digits. */
const modDouble = (a: number, b: number) =>
  Number.isFinite(a) && Number.isFinite(b) && b !== 0 ? new ExactDecimal(a).mod(b).toNumber() : a % b
/** In a collection every value is itself, NaN too. */
const isSameItem = (a: OracleValue, b: OracleValue) => isEqual(a, b) || (Number.isNaN(a) && Number.isNaN(b))
const occurrences = (list: readonly OracleValue[], v: OracleValue) =>
  list.filter(x => isSameItem(x, v)).length

const EARTH_RADIUS_M = 6_371_008.8
const radians = (degrees: number) => (degrees * Math.PI) / 180
function haversine([lon1 = 0, lat1 = 0]: readonly number[], [lon2 = 0, lat2 = 0]: readonly number[]): number {
  const h =
    Math.sin(radians(lat2 - lat1) / 2) ** 2 +
    Math.cos(radians(lat1)) * Math.cos(radians(lat2)) * Math.sin(radians(lon2 - lon1) / 2) ** 2
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(h)))
}

const characters = (s: string) => [...s]
const startOf = (text: readonly string[], start: Decimal) =>
  Math.max(0, start.isNegative() ? text.length + start.toNumber() : start.toNumber())

const add: FunctionSemantics = (args, types) =>
  [types[0], types[1]].includes('Duration') && types[0] !== 'Duration'
    ? addDuration(1)(args, types)
    : numeric(
        (a, b) => a.plus(b),
        (a, b) => a + b,
      )(args, types)
const addDuration = (sign: 1 | -1) =>
  strict((a, b) => (a instanceof Decimal ? a.plus(b.times(sign)) : a + sign * toDays(b)))
const subtract: FunctionSemantics = (args, types) => {
  if (types[0] === 'Duration' || types[0] === undefined || !['DateTimeOffset', 'Date'].includes(types[0]))
    return numeric(
      (a, b) => a.minus(b),
      (a, b) => a - b,
    )(args, types)
  if (types[1] === 'Duration') return addDuration(-1)(args, types)
  return strict((a, b) =>
    a instanceof Decimal ? a.minus(b) : new ExactDecimal(a).minus(b).times(SECONDS_PER_DAY),
  )(args, types)
}

/** Half away from zero. */
const round = (mode: Decimal.Rounding) =>
  strict((a, types) => (isDouble(types) ? roundDouble(a, mode) : new ExactDecimal(a).toDP(0, mode)))
const roundDouble = (a: number, mode: Decimal.Rounding) =>
  Number.isFinite(a) ? new ExactDecimal(a).toDP(0, mode).toNumber() + 0 : a

// biome-ignore format: table
export const SEMANTICS: Readonly<Record<FunctionName, FunctionSemantics>> = {
  and:        args => (args.includes(false) ? false : args.includes(null) ? null : true),
  or:         args => (args.includes(true) ? true : args.includes(null) ? null : false),
  not:        strict(a => !a),

  eq:         ([a = null, b = null]) => isEqual(a, b) && !Number.isNaN(a),
  ne:         ([a = null, b = null]) => !(isEqual(a, b) && !Number.isNaN(a)),
  gt:         comparison(c => c > 0),
  ge:         comparison(c => c >= 0),
  lt:         comparison(c => c < 0),
  le:         comparison(c => c <= 0),
  in:         ([a = null, list = null]) => Array.isArray(list) && list.some(i => isEqual(a, i)),

  add,
  sub:        subtract,
  mul:        numeric((a, b) => a.times(b), (a, b) => a * b),
  div:        quotient,
  divby:      quotient,
  mod:        numeric((a, b) => (b.isZero() ? null : a.mod(b)), modDouble),
  negate:     strict((a, types) => (isDouble(types) ? -a : new ExactDecimal(a).neg())),

  contains:   strict((a, b) => a.includes(b)),
  startswith: strict((a, b) => a.startsWith(b)),
  endswith:   strict((a, b) => a.endsWith(b)),
  length:     strict(a => new ExactDecimal(Array.isArray(a) ? a.length : characters(a).length)),
  indexof:    strict((a, b) => { const at = a.indexOf(b); return new ExactDecimal(at < 0 ? -1 : characters(a.slice(0, at)).length) }),
  substring:  strict((a, start, length) => { const text = characters(a), from = startOf(text, start); return text.slice(from, length instanceof Decimal ? from + Math.max(0, length.toNumber()) : undefined).join('') }),
  concat:     strict((a, b) => a + b),
  tolower:    strict(a => a.toLowerCase()),
  toupper:    strict(a => a.toUpperCase()),
  trim:       strict(a => a.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '')),

  year:       strict(a => new ExactDecimal(toUtcDate(a).getUTCFullYear())),
  month:      strict(a => new ExactDecimal(toUtcDate(a).getUTCMonth() + 1)),
  day:        strict(a => new ExactDecimal(toUtcDate(a).getUTCDate())),
  hour:       clockPart(3600, 24),
  minute:     clockPart(60, 60),
  second:     clockPart(1, 60),
  fractionalseconds: strict(t => toTimeOfDay(t).mod(1)),
  totaloffsetminutes: strict(() => new ExactDecimal(0)),
  totalseconds: strict(a => a),
  date:       strict(toEpochDay),
  time:       strict(toTimeOfDay),
  now:        () => milliseconds(new Date().toISOString()),
  mindatetime: () => milliseconds('0001-01-01T00:00:00Z'),
  maxdatetime: () => milliseconds('9999-12-31T23:59:59.999Z').plus('0.000999'),

  case:       args => args.find((_, i) => i % 2 === 1 && args[i - 1] === true) ?? null,
  hassubset:  strict((a, b) => b.every((v: OracleValue) => occurrences(b, v) <= occurrences(a, v))),
  hassubsequence: strict((a, b) => b.length === a.reduce((found: number, v: OracleValue) => (found < b.length && isSameItem(v, b[found]) ? found + 1 : found), 0)),
  matchespattern: strict((a, b) => new RegExp(b, 'u').test(a)),
  'geo.distance': strict((a, b) => haversine(JSON.parse(a).coordinates, JSON.parse(b).coordinates)),
  'geo.intersects': strict(() => { throw new Error('not asked of the oracle') }),

  round:      round(Decimal.ROUND_HALF_UP),
  floor:      round(Decimal.ROUND_FLOOR),
  ceiling:    round(Decimal.ROUND_CEIL),
}

/** Casts a value to another type. Returns null if that is impossible. */
export function castValue(value: OracleValue, from: ExprType, to: ValueType): OracleValue {
  if (value === null || from === to) return value
  if (to === 'String') return toText(value, from)
  if (from === 'String') return fromText(String(value), to)
  return convert(value, to)
}

function toText(value: OracleValue, from: ExprType): string {
  if (from === 'DateTimeOffset')
    return new Date((value as Decimal).times(1000).floor().toNumber()).toISOString()
  if (from === 'Double')
    return value === Number.POSITIVE_INFINITY
      ? 'INF'
      : value === Number.NEGATIVE_INFINITY
        ? '-INF'
        : String(value)
  if (from === 'Date')
    return toUtcDate(value as number)
      .toISOString()
      .slice(0, 10)
  return value instanceof Decimal ? value.toFixed() : String(value)
}

const NUMBER = /^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/

function toDouble(text: string): number | null {
  if (text === 'INF' || text === '-INF') return Number(text.replace('INF', 'Infinity'))
  if (text === 'NaN') return Number.NaN
  const number = Number(text)
  const isOutOfRange = !Number.isFinite(number) || (number === 0 && /[1-9]/.test(text.split(/e/i)[0] ?? ''))
  return NUMBER.test(text) && !isOutOfRange ? number : null
}

const DATE = String.raw`(\d{4}-\d\d-\d\d)`
const TIME = String.raw`((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(\.\d{1,12})?`
const POINTS_IN_TIME = {
  Date: new RegExp(`^${DATE}()()()$`),
  TimeOfDay: new RegExp(`^()${TIME}()$`),
  DateTimeOffset: new RegExp(`^${DATE}T${TIME}(Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)$`),
}

function toPointInTime(text: string, to: keyof typeof POINTS_IN_TIME): OracleValue {
  const found = POINTS_IN_TIME[to].exec(text)
  if (!found) return null
  const [, date = '', time = '', fraction = '', zone = ''] = found
  const day = Date.parse(date || '1970-01-01')
  if (Number.isNaN(day) || (date !== '' && !new Date(day).toISOString().startsWith(date))) return null
  if (date.startsWith('0000')) return null
  if (to === 'Date') return day / 1000 / SECONDS_PER_DAY
  const seconds = Date.parse(`${date || '1970-01-01'}T${time}${zone || 'Z'}`) / 1000
  const year = new Date(seconds * 1000).getUTCFullYear()
  return year >= 1 && year <= 9999 ? new ExactDecimal(seconds).plus(`0${fraction}`) : null
}

function fromText(text: string, to: ValueType): OracleValue {
  switch (to) {
    case 'Boolean':
      return text === 'true' ? true : text === 'false' ? false : null
    case 'Int32': case 'Int64':
      return /^[+-]?\d+$/.test(text) ? nullUnlessInRange(new ExactDecimal(text), to) : null
    case 'Decimal':
      return NUMBER.test(text) ? new ExactDecimal(text) : null
    case 'Double':
      return toDouble(text)
    case 'DateTimeOffset': case 'TimeOfDay': case 'Date':
      return toPointInTime(text, to)
    default:
      return null
  }
} // biome-ignore format: one case for integers

function convert(value: OracleValue, to: ValueType): OracleValue {
  if (typeof value === 'number' && !Number.isFinite(value)) return to === 'Double' ? value : null
  switch (to) {
    case 'Int32': case 'Int64':
      return nullUnlessInRange(new ExactDecimal(value as Decimal).trunc(), to)
    case 'Double':
      return Number(value)
    case 'Date':
      return toEpochDay(value as Decimal)
    case 'TimeOfDay':
      return toTimeOfDay(value as Decimal)
    case 'DateTimeOffset':
      return new ExactDecimal(value as number).times(SECONDS_PER_DAY)
    case 'Decimal':
      return new ExactDecimal(value as Decimal | number)
    default:
      return value
  }
} // biome-ignore format: one case for integers

function nullUnlessInRange(n: Decimal, to: 'Int32' | 'Int64'): OracleValue {
  const bound = new ExactDecimal(2).pow(to === 'Int32' ? 31 : 63)
  return n.gte(bound.neg()) && n.lt(bound) ? n : null
}
