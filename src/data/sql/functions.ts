import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { FunctionName, Type } from '../../query/functions.js'

/** Renders one function; `types` are those of its arguments. */
type Rendering = (args: readonly Sql[], types: readonly Type[]) => Sql

const NOTHING = empty
const unary =
  (f: (a: Sql) => Sql): Rendering =>
  ([a = NOTHING]) =>
    f(a)
const binary =
  (f: (a: Sql, b: Sql) => Sql): Rendering =>
  ([a = NOTHING, b = NOTHING]) =>
    f(a, b)
const infix = (operator: string) => binary((a, b) => sql`(${a} ${raw(operator)} ${b})`)

/** Picks the rendering by the type of the first argument. */
const byType =
  (otherwise: Rendering, special: { readonly [type in Type]?: Rendering }): Rendering =>
  (args, types) =>
    (special[types[0] ?? 'String'] ?? otherwise)(args, types)

const seconds = (n: Sql) => sql`make_interval(secs => (${n})::double precision)`
const days = (n: Sql) => sql`trunc(${n} / 86400)::int`
const epoch = (t: Sql) => sql`extract(epoch from ${t})`
/** A number as PostgreSQL's int, kept within bounds that no text reaches; null stays null. */
const position = (n: Sql) =>
  sql`(case when ${n} > 1000000000 then 1000000000 when ${n} < -1000000000 then -1000000000 else ${n} end)::int`
/**
 * Case of all letters of all scripts, compared by code point afterwards: lower() under "C" changes ASCII
 * only.
 */
const letters = (f: string) => unary(a => sql`(${raw(f)}(${a} collate "und-x-icu") collate "C")`)
/** The characters with the Unicode property White_Space. */
const WHITE_SPACE =
  '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'

/**
 * Comparison is never null (OData 4.01 Part 2, 5.1.1.1): with null, `eq` and `ne` tell sameness, the others
 * are false. NaN equals nothing.
 */
const same = byType(
  binary((a, b) => sql`(${a} is not distinct from ${b})`),
  {
    Double: binary(
      (a, b) => sql`(${a} is not distinct from ${b} and ${a} is distinct from 'NaN'::double precision)`,
    ),
  },
)
const ordered = (operator: string) =>
  byType(
    binary((a, b) => sql`coalesce(${a} ${raw(operator)} ${b}, false)`),
    {
      Double: binary(
        (a, b) =>
          sql`coalesce(${a} ${raw(operator)} ${b} and ${a} <> 'NaN'::double precision and ${b} <> 'NaN'::double precision, false)`,
      ),
    },
  )

const overZero = (a: Sql, b: Sql) =>
  sql`(case when ${a} = 0 or ${a} = 'NaN'::double precision then 'NaN' when (${b})::text = '-0' then sign(${a}) * '-Infinity'::double precision else sign(${a}) * 'Infinity'::double precision end)`
/**
 * Floating division by zero has a value (IEEE 754); that of a field which is zero in some record has none.
 */
const quotient = byType(
  binary((a, b) => sql`(${a} / nullif(${b}, 0))`),
  {
    Int32: binary((a, b) => sql`div((${a})::numeric, nullif(${b}, 0)::numeric)`),
    Int64: binary((a, b) => sql`div((${a})::numeric, nullif(${b}, 0)::numeric)`),
    Double: binary(
      (a, b) => sql`(case when ${b} <> 0 then ${a} / ${b} when ${b} = 0 then ${overZero(a, b)} end)`,
    ),
  },
)
const fraction = binary((a, b) => sql`((${a})::numeric / nullif(${b}, 0))`)
// Integers are computed as numeric: no product or sum of theirs overflows.
const exact = (operator: string) => {
  const integers = binary((a, b) => sql`((${a})::numeric ${raw(operator)} (${b})::numeric)`)
  return { Int32: integers, Int64: integers } as const
}
/** Of an integer PostgreSQL's own functions would make a floating number, where OData has a decimal. */
const whole = unary(a => sql`(${a})::numeric`)
const rounding = (f: string) =>
  byType(
    unary(a => sql`${raw(f)}(${a})`),
    { Int32: whole, Int64: whole, Double: unary(a => sql`${raw(f)}((${a})::numeric)::double precision`) },
  )
const part = (field: string) => unary(a => sql`extract(${raw(field)} from ${a})`)

/**
 * How PostgreSQL says each function as a value: true, false or null as OData has it. `toCondition` in sql.ts
 * has shorter forms for filters, and the only one of `in`, which looks into its list.
 */
// biome-ignore format: table
export const RENDER: Readonly<Record<Exclude<FunctionName, 'in'>, Rendering>> = {
  and:        args => sql`(${join([...args], ' and ')})`,
  or:         args => sql`(${join([...args], ' or ')})`,
  not:        unary(a => sql`(not ${a})`),

  eq:         same,
  ne:         (args, types) => sql`(not ${same(args, types)})`,
  gt:         ordered('>'),
  ge:         ordered('>='),
  lt:         ordered('<'),
  le:         ordered('<='),

  add:        byType(infix('+'), { ...exact('+'), DateTimeOffset: binary((a, b) => sql`(${a} + ${seconds(b)})`), Date: binary((a, b) => sql`(${a} + ${days(b)})`) }),
  sub:        (args, types) => (types[1] === 'Duration' ? LATER : DIFFERENCE)(args, types),
  mul:        byType(infix('*'), exact('*')),
  div:        quotient,
  divby:      byType(quotient, { Int32: fraction, Int64: fraction }),
  mod:        byType(binary((a, b) => sql`mod((${a})::numeric, nullif(${b}, 0)::numeric)`), { Double: binary((a, b) => sql`(case when ${b} = 0 then 'NaN'::double precision + ${a} else mod((${a})::numeric, (${b})::numeric)::double precision end)`) }),
  negate:     byType(unary(a => sql`(- ${a})`), { Int32: unary(a => sql`(- (${a})::numeric)`), Int64: unary(a => sql`(- (${a})::numeric)`) }),

  contains:   binary((a, b) => sql`(strpos(${a}, ${b}) > 0)`),
  startswith: binary((a, b) => sql`starts_with(${a}, ${b})`),
  endswith:   binary((a, b) => sql`(right(${a}, length(${b})) = ${b})`),
  length:     byType(unary(a => sql`length(${a})`), { 'Collection(String)': unary(a => sql`cardinality(${a})`) }),
  indexof:    binary((a, b) => sql`(strpos(${a}, ${b}) - 1)`),
  substring:  ([a = NOTHING, start = NOTHING, length]) => length ? sql`substr(${a}, ${first(a, start)}, ${clipped(position(length))})` : sql`substr(${a}, ${first(a, start)})`,
  concat:     binary((a, b) => sql`(${a} || ${b})`),
  tolower:    letters('lower'),
  toupper:    letters('upper'),
  trim:       unary(a => sql`btrim(${a}, ${WHITE_SPACE})`),

  year:       part('year'),
  month:      part('month'),
  day:        part('day'),
  hour:       part('hour'),
  minute:     part('minute'),
  second:     unary(a => sql`floor(extract(second from ${a}))`),
  fractionalseconds:  unary(a => sql`mod(extract(second from ${a}), 1)`),
  totaloffsetminutes: unary(a => sql`(case when ${a} is not null then 0 end)`),
  totalseconds: unary(a => a),
  date:       unary(a => sql`(${a})::date`),
  time:       unary(a => sql`(${a})::time`),
  now:        () => sql`now()`,
  mindatetime: () => sql`timestamptz '0001-01-01 00:00:00Z'`,
  maxdatetime: () => sql`timestamptz '9999-12-31 23:59:59.999999Z'`,

  case:       args => sql`(case ${join(pairs(args).map(([when, then]) => sql`when ${when} then ${then}`), ' ')} end)`,
  hassubset:      binary((a, b) => sql`has_subset(${a}, ${b})`),
  hassubsequence: binary((a, b) => sql`has_subsequence(${a}, ${b})`),
  matchespattern: infix('~'),
  'geo.distance':   binary((a, b) => sql`geo_distance(geo_point(${a}), geo_point(${b}))`),
  'geo.intersects': binary((a, b) => sql`geo_inside(geo_point(${a}), ${b})`),

  round:      rounding('round'),
  floor:      rounding('floor'),
  ceiling:    rounding('ceil'),
}

const LATER = byType(infix('-'), {
  DateTimeOffset: binary((a, b) => sql`(${a} - ${seconds(b)})`),
  Date: binary((a, b) => sql`(${a} - ${days(b)})`),
})
const DIFFERENCE = byType(infix('-'), {
  ...exact('-'),
  DateTimeOffset: binary((a, b) => sql`(${epoch(a)} - ${epoch(b)})`),
  Date: binary((a, b) => sql`((${a} - ${b})::numeric * 86400)`),
})

const pairs = (args: readonly Sql[]) =>
  args.flatMap((a, i) => (i % 2 === 0 ? [[a, args[i + 1] ?? NOTHING] as const] : []))
const clipped = (n: Sql) => sql`(case when ${n} < 0 then 0 else ${n} end)`
/** Zero-based to one-based; a negative start counts from the end (OData 4.01 Part 2, 5.1.1.5.7). */
const first = (text: Sql, start: Sql) =>
  sql`(case when ${start} < 0 then greatest(length(${text}) + ${position(start)}, 0) else ${position(start)} end + 1)`
