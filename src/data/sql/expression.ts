import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { SearchAst } from '../../query/ast.js'
import type { ExprType } from '../../query/functions.js'
import { toPostgresRegex } from '../../query/pattern.js'
import { type CallExpr, type Expr, isNonNullLiteral, isNull, predicate } from '../../query/plan.js'
import { toCast } from './casts.js'
import { pgType, toCollectionRows, toColumn, toParameter, toParameterSql, toSqlLiteral } from './columns.js'
import {
  type ComparisonOperator,
  isComparisonOperator,
  isOrderingOperator,
  NEGATORS,
  SQL_OPERATORS,
} from './comparison.js'
import { compareAsDurations, toExactTimeSql } from './exact-time.js'
import { SQL_FUNCTIONS } from './functions.js'
import { toPointSql } from './geography.js'
import { toArrayOverlap, toIndexablePredicate, toIndexPrefilter } from './indexable.js'

type ListExpr = Expr & { kind: 'list' }

/**
 * Renders the test of a listing's feed. The id is part of the text, since PostgreSQL plans for feeds of different
 * sizes.
 */
const toFeedCondition = ({ feed, soldPrice, key }: Expr & { kind: 'inFeed' }): Sql =>
  sql`(exists (select from "admin"."FeedListing" f where f."FeedId" = ${raw(feed.toFixed(0))} and f."ListingKey" = ${toSql(key)} and f."${raw(soldPrice ? 'ShowsSoldPrice' : 'IsShown')}"))`

/**
 * Renders an expression as a value, exactly as OData defines it for nulls too.
 *   `City eq 'Vail'` → `(r0."City" is not distinct from ($1::text collate "C"))`
 */
export function toSql(expr: Expr): Sql {
  switch (expr.kind) {
    case 'literal':
      return toSqlLiteral(expr.value, expr.type)
    case 'parameter':
      return toParameterSql(expr.index, expr.type)
    case 'list':
      return toArray(expr)
    case 'column':
      return toColumn(expr.scalar, expr.source)
    case 'element':
      return raw(`${expr.row}.value`)
    case 'result':
      return raw(`${expr.row}."${expr.name}"`)
    case 'call':
      return toFunctionCall(expr)
    case 'cast':
      return toCast(toSql(expr.arg), expr.arg.type, expr.type)
    case 'nullUnless':
      return sql`(case when ${toCondition(expr.when)} then ${toSql(expr.value)} end)`
    case 'lambda':
      return toCondition(expr)
    case 'search':
      return sql`(${raw(`${expr.row}."ListingKey"`)} in (select "ListingKey" from "PropertyText" where "SearchText" @@ ${toTsQuery(expr.search)}))`
    case 'count':
      return toCountSubquery(expr)
    case 'inFeed':
      return toFeedCondition(expr)
  }
}

function toFunctionCall(call: CallExpr): Sql {
  const expr = compareAsDurations(call)
  if (expr.fn === 'in') return sql`coalesce(${toCondition(expr)}, false)`
  if (expr.fn === 'matchespattern')
    return SQL_FUNCTIONS.matchespattern(
      expr.args.map((a, i) => toSql(i === 1 ? toPostgresPattern(a) : a)),
      operandTypes(expr),
    )
  return (
    toExactTimeSql(expr, toSql) ??
    toPointSql(expr, toSql) ??
    SQL_FUNCTIONS[expr.fn](expr.args.map(numericPromotionOf(expr)), operandTypes(expr))
  )
}

const toPostgresPattern = (pattern: Expr): Expr =>
  pattern.kind === 'literal' && pattern.value !== null
    ? { ...pattern, value: toPostgresRegex(String(pattern.value)) ?? null }
    : pattern

/**
 * Renders a `$search` expression. A phrase matches its words in this order (OData 4.01 Part 2, 5.1.8).
 *   `lake OR "mountain view"` → `(phraseto_tsquery('simple', $1) || phraseto_tsquery('simple', $2))`
 */
function toTsQuery(search: SearchAst): Sql {
  switch (search.kind) {
    case 'phrase':
      return sql`search_phrase(${search.text})`
    case 'not':
      return sql`!! ${toTsQuery(search.operand)}`
    case 'and':
    case 'or':
      return sql`(${toTsQuery(search.left)} ${raw(search.kind === 'and' ? '&&' : '||')} ${toTsQuery(search.right)})`
  }
}

/** Casts exact numbers to double precision if another argument is a Double. */
const numericPromotionOf = (expr: Pick<CallExpr, 'args'>) => {
  const isDouble = expr.args.some(a => a.type === 'Double')
  return (arg: Expr) =>
    isDouble && EXACT_NUMERIC_TYPES.has(arg.type) ? sql`(${toSql(arg)})::double precision` : toSql(arg)
}

const EXACT_NUMERIC_TYPES: ReadonlySet<ExprType> = new Set(['Int32', 'Int64', 'Decimal'])

/** Returns the types of the overload. The widest numeric type replaces the others. */
function operandTypes({ args }: CallExpr): readonly ExprType[] {
  const widest = (['Double', 'Decimal'] as const).find(t => args.some(a => a.type === t))
  return args.map(a => (widest && EXACT_NUMERIC_TYPES.has(a.type) ? widest : a.type))
}

function toArray({ items, type }: ListExpr): Sql {
  const values = items.map(i => (i.kind === 'literal' ? toParameter(i.value, i.type) : undefined))
  if (values.every(v => v !== undefined)) return sql`${values}::${raw(pgType(type))}`
  return sql`array[${join(items.map(toSql))}]::${raw(pgType(type))}`
}

function toCountSubquery({ over, row, filter }: Expr & { kind: 'count' }): Sql {
  if (over.kind === 'values') return sql`coalesce(cardinality(${toColumn(over.scalar, over.source)}), 0)`
  const { from, join } = toCollectionRows(over, row)
  return sql`(select count(*) from ${from} where ${join}${filter ? sql` and ${toCondition(filter)}` : empty})`
}

/**
 * The expected number of rows that a condition is evaluated for. `few` makes a condition on a single related
 * record a scalar subquery, which looks up one record per row. An EXISTS lets PostgreSQL scan the related
 * table once, which suits `all` rows. With EXISTS, a page of a hundred photos read two million listings.
 */
export type RowEstimate = 'few' | 'all'

/**
 * Renders a condition for WHERE. Only true counts there, so null may replace false, which allows comparisons
 * that indexes serve. `negated` renders the negation: De Morgan's laws push it inward, which is valid for
 * three-valued logic, and at the leaves the complement is exact, including nulls.
 *   `City eq 'Vail'` → `(r0."City" = ($1::text collate "C"))`
 *   negated → `(r0."City" is distinct from ($1::text collate "C"))`
 */
export function toCondition(expr: Expr, negated = false, rowEstimate: RowEstimate = 'few'): Sql {
  switch (expr.kind) {
    case 'literal':
      return raw(String(expr.value !== null && expr.value !== negated))
    case 'call':
      return toCallCondition(expr, negated, rowEstimate)
    case 'lambda':
      return toLambdaCondition(expr, negated, rowEstimate)
    default:
      return negated ? sql`(not ${toSql(expr)})` : toSql(expr)
  }
}

function toCallCondition(call: CallExpr, negated: boolean, rowEstimate: RowEstimate): Sql {
  const expr = compareAsDurations(call)
  const indexable = negated ? undefined : toIndexablePredicate(expr)
  if (indexable) return indexable
  const prefilter = negated ? undefined : toIndexPrefilter(expr)
  const condition = toUnrewrittenCondition(expr, negated, rowEstimate)
  // PostgreSQL evaluates conditions of equal cost in their order. Few records meet this one, so it is the
  // first.
  return prefilter ? sql`(${condition} and ${prefilter})` : condition
}

function toUnrewrittenCondition(expr: CallExpr, negated: boolean, rowEstimate: RowEstimate): Sql {
  const [left, right] = expr.args
  if (expr.fn === 'and' || expr.fn === 'or') {
    const operator = (expr.fn === 'and') !== negated ? ' and ' : ' or '
    return sql`(${join(
      expr.args.map(a => toCondition(a, negated, rowEstimate)),
      operator,
    )})`
  }
  if (!left) return negated ? sql`(not ${toSql(expr)})` : toSql(expr)
  if (expr.fn === 'not') return toCondition(left, !negated, rowEstimate)
  if (right && isComparisonOperator(expr.fn))
    return toComparison(negated ? NEGATORS[expr.fn] : expr.fn, left, right, negated)
  if (right && expr.fn === 'in') return toInCondition(left, right, negated)
  return negated ? sql`(not ${toSql(expr)})` : toSql(expr)
}

/**
 * Renders a comparison. If it is negated, `fn` is already the complement. The complement of an ordering
 * comparison is true for null, and the comparison is false for it.
 */
function toComparison(fn: ComparisonOperator, left: Expr, right: Expr, negated: boolean): Sql {
  if (isNull(left) || isNull(right)) return toNullComparison(fn, isNull(right) ? left : right, negated)
  if (left.type === 'Double' || right.type === 'Double') return toDoubleComparison(fn, left, right, negated)
  if (isNonNullable(left) && isNonNullable(right)) return toOperatorComparison(fn, left, right)
  if (isOrderingOperator(fn))
    return negated
      ? sql`(${toOperatorComparison(NEGATORS[fn], left, right)} is not true)`
      : toOperatorComparison(fn, left, right)
  if (fn === 'ne') return sql`(${toSql(left)} is distinct from ${toSql(right)})`
  // An index serves `=` but not `is not distinct from`. The two differ only if both sides can be null.
  return isNonNullable(left) || isNonNullable(right)
    ? toOperatorComparison(fn, left, right)
    : sql`(${toSql(left)} is not distinct from ${toSql(right)})`
}

/**
 * Renders a comparison of floating numbers. PostgreSQL sorts NaN above all numbers, so the plain form is
 * correct for `lt` and `le`. The general form handles NaN in the other cases.
 */
function toDoubleComparison(fn: ComparisonOperator, left: Expr, right: Expr, negated: boolean): Sql {
  const isBelowNumber = fn === 'lt' || fn === 'le'
  if (negated || !isBelowNumber || !isNonNullLiteral(right) || isNaNLiteral(right))
    return toNullSafeComparison(fn, left, right, negated)
  const promote = numericPromotionOf({ args: [left, right] })
  return sql`(${promote(left)} ${raw(SQL_OPERATORS[fn])} ${promote(right)})`
}

function toNullComparison(fn: ComparisonOperator, value: Expr, negated: boolean): Sql {
  return isOrderingOperator(fn)
    ? raw(String(negated))
    : sql`(${toSql(value)} is ${raw(fn === 'eq' ? 'null' : 'not null')})`
}

const toOperatorComparison = (fn: ComparisonOperator, left: Expr, right: Expr) =>
  sql`(${toSql(left)} ${raw(SQL_OPERATORS[fn])} ${toSql(right)})`

function toNullSafeComparison(fn: ComparisonOperator, left: Expr, right: Expr, negated: boolean): Sql {
  const comparison = predicate(negated ? NEGATORS[fn] : fn, left, right)
  return negated ? sql`(not ${toSql(comparison)})` : toSql(comparison)
}

/** Returns true if an expression has a value in every record. */
export function isNonNullable(expr: Expr): boolean {
  if (expr.kind === 'literal') return expr.value !== null
  if (expr.kind === 'column') return !expr.scalar.nullable && expr.source.kind === 'row'
  return (
    expr.kind === 'parameter' ||
    expr.kind === 'element' ||
    expr.kind === 'count' ||
    (expr.kind === 'call' && expr.fn === 'now')
  )
}

/** Expressions that may be written several times. Others are evaluated once. */
const SIMPLE_KINDS: ReadonlySet<Expr['kind']> = new Set([
  'literal',
  'parameter',
  'column',
  'element',
  'result',
])

/** `in` is `eq` of any item, so null equals null (OData 4.01 Part 2, 5.1.1.1.12). */
function toInCondition(left: Expr, list: Expr, negated: boolean): Sql {
  const items = list.kind === 'list' ? list.items : undefined
  // A computed item can be null, and can exceed the type of the list.
  if (items?.some(i => i.kind !== 'literal')) {
    const equals = (value: Expr) => predicate('or', ...items.map(i => predicate('eq', value, i)))
    if (SIMPLE_KINDS.has(left.kind)) return toCondition(equals(left), negated)
    const once: Expr = { kind: 'result', row: 'r99', name: 'g0', type: left.type }
    return sql`(select ${toCondition(equals(once), negated)} from (select ${toSql(left)} as g0) r99)`
  }
  // Without the cast PostgreSQL would compare with the rows of the subquery.
  const values =
    list.kind === 'list' ? toArray(withoutNullAndNaN(list)) : sql`(${toSql(list)})::${raw(pgType(list.type))}`
  const equalsAny = sql`${toSql(left)} = any(${values})`
  const orIsNull = items?.some(isNull) ? sql` or ${toSql(left)} is null` : empty
  return negated ? sql`((${equalsAny}${orIsNull}) is not true)` : sql`(${equalsAny}${orIsNull})`
}

/** Null has its own condition. NaN equals nothing, including itself. */
const withoutNullAndNaN = (list: ListExpr): ListExpr => ({
  ...list,
  items: list.items.filter(i => !isNull(i) && !isNaNLiteral(i)),
})
const isNaNLiteral = (expr: Expr) => expr.kind === 'literal' && expr.type === 'Double' && expr.value === 'NaN'

/**
 * Renders a lambda. `any` of no elements is false and `all` is true. A null predicate counts as false (OData
 * 4.01 Part 2, 5.1.1.13).
 *   `Media/any(m:m/Order eq 1)` → `(exists (select from "Media" r1 where r1."PropertyKey" = r0."ListingKey"
 *     and (r1."Order" = $1::int)))`
 */
function toLambdaCondition(expr: Expr & { kind: 'lambda' }, negated: boolean, rowEstimate: RowEstimate): Sql {
  const { quantifier, over, row, body } = expr
  const overlap = quantifier === 'any' ? toArrayOverlap(expr) : undefined
  if (overlap) return negated ? sql`(not ${overlap})` : overlap
  const { from, join: on } = toCollectionRows(over, row)
  if (rowEstimate === 'few' && quantifier === 'any' && over.kind === 'records' && !over.navigation.collection)
    return sql`(${raw(negated ? 'not ' : '')}coalesce((select ${body ? toCondition(body) : raw('true')} from ${from} where ${on}), false))`
  const exists = (quantifier === 'any') !== negated ? raw('exists') : raw('not exists')
  if (!body) return sql`(${exists} (select from ${from} where ${on}))`
  return quantifier === 'any'
    ? sql`(${exists} (select from ${from} where ${on} and ${toCondition(body)}))`
    : sql`(${exists} (select from ${from} where ${on} and (${toSql(body)}) is not true))`
}
