import sql, { raw, type Sql } from 'sql-template-tag'
import type { ExprType, ValueType } from '../../query/functions.js'
import { evaluateOnce } from './evaluate-once.js'

const TIMESTAMP_FORMAT = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`

/**
 * Renders a timestamp as text in UTC with milliseconds and `Z`. The session's time zone must be UTC.
 *   `r0."X"` → `to_char(r0."X", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
 */
export const toTimestampText = (a: Sql) => sql`to_char(${a}, ${raw(TIMESTAMP_FORMAT)})`
/**
 * Renders an exact number as text without trailing zeros.
 *   `r0."ListPrice"` → `trim_scale((r0."ListPrice")::numeric)::text`
 */
export const toDecimalText = (a: Sql) => sql`trim_scale((${a})::numeric)::text`

/** A double with all its digits: a direct cast would keep 15 of them. */
export const doubleToNumeric = (a: Sql) => sql`(${a})::text::numeric`

/** Checks text before it is converted. Text that PostgreSQL would refuse becomes null, as in OData. */
const ifMatches = (a: Sql, pattern: string, then: Sql) => sql`(case when ${a} ~ ${pattern} then ${then} end)`
const NUMBER = String.raw`^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$`
const INTEGER = String.raw`^[+-]?\d+$`
/** PostgreSQL has no year 0. */
const DATE = String.raw`^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`
const TIME_OF_DAY = String.raw`([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,12})?)?`

const nullUnlessBetween = (n: Sql, low: string, high: string) =>
  evaluateOnce([n], x => sql`(case when ${x} between ${raw(low)} and ${raw(high)} then ${x} end)`)
const nullUnlessInt32 = (n: Sql) => nullUnlessBetween(n, '-2147483648', '2147483647')
const nullUnlessInt64 = (n: Sql) => nullUnlessBetween(n, '-9223372036854775808', '9223372036854775807')
/** A timestamp in the years 0001 to 9999 of UTC. An offset can move one out of them. */
const nullUnlessInYears = (n: Sql) =>
  nullUnlessBetween(n, `'0001-01-01T00:00:00Z'`, `'9999-12-31T23:59:59.999999Z'`)
/** PostgreSQL refuses texts beyond the range of a double, and those so small that they would be zero. */
const toDoubleOrNull = (a: Sql) =>
  sql`(case when ${a} ~ ${NUMBER} then (case when (${a})::numeric = 0 or abs((${a})::numeric) between '4.95e-324' and '1.7976931348623157e308' then (${a})::numeric::double precision end) end)`
/** The text of a point in time with microseconds: PostgreSQL would round further digits. */
const truncateFraction = (a: Sql) => sql`regexp_replace(${a}, '(\\.\\d{6})\\d+', '\\1')`
/** A date that exists. to_date would accept 31 April as 1 May. */
const toDateOrNull = (a: Sql) =>
  sql`(case when substr(${a}, 9, 2)::int <= extract(day from (substr(${a}, 1, 7) || '-01')::date + interval '1 month - 1 day') then substr(${a}, 1, 10)::date end)`

const CASTS_TO_STRING: { readonly [from in ExprType]?: (a: Sql) => Sql } = {
  Boolean: a => sql`(case when ${a} then 'true' when not ${a} then 'false' end)`,
  Int32: toDecimalText,
  Int64: toDecimalText,
  Decimal: toDecimalText,
  Double: a =>
    sql`(case (${a})::text when 'Infinity' then 'INF' when '-Infinity' then '-INF' else (${a})::text end)`,
  DateTimeOffset: toTimestampText,
}

/**
 * Converts a value to another type, or to null if it does not fit (OData 4.01 Part 2, 5.1.1.10.1).
 *   `cast(ListPrice,Edm.String)` → `(trim_scale((r0."ListPrice")::numeric)::text collate "C")`
 */
export function toCast(a: Sql, from: ExprType, to: ValueType): Sql {
  if (from === to) return a
  return evaluateOnce([a], operand => renderCast(operand, from, to))
}

function renderCast(a: Sql, from: ExprType, to: ValueType): Sql {
  if (to === 'String') return sql`(${(CASTS_TO_STRING[from] ?? (x => sql`(${x})::text`))(a)} collate "C")`
  if (from === 'String') return (CASTS_FROM_STRING[to] ?? (() => sql`null`))(a)
  return (CASTS_BY_TARGET[to] ?? (x => x))(from === 'Double' ? doubleToNumeric(a) : a)
}

const CASTS_FROM_STRING: { readonly [to in ValueType]?: (a: Sql) => Sql } = {
  Boolean: a => sql`(case ${a} when 'true' then true when 'false' then false end)`,
  Int32: a => nullUnlessInt32(ifMatches(a, INTEGER, sql`(${a})::numeric`)),
  Int64: a => nullUnlessInt64(ifMatches(a, INTEGER, sql`(${a})::numeric`)),
  Decimal: a => ifMatches(a, NUMBER, sql`(${a})::numeric`),
  Double: a =>
    sql`(case ${a} when 'INF' then 'Infinity' when '-INF' then '-Infinity' when 'NaN' then 'NaN' else ${toDoubleOrNull(a)} end)`,
  Date: a => ifMatches(a, `${DATE}$`, toDateOrNull(a)),
  TimeOfDay: a => ifMatches(a, `^${TIME_OF_DAY}$`, sql`(${truncateFraction(a)})::time`),
  DateTimeOffset: a =>
    ifMatches(
      a,
      `${DATE}T${TIME_OF_DAY}(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$`,
      nullUnlessInYears(
        sql`(case when ${toDateOrNull(a)} is not null then (${truncateFraction(a)})::timestamptz end)`,
      ),
    ),
}

const CASTS_BY_TARGET: { readonly [to in ValueType]?: (a: Sql) => Sql } = {
  Int32: a => nullUnlessInt32(sql`trunc((${a})::numeric)`),
  Int64: a => nullUnlessInt64(sql`trunc((${a})::numeric)`),
  Decimal: a => sql`(case when abs((${a})::numeric) < 'Infinity'::numeric then (${a})::numeric end)`,
  Double: a => sql`(${a})::double precision`,
  DateTimeOffset: a => sql`(${a})::timestamptz`,
  Date: a => sql`(${a})::date`,
  TimeOfDay: a => sql`(${a})::time`,
}
