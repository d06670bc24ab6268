import { Decimal } from 'decimal.js'
import type { FunctionName, Type, ValueType } from '../../../src/query/functions.js'

/**
 * What each function of the language means, in plain TypeScript: slow, obvious, and the judge of every lane.
 * Integers, decimals and durations (seconds) are exact decimals, doubles numbers, timestamps and times of day
 * microseconds, dates days since 1970, points `lon lat`.
 */
export type Meant = boolean | string | number | bigint | Decimal | null | readonly Meant[]

/** Enough digits for every product of a test, and for the quotients that PostgreSQL rounds. */
export const Exact = Decimal.clone({
  precision: 120,
  rounding: Decimal.ROUND_HALF_UP,
  toExpNeg: -100,
  toExpPos: 100,
})

type Meaning = (args: readonly Meant[], types: readonly Type[]) => Meant

/** Functions and arithmetic of null are null. */
const lift =
  // biome-ignore lint/suspicious/noExplicitAny: each row of the table knows the types of its own arguments
    (f: (...args: any[]) => Meant): Meaning =>
    (args, types) =>
      args.some(a => a === null) ? null : f(...args, types)

const same = (a: Meant, b: Meant): boolean => {
  if (a === null || b === null) return a === b
  if (a instanceof Decimal && b instanceof Decimal) return a.eq(b)
  return a === b
}

/** By code point, as the database compares: UTF-8 bytes have that order. */
export function order(a: Meant, b: Meant): number {
  if (a instanceof Decimal && b instanceof Decimal) return a.cmp(b)
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (a === null || b === null || Array.isArray(a) || Array.isArray(b)) throw new Error('not ordered')
  // The standard leaves open where NaN sorts; PostgreSQL puts it above every number.
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a < b ? -1 : a > b ? 1 : 0
}

const ordered =
  (holds: (c: number) => boolean): Meaning =>
  ([a = null, b = null]) =>
    a !== null && b !== null && !Number.isNaN(a) && !Number.isNaN(b) && holds(order(a, b))

const MICROSECONDS = 1_000_000n
const DAY = 86_400n * MICROSECONDS
const floorDiv = (a: bigint, b: bigint) => (a % b < 0n ? a / b - 1n : a / b)
export const dayOf = (t: bigint) => Number(floorDiv(t, DAY))
export const clockOf = (t: bigint) => t - floorDiv(t, DAY) * DAY
const calendar = (v: bigint | number) => new Date((typeof v === 'bigint' ? dayOf(v) : v) * 86_400_000)
const toMicroseconds = (seconds: Decimal) => BigInt(seconds.times(1e6).toFixed(0, Decimal.ROUND_HALF_EVEN))
const toSeconds = (microseconds: bigint) => new Exact(microseconds.toString()).div(1e6)
const toDays = (seconds: Decimal) => seconds.div(86_400).trunc().toNumber()

const isDouble = (types: readonly Type[]) => types.includes('Double')
const isInteger = (types: readonly Type[]) => types.every(t => t === 'Int32' || t === 'Int64')

/** A number by the type the overload works in. */
const numeric = (
  exact: (a: Decimal, b: Decimal, types: readonly Type[]) => Decimal | null,
  double: (a: number, b: number) => number,
): Meaning =>
  lift((a, b, types) =>
    isDouble(types) ? double(Number(a), Number(b)) : exact(new Exact(a), new Exact(b), types),
  )

const quotient = numeric(
  (a, b, types) => (b.isZero() ? null : isInteger(types) ? a.divToInt(b) : a.div(b)),
  (a, b) => a / b,
)
/** PostgreSQL has no remainder of doubles: they become decimals of 15 digits. */
const modDouble = (a: number, b: number) =>
  Number.isFinite(a) && Number.isFinite(b) && b !== 0
    ? new Exact(a.toPrecision(15)).mod(b.toPrecision(15)).toNumber()
    : a % b
/** In a collection every value is itself, NaN too. */
const isOne = (a: Meant, b: Meant) => same(a, b) || (Number.isNaN(a) && Number.isNaN(b))
const occurrences = (list: readonly Meant[], v: Meant) => list.filter(x => isOne(x, v)).length

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

const add: Meaning = (args, types) =>
  [types[0], types[1]].includes('Duration') && types[0] !== 'Duration'
    ? shift(1)(args, types)
    : numeric(
        (a, b) => a.plus(b),
        (a, b) => a + b,
      )(args, types)
const shift = (sign: 1 | -1) =>
  lift((a, b) => (typeof a === 'bigint' ? a + BigInt(sign) * toMicroseconds(b) : a + sign * toDays(b)))
const subtract: Meaning = (args, types) => {
  if (types[0] === 'Duration' || types[0] === undefined || !['DateTimeOffset', 'Date'].includes(types[0]))
    return numeric(
      (a, b) => a.minus(b),
      (a, b) => a - b,
    )(args, types)
  if (types[1] === 'Duration') return shift(-1)(args, types)
  return lift((a, b) => (typeof a === 'bigint' ? toSeconds(a - b) : new Exact(a).minus(b).times(86_400)))(
    args,
    types,
  )
}

/** Half away from zero. */
const round = (mode: Decimal.Rounding) =>
  lift((a, types) => (isDouble(types) ? roundDouble(a, mode) : new Exact(a).toDP(0, mode)))
const roundDouble = (a: number, mode: Decimal.Rounding) =>
  Number.isFinite(a) ? new Exact(a.toPrecision(15)).toDP(0, mode).toNumber() + 0 : a

// biome-ignore format: table
export const MEANING: Readonly<Record<FunctionName, Meaning>> = {
  and:        args => (args.includes(false) ? false : args.includes(null) ? null : true),
  or:         args => (args.includes(true) ? true : args.includes(null) ? null : false),
  not:        lift(a => !a),

  eq:         ([a = null, b = null]) => same(a, b) && !Number.isNaN(a),
  ne:         ([a = null, b = null]) => !(same(a, b) && !Number.isNaN(a)),
  gt:         ordered(c => c > 0),
  ge:         ordered(c => c >= 0),
  lt:         ordered(c => c < 0),
  le:         ordered(c => c <= 0),
  in:         ([a = null, list = null]) => Array.isArray(list) && list.some(i => same(a, i)),

  add,
  sub:        subtract,
  mul:        numeric((a, b) => a.times(b), (a, b) => a * b),
  div:        quotient,
  divby:      quotient,
  mod:        numeric((a, b) => (b.isZero() ? null : a.mod(b)), modDouble),
  negate:     lift((a, types) => (isDouble(types) ? -a : new Exact(a).neg())),

  contains:   lift((a, b) => a.includes(b)),
  startswith: lift((a, b) => a.startsWith(b)),
  endswith:   lift((a, b) => a.endsWith(b)),
  length:     lift(a => new Exact(Array.isArray(a) ? a.length : characters(a).length)),
  indexof:    lift((a, b) => { const at = a.indexOf(b); return new Exact(at < 0 ? -1 : characters(a.slice(0, at)).length) }),
  substring:  lift((a, start, length) => { const text = characters(a), from = startOf(text, start); return text.slice(from, length instanceof Decimal ? from + Math.max(0, length.toNumber()) : undefined).join('') }),
  concat:     lift((a, b) => a + b),
  tolower:    lift(a => a.toLowerCase()),
  toupper:    lift(a => a.toUpperCase()),
  trim:       lift(a => a.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '')),

  year:       lift(a => new Exact(calendar(a).getUTCFullYear())),
  month:      lift(a => new Exact(calendar(a).getUTCMonth() + 1)),
  day:        lift(a => new Exact(calendar(a).getUTCDate())),
  hour:       lift(a => new Exact((clockOf(a) / 3_600_000_000n).toString())),
  minute:     lift(a => new Exact(((clockOf(a) / 60_000_000n) % 60n).toString())),
  second:     lift(a => new Exact(((clockOf(a) / MICROSECONDS) % 60n).toString())),
  fractionalseconds: lift(a => toSeconds(clockOf(a) % MICROSECONDS)),
  totaloffsetminutes: lift(() => new Exact(0)),
  totalseconds: lift(a => a),
  date:       lift(dayOf),
  time:       lift(clockOf),
  now:        () => BigInt(Date.now()) * 1000n,
  mindatetime: () => BigInt(Date.UTC(0, 0, 1)) * 1000n + (BigInt(Date.parse('0001-01-01T00:00:00Z')) - BigInt(Date.UTC(0, 0, 1))) * 1000n,
  maxdatetime: () => BigInt(Date.parse('9999-12-31T23:59:59.999Z')) * 1000n + 999n,

  case:       args => args.find((_, i) => i % 2 === 1 && args[i - 1] === true) ?? null,
  hassubset:  lift((a, b) => b.every((v: Meant) => occurrences(b, v) <= occurrences(a, v))),
  hassubsequence: lift((a, b) => b.length === a.reduce((found: number, v: Meant) => (found < b.length && isOne(v, b[found]) ? found + 1 : found), 0)),
  matchespattern: lift((a, b) => new RegExp(b, 'u').test(a)),
  'geo.distance': lift((a, b) => haversine(JSON.parse(a).coordinates, JSON.parse(b).coordinates)),
  'geo.intersects': lift(() => { throw new Error('not asked of the oracle') }),

  round:      round(Decimal.ROUND_HALF_UP),
  floor:      round(Decimal.ROUND_FLOOR),
  ceiling:    round(Decimal.ROUND_CEIL),
}

/** What a value of one type is as one of another; null where it is none. */
export function castMeaning(value: Meant, from: Type, to: ValueType): Meant {
  if (value === null || from === to) return value
  if (to === 'String') return toText(value, from)
  if (from === 'String') return fromText(String(value), to)
  return convert(value, to)
}

function toText(value: Meant, from: Type): string {
  if (from === 'DateTimeOffset') return new Date(Number((value as bigint) / 1000n)).toISOString()
  if (from === 'Date')
    return calendar(value as number)
      .toISOString()
      .slice(0, 10)
  return value instanceof Decimal ? value.toFixed() : String(value)
}

function fromText(text: string, to: ValueType): Meant {
  switch (to) {
    case 'Boolean':
      return text === 'true' ? true : text === 'false' ? false : null
    case 'Int32': case 'Int64':
      return /^[+-]?\d+$/.test(text) ? within(new Exact(text), to) : null
    case 'Decimal':
      return /^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/.test(text) ? new Exact(text) : null
    default:
      return null
  }
} // biome-ignore format: one case for integers

function convert(value: Meant, to: ValueType): Meant {
  switch (to) {
    case 'Int32': case 'Int64':
      return within(new Exact(value as Decimal).trunc(), to)
    case 'Double':
      return Number(value)
    case 'Date':
      return dayOf(value as bigint)
    case 'TimeOfDay':
      return clockOf(value as bigint)
    case 'DateTimeOffset':
      return BigInt(value as number) * DAY
    default:
      return value
  }
} // biome-ignore format: one case for integers

function within(n: Decimal, to: 'Int32' | 'Int64'): Meant {
  const bound = new Exact(2).pow(to === 'Int32' ? 31 : 63)
  return n.gte(bound.neg()) && n.lt(bound) ? n : null
}
