import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { SearchAst } from '../../query/ast.js'
import type { Type } from '../../query/functions.js'
import { toPostgres } from '../../query/pattern.js'
import { call, type Expr, isNull } from '../../query/plan.js'
import { renderCast } from './casts.js'
import { pgType, toColumn, toLiteral, toRows } from './columns.js'
import { COMPLEMENT, type Comparison, isComparison, isOrder } from './comparison.js'
import { RENDER } from './functions.js'
import { toOverlap, toPrefilter, toServed } from './indexable.js'

type List = Expr & { kind: 'list' }

/** An expression as a value: exactly as OData defines it, nulls included. */
export function toSql(expr: Expr): Sql {
  switch (expr.kind) {
    case 'literal':
      return toLiteral(expr.value, expr.type)
    case 'list':
      return toArray(expr)
    case 'column':
      return toColumn(expr.scalar, expr.source)
    case 'element':
      return raw(`${expr.row}.value`)
    case 'result':
      return raw(`${expr.row}."${expr.name}"`)
    case 'call':
      return toCall(expr)
    case 'cast':
      return renderCast(toSql(expr.arg), expr.arg.type, expr.type)
    case 'guarded':
      return sql`(case when ${toCondition(expr.when)} then ${toSql(expr.value)} end)`
    case 'lambda':
      return toCondition(expr)
    case 'search':
      return sql`(${raw(`${expr.row}."ListingKey"`)} in (select "ListingKey" from "PropertyText" where "SearchText" @@ ${toTextQuery(expr.asked)}))`
    case 'count':
      return toCount(expr)
  }
}

function toCall(expr: Expr & { kind: 'call' }): Sql {
  if (expr.fn === 'in') return sql`coalesce(${toCondition(expr)}, false)`
  if (expr.fn === 'matchespattern')
    return RENDER.matchespattern(
      expr.args.map((a, i) => toSql(i === 1 ? toPostgresPattern(a) : a)),
      operandTypes(expr),
    )
  return RENDER[expr.fn](expr.args.map(toPromoted(expr)), operandTypes(expr))
}

const toPostgresPattern = (pattern: Expr): Expr =>
  pattern.kind === 'literal' && pattern.value !== null
    ? { ...pattern, value: toPostgres(String(pattern.value)) ?? null }
    : pattern

/** What `$search` asks for: a phrase matches its words in this order (OData 4.01 Part 2, 5.1.8). */
function toTextQuery(asked: SearchAst): Sql {
  switch (asked.kind) {
    case 'phrase':
      return sql`phraseto_tsquery('simple', ${asked.text})`
    case 'not':
      return sql`!! ${toTextQuery(asked.operand)}`
    case 'and':
    case 'or':
      return sql`(${toTextQuery(asked.left)} ${raw(asked.kind === 'and' ? '&&' : '||')} ${toTextQuery(asked.right)})`
  }
}

/** Where a Double meets an exact number, both are compared and computed as Double. */
const toPromoted = (expr: Expr & { kind: 'call' }) => {
  const isDouble = expr.args.some(a => a.type === 'Double')
  return (arg: Expr) =>
    isDouble && EXACT.has(arg.type) ? sql`(${toSql(arg)})::double precision` : toSql(arg)
}

const EXACT: ReadonlySet<Type> = new Set(['Int32', 'Int64', 'Decimal'])

/** The types that the overload works on: the widest numeric one of all arguments. */
function operandTypes({ args }: Expr & { kind: 'call' }): readonly Type[] {
  const widest = (['Double', 'Decimal'] as const).find(t => args.some(a => a.type === t))
  return args.map(a => (widest && EXACT.has(a.type) ? widest : a.type))
}

function toArray({ items, type }: List): Sql {
  const values = items.map(i => (i.kind === 'literal' ? i.value : undefined))
  if (values.every(v => v !== undefined)) return sql`${values}::${raw(pgType(type))}`
  return sql`array[${join(items.map(toSql))}]::${raw(pgType(type))}`
}

function toCount({ over, row, filter }: Expr & { kind: 'count' }): Sql {
  if (over.kind === 'values') return sql`coalesce(cardinality(${toColumn(over.scalar, over.source)}), 0)`
  const { from, join } = toRows(over, row)
  return sql`(select count(*) from ${from} where ${join}${filter ? sql` and ${toCondition(filter)}` : empty})`
}

const OPERATOR: Readonly<Record<Comparison, string>> = {
  eq: '=',
  ne: '<>',
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
}

/**
 * How many records a statement looks at. Whether the one related record meets something, PostgreSQL may find
 * out by reading all of the other table at once. It cannot know that a page needs few of them, and read two
 * million listings for a page of a hundred photos: for `some`, records are looked up one by one.
 */
export type Extent = 'some' | 'all'

/**
 * A condition for `where`, in which only true counts, so null may stand for false: that allows the plain
 * comparisons that indexes serve. `negated` is the condition under a `not`, which is pushed inward by De
 * Morgan's laws (they hold for three values too); at the leaves the complement is exact, nulls included.
 */
export function toCondition(expr: Expr, negated = false, extent: Extent = 'some'): Sql {
  switch (expr.kind) {
    case 'literal':
      return raw(String(expr.value !== null && expr.value !== negated))
    case 'call':
      return callCondition(expr, negated, extent)
    case 'lambda':
      return lambdaCondition(expr, negated, extent)
    default:
      return negated ? sql`(not ${toSql(expr)})` : toSql(expr)
  }
}

function callCondition(expr: Expr & { kind: 'call' }, negated: boolean, extent: Extent): Sql {
  const served = negated ? undefined : toServed(expr)
  if (served) return served
  const prefilter = negated ? undefined : toPrefilter(expr)
  return prefilter
    ? sql`(${prefilter} and ${plainCondition(expr, negated, extent)})`
    : plainCondition(expr, negated, extent)
}

function plainCondition(expr: Expr & { kind: 'call' }, negated: boolean, extent: Extent): Sql {
  const [left, right] = expr.args
  if (expr.fn === 'and' || expr.fn === 'or') {
    const word = (expr.fn === 'and') !== negated ? ' and ' : ' or '
    return sql`(${join(
      expr.args.map(a => toCondition(a, negated, extent)),
      word,
    )})`
  }
  if (!left) return negated ? sql`(not ${toSql(expr)})` : toSql(expr)
  if (expr.fn === 'not') return toCondition(left, !negated, extent)
  if (right && isComparison(expr.fn))
    return comparison(negated ? COMPLEMENT[expr.fn] : expr.fn, left, right, negated)
  if (right && expr.fn === 'in') return membership(left, right, negated)
  return negated ? sql`(not ${toSql(expr)})` : toSql(expr)
}

/**
 * `fn` is already the complement where the condition is negated. The complement of an order comparison holds
 * for nulls too, of which the comparison itself is false.
 */
function comparison(fn: Comparison, left: Expr, right: Expr, negated: boolean): Sql {
  if (isNull(left) || isNull(right)) return nullComparison(fn, isNull(right) ? left : right, negated)
  // Of floating numbers the full form knows NaN.
  if (left.type === 'Double' || right.type === 'Double') return fullComparison(fn, left, right, negated)
  if (isNeverNull(left) && isNeverNull(right)) return plainComparison(fn, left, right)
  if (isOrder(fn))
    return negated
      ? sql`(${plainComparison(COMPLEMENT[fn], left, right)} is not true)`
      : plainComparison(fn, left, right)
  if (fn === 'ne') return sql`(${toSql(left)} is distinct from ${toSql(right)})`
  // An index serves "=", never "is not distinct from"; they differ only where both sides can be null.
  return isNeverNull(left) || isNeverNull(right)
    ? plainComparison(fn, left, right)
    : sql`(${toSql(left)} is not distinct from ${toSql(right)})`
}

function nullComparison(fn: Comparison, value: Expr, negated: boolean): Sql {
  return isOrder(fn)
    ? raw(String(negated))
    : sql`(${toSql(value)} is ${raw(fn === 'eq' ? 'null' : 'not null')})`
}

const plainComparison = (fn: Comparison, left: Expr, right: Expr) =>
  sql`(${toSql(left)} ${raw(OPERATOR[fn])} ${toSql(right)})`

function fullComparison(fn: Comparison, left: Expr, right: Expr, negated: boolean): Sql {
  const asked = call(negated ? COMPLEMENT[fn] : fn, left, right)
  return negated ? sql`(not ${toSql(asked)})` : toSql(asked)
}

/** Whether a value is there in every record. */
export function isNeverNull(expr: Expr): boolean {
  if (expr.kind === 'literal') return expr.value !== null
  if (expr.kind === 'column') return !expr.scalar.nullable && expr.source.kind === 'row'
  return expr.kind === 'element' || expr.kind === 'count' || (expr.kind === 'call' && expr.fn === 'now')
}

/** `in` is `eq` of any item, so null finds null (OData 4.01 Part 2, 5.1.1.1.12). */
function membership(left: Expr, list: Expr, negated: boolean): Sql {
  const items = list.kind === 'list' ? list.items : undefined
  // What is computed can be null, and larger than the type of the list.
  if (items?.some(i => i.kind !== 'literal'))
    return toCondition(call('or', ...items.map(i => call('eq', left, i))), negated)
  // Without the cast PostgreSQL would take a subquery for the rows to compare with.
  const values =
    list.kind === 'list' ? toArray(withoutOddities(list)) : sql`(${toSql(list)})::${raw(pgType(list.type))}`
  const found = sql`${toSql(left)} = any(${values})`
  const nullToo = items?.some(isNull) ? sql` or ${toSql(left)} is null` : empty
  return negated ? sql`((${found}${nullToo}) is not true)` : sql`(${found}${nullToo})`
}

/** Null is asked for apart; NaN equals nothing, itself included. */
const withoutOddities = (list: List): List => ({
  ...list,
  items: list.items.filter(i => !isNull(i) && !isNotANumber(i)),
})
const isNotANumber = (expr: Expr) => expr.kind === 'literal' && expr.type === 'Double' && expr.value === 'NaN'

/**
 * `any` of nothing is false, `all` of nothing true; a predicate that is null is not true (OData 4.01 Part 2,
 * 5.1.1.13).
 */
function lambdaCondition(expr: Expr & { kind: 'lambda' }, negated: boolean, extent: Extent): Sql {
  const { quantifier, over, row, body } = expr
  const overlap = quantifier === 'any' ? toOverlap(expr) : undefined
  if (overlap) return negated ? sql`(not ${overlap})` : overlap
  const { from, join: on } = toRows(over, row)
  if (extent === 'some' && quantifier === 'any' && over.kind === 'records' && !over.navigation.collection)
    return sql`(${raw(negated ? 'not ' : '')}coalesce((select ${body ? toCondition(body) : raw('true')} from ${from} where ${on}), false))`
  const exists = (quantifier === 'any') !== negated ? raw('exists') : raw('not exists')
  if (!body) return sql`(${exists} (select from ${from} where ${on}))`
  return quantifier === 'any'
    ? sql`(${exists} (select from ${from} where ${on} and ${toCondition(body)}))`
    : sql`(${exists} (select from ${from} where ${on} and (${toSql(body)}) is not true))`
}
