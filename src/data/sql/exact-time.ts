import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Value } from '../../query/ast.js'
import type { FunctionName, ValueType } from '../../query/functions.js'
import type { CallExpr, Expr } from '../../query/plan.js'
import { isPointInTime, isSubMicrosecond } from '../../query/sub-microsecond.js'
import { toCast } from './casts.js'
import { evaluateOnce } from './evaluate-once.js'

// Points in time with digits below a microsecond, as numeric seconds since 1970 or since midnight.

type ToSql = (expr: Expr) => Sql

/** Functions that compare values, and collections of them. */
const COMPARING_FUNCTIONS: ReadonlySet<FunctionName> = new Set([
  'eq', 'ne', 'gt', 'ge', 'lt', 'le', 'in', 'hassubset', 'hassubsequence',
]) // biome-ignore format: words

/**
 * The same comparison of durations, if an operand is a point in time with digits below a microsecond:
 * `x gt <t>` -> `(x sub <epoch>) gt (<t> sub <epoch>)`. Other calls are returned as they are.
 */
export function compareAsDurations(call: CallExpr): CallExpr {
  if (!COMPARING_FUNCTIONS.has(call.fn) || !call.args.some(isExactOperand)) return call
  return { ...call, args: call.args.map(toDuration) }
}

const isExactOperand = (expr: Expr): boolean =>
  (expr.kind === 'list' ? expr.items.some(isExactOperand) : isPointInTime(expr.type)) &&
  isSubMicrosecond(expr)

function toDuration(expr: Expr): Expr {
  if (expr.kind === 'list')
    return { ...expr, items: expr.items.map(toDuration), type: 'Collection(Duration)' }
  if (expr.kind === 'literal') return { kind: 'literal', type: 'Duration', value: toSeconds(expr.value) }
  const start = { kind: 'literal', type: expr.type as ValueType, value: START[expr.type] ?? null } as const // no collection
  return { kind: 'call', fn: 'sub', args: [expr, start], type: 'Duration' }
}

const START: Readonly<Record<string, string>> = {
  DateTimeOffset: '1970-01-01T00:00:00Z',
  TimeOfDay: '00:00:00',
}

/** The seconds of a literal since 1970 or since midnight, as exact decimal text. */
function toSeconds(literal: Value): Value {
  const [, date = '1970-01-01', time = '', fraction = ''] =
    /^(?:(.+)T)?([\d:]+)(?:\.(\d+))?Z?$/.exec(String(literal)) ?? []
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number)
  if (literal === null) return null
  const whole = Date.parse(`${date}T00:00:00Z`) / 1000 + hours * 3600 + minutes * 60 + seconds
  const scaled = BigInt(whole) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'))
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(13, '0')
  return `${scaled < 0n ? '-' : ''}${digits.slice(0, -12)}.${digits.slice(-12)}`
}

/**
 * A call whose operands have digits below a microsecond, computed with all of them; undefined if the call does
 * not need it. A resulting point in time is truncated to microseconds.
 */
export function toExactTimeSql(call: CallExpr, toSql: ToSql): Sql | undefined {
  const { fn, args, type } = call
  const [first, second] = args
  // The language has no subtraction of times of day. Such a call comes from `compareAsDurations`.
  if (!first || !(first.type === 'TimeOfDay' || args.some(isSubMicrosecond))) return undefined
  if (type === 'DateTimeOffset' && (fn === 'add' || fn === 'sub'))
    return fromEpochSeconds(toExactSeconds(call, toSql))
  if (type === 'Duration' && fn === 'sub' && second && isPointInTime(first.type))
    return sql`(${toExactSeconds(first, toSql)} - ${toExactSeconds(second, toSql)})`
  return fn === 'fractionalseconds'
    ? evaluateOnce([toExactSeconds(first, toSql)], t => sql`(${t} - floor(${t}))`)
    : undefined
}

/** A point in time as numeric seconds, with all digits. */
function toExactSeconds(expr: Expr, toSql: ToSql): Sql {
  const exact = (e: Expr) => toExactSeconds(e, toSql)
  if (!isSubMicrosecond(expr)) return sql`extract(epoch from ${toSql(expr)})`
  switch (expr.kind) {
    case 'literal':
      return sql`${toSeconds(expr.value)}::numeric`
    case 'cast':
      return toExactCast(expr, exact, toSql)
    case 'nullUnless':
      return sql`(case when ${toSql(expr.when)} then ${exact(expr.value)} end)`
    case 'call':
      return toExactCall(expr, exact, toSql)
    default:
      throw new Error(`${expr.kind} has no digits below a microsecond`)
  }
}

function toExactCast({ arg, type }: Expr & { readonly kind: 'cast' }, exact: ToSql, toSql: ToSql): Sql {
  if (arg.type === 'String')
    return evaluateOnce(
      [toSql(arg)],
      a => sql`(extract(epoch from ${toCast(a, 'String', type)}) + ${digitsBelowMicrosecond(a)})`,
    )
  return arg.type === type ? exact(arg) : toTimeOfDay(exact(arg))
}

function toExactCall({ fn, args }: CallExpr, exact: ToSql, toSql: ToSql): Sql {
  const [first, second] = args
  if (fn === 'case') {
    const branches = args.flatMap((arg, i) =>
      i % 2 === 0 ? sql`when ${toSql(arg)}` : sql`then ${exact(arg)}`,
    )
    return sql`(case ${join(branches, ' ')} end)`
  }
  if (fn === 'time' && first) return toTimeOfDay(exact(first))
  if ((fn !== 'add' && fn !== 'sub') || !first || !second)
    throw new Error(`${fn} is no function of points in time`)
  return sql`(${exact(first)} ${raw(fn === 'add' ? '+' : '-')} ${toSql(second)})`
}

const toTimeOfDay = (seconds: Sql) => evaluateOnce([seconds], t => sql`(${t} - floor(${t} / 86400) * 86400)`)

/** The digits of a text after the sixth decimal, as seconds. Null remains null. */
const digitsBelowMicrosecond = (text: Sql) =>
  sql`concat('0.000000', substring(${text} from '\\.\\d{6}(\\d+)'))::numeric`

/** The microsecond at or before a number of seconds since 1970. */
const fromEpochSeconds = (seconds: Sql) =>
  evaluateOnce(
    [seconds],
    t =>
      sql`(timestamptz 'epoch' + make_interval(days => floor(${t} / 86400)::int) + floor((${t} - floor(${t} / 86400) * 86400) * 1000000)::double precision * interval '1 microsecond')`,
  )

/**
 * Renders a duration as an interval. Double precision represents every microsecond of a day, but not of a
 * century.
 */
export const toInterval = (seconds: Sql): Sql =>
  evaluateOnce(
    [seconds],
    s => sql`make_interval(days => trunc(${s} / 86400)::int, secs => mod(${s}, 86400)::double precision)`,
  )
