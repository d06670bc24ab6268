import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { ExprType, FunctionName } from '../../query/functions.js'
import { doubleToNumeric } from './casts.js'
import { evaluateOnce } from './evaluate-once.js'
import { toInterval } from './exact-time.js'

/** Renders a function call. `types` are the types of the arguments. */
type SqlFunction = (args: readonly Sql[], types: readonly ExprType[]) => Sql

const MISSING_ARGUMENT = empty
const unary =
  (f: (a: Sql) => Sql): SqlFunction =>
  ([a = MISSING_ARGUMENT]) =>
    f(a)
const binary =
  (f: (a: Sql, b: Sql) => Sql): SqlFunction =>
  ([a = MISSING_ARGUMENT, b = MISSING_ARGUMENT]) =>
    f(a, b)
/** The same for a rendering that names an operand more than once. */
const binaryOnce = (f: (a: Sql, b: Sql) => Sql): SqlFunction => binary((a, b) => evaluateOnce([a, b], f))
const infix = (operator: string) => binary((a, b) => sql`(${a} ${raw(operator)} ${b})`)

/** Selects the SQL by the type of the first argument. */
const overloadByType =
  (otherwise: SqlFunction, byOperandType: { readonly [type in ExprType]?: SqlFunction }): SqlFunction =>
  (args, types) =>
    (byOperandType[types[0] ?? 'String'] ?? otherwise)(args, types)

const toWholeDays = (n: Sql) => sql`trunc(${n} / 86400)::int`
const toEpochSeconds = (t: Sql) => sql`extract(epoch from ${t})`
/** Casts a number to int, clamped to bounds beyond the length of any text. Null remains null. */
const clampToInt = (n: Sql) =>
  evaluateOnce(
    [n],
    x =>
      sql`(case when ${x} > 1000000000 then 1000000000 when ${x} < -1000000000 then -1000000000 else ${x} end)::int`,
  )
/**
 * Maps the case of the letters of all scripts. The result compares by code point again. lower() under
 * collation "C" changes only ASCII letters.
 */
const caseMapping = (f: string) => unary(a => sql`(${raw(f)}(${a} collate "und-x-icu") collate "C")`)
/** Characters with the Unicode property White_Space. */
const UNICODE_WHITE_SPACE =
  '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'

/**
 * Comparisons are never null (OData 4.01 Part 2, 5.1.1.1). `eq` and `ne` compare nulls as values, the others
 * are false for null. NaN equals nothing.
 */
const equality = overloadByType(
  binary((a, b) => sql`(${a} is not distinct from ${b})`),
  {
    Double: binaryOnce(
      (a, b) => sql`(${a} is not distinct from ${b} and ${a} is distinct from 'NaN'::double precision)`,
    ),
  },
)
const orderComparison = (operator: string) =>
  overloadByType(
    binary((a, b) => sql`coalesce(${a} ${raw(operator)} ${b}, false)`),
    {
      Double: binaryOnce(
        (a, b) =>
          sql`coalesce(${a} ${raw(operator)} ${b} and ${a} <> 'NaN'::double precision and ${b} <> 'NaN'::double precision, false)`,
      ),
    },
  )

const toDivisionByZero = (a: Sql, b: Sql) =>
  sql`(case when ${a} = 0 or ${a} = 'NaN'::double precision then 'NaN' when (${b})::text = '-0' then sign(${a}) * '-Infinity'::double precision else sign(${a}) * 'Infinity'::double precision end)`
/** Division of doubles by zero has a value (IEEE 754). Other division by zero is null. */
const division = overloadByType(
  binary((a, b) => sql`(${a} / nullif(${b}, 0))`),
  {
    Int32: binary((a, b) => sql`div((${a})::numeric, nullif(${b}, 0)::numeric)`),
    Int64: binary((a, b) => sql`div((${a})::numeric, nullif(${b}, 0)::numeric)`),
    Double: binaryOnce(
      (a, b) => sql`(case when ${b} <> 0 then ${a} / ${b} when ${b} = 0 then ${toDivisionByZero(a, b)} end)`,
    ),
  },
)
const decimalDivision = binary((a, b) => sql`((${a})::numeric / nullif(${b}, 0))`)
// Integers are computed as numeric, so that products and sums do not overflow.
const integerArithmetic = (operator: string) => {
  const integers = binary((a, b) => sql`((${a})::numeric ${raw(operator)} (${b})::numeric)`)
  return { Int32: integers, Int64: integers } as const
}
/** PostgreSQL's functions return a double for an integer. OData requires a decimal. */
const integerAsNumeric = unary(a => sql`(${a})::numeric`)
const rounding = (f: string) =>
  overloadByType(
    unary(a => sql`${raw(f)}(${a})`),
    {
      Int32: integerAsNumeric,
      Int64: integerAsNumeric,
      Double: unary(a => sql`${raw(f)}(${doubleToNumeric(a)})::double precision`),
    },
  )
const extractField = (field: string) => unary(a => sql`extract(${raw(field)} from ${a})`)

/**
 * The SQL of each function as a value: true, false or null as in OData. `toCondition` in expression.ts has
 * shorter forms for filters, and the only form of `in`, which depends on the list.
 *   `length(City)` → `length(r0."City")`
 */
// biome-ignore format: table
export const SQL_FUNCTIONS: Readonly<Record<Exclude<FunctionName, 'in'>, SqlFunction>> = {
  and:        args => sql`(${join([...args], ' and ')})`,
  or:         args => sql`(${join([...args], ' or ')})`,
  not:        unary(a => sql`(not ${a})`),

  eq:         equality,
  ne:         (args, types) => sql`(not ${equality(args, types)})`,
  gt:         orderComparison('>'),
  ge:         orderComparison('>='),
  lt:         orderComparison('<'),
  le:         orderComparison('<='),

  add:        overloadByType(infix('+'), { ...integerArithmetic('+'), DateTimeOffset: binary((a, b) => sql`(${a} + ${toInterval(b)})`), Date: binary((a, b) => sql`(${a} + ${toWholeDays(b)})`) }),
  sub:        (args, types) => (types[1] === 'Duration' ? SUBTRACT_DURATION : SUBTRACT)(args, types),
  mul:        overloadByType(infix('*'), integerArithmetic('*')),
  div:        division,
  divby:      overloadByType(division, { Int32: decimalDivision, Int64: decimalDivision }),
  mod:        overloadByType(binary((a, b) => sql`mod((${a})::numeric, nullif(${b}, 0)::numeric)`), { Double: binaryOnce((a, b) => sql`(case when ${b} = 0 then 'NaN'::double precision + ${a} else mod(${doubleToNumeric(a)}, ${doubleToNumeric(b)})::double precision end)`) }),
  negate:     overloadByType(unary(a => sql`(- ${a})`), { Int32: unary(a => sql`(- (${a})::numeric)`), Int64: unary(a => sql`(- (${a})::numeric)`) }),

  contains:   binary((a, b) => sql`(strpos(${a}, ${b}) > 0)`),
  startswith: binary((a, b) => sql`starts_with(${a}, ${b})`),
  endswith:   binaryOnce((a, b) => sql`(right(${a}, length(${b})) = ${b})`),
  length:     overloadByType(unary(a => sql`length(${a})`), { 'Collection(String)': unary(a => sql`cardinality(${a})`) }),
  indexof:    binary((a, b) => sql`(strpos(${a}, ${b}) - 1)`),
  substring:  ([a = MISSING_ARGUMENT, start = MISSING_ARGUMENT, length]) => evaluateOnce([a, start], (text, from) => length ? sql`substr(${text}, ${toSubstrStart(text, from)}, ${toNonNegative(clampToInt(length))})` : sql`substr(${text}, ${toSubstrStart(text, from)})`),
  concat:     binary((a, b) => sql`(${a} || ${b})`),
  tolower:    caseMapping('lower'),
  toupper:    caseMapping('upper'),
  trim:       unary(a => sql`btrim(${a}, ${UNICODE_WHITE_SPACE})`),

  year:       extractField('year'),
  month:      extractField('month'),
  day:        extractField('day'),
  hour:       extractField('hour'),
  minute:     extractField('minute'),
  second:     unary(a => sql`floor(extract(second from ${a}))`),
  fractionalseconds:  unary(a => sql`mod(extract(second from ${a}), 1)`),
  totaloffsetminutes: unary(a => sql`(case when ${a} is not null then 0 end)`),
  totalseconds: unary(a => a),
  date:       unary(a => sql`(${a})::date`),
  time:       unary(a => sql`(${a})::time`),
  now:        () => sql`now()`,
  mindatetime: () => sql`timestamptz '0001-01-01 00:00:00Z'`,
  maxdatetime: () => sql`timestamptz '9999-12-31 23:59:59.999999Z'`,

  case:       args => sql`(case ${join(whenThenPairs(args).map(([when, then]) => sql`when ${when} then ${then}`), ' ')} end)`,
  hassubset:      binary((a, b) => sql`has_subset(${a}, ${b})`),
  hassubsequence: binary((a, b) => sql`has_subsequence(${a}, ${b})`),
  matchespattern: infix('~'),
  'geo.distance':   binary((a, b) => sql`geo_distance(geo_point(${a}), geo_point(${b}))`),
  'geo.intersects': binary((a, b) => sql`geo_inside(geo_point(${a}), ${b})`),

  round:      rounding('round'),
  floor:      rounding('floor'),
  ceiling:    rounding('ceil'),
}

const SUBTRACT_DURATION = overloadByType(infix('-'), {
  DateTimeOffset: binary((a, b) => sql`(${a} - ${toInterval(b)})`),
  Date: binary((a, b) => sql`(${a} - ${toWholeDays(b)})`),
})
const SUBTRACT = overloadByType(infix('-'), {
  ...integerArithmetic('-'),
  DateTimeOffset: binary((a, b) => sql`(${toEpochSeconds(a)} - ${toEpochSeconds(b)})`),
  Date: binary((a, b) => sql`((${a} - ${b})::numeric * 86400)`),
})

const whenThenPairs = (args: readonly Sql[]) =>
  args.flatMap((a, i) => (i % 2 === 0 ? [[a, args[i + 1] ?? MISSING_ARGUMENT] as const] : []))
const toNonNegative = (n: Sql) => evaluateOnce([n], x => sql`(case when ${x} < 0 then 0 else ${x} end)`)
/**
 * Converts a zero-based start to one-based. A negative start counts from the end (OData 4.01 Part 2,
 * 5.1.1.5.7).
 */
const toSubstrStart = (text: Sql, start: Sql) =>
  sql`(case when ${start} < 0 then greatest(length(${text}) + ${clampToInt(start)}, 0) else ${clampToInt(start)} end + 1)`
