import sql, { join, raw, type Sql } from 'sql-template-tag'
import { getEntity, getScalar, type Scalar } from '../../model/model.js'
import type { FunctionName } from '../../query/functions.js'
import {
  type CallExpr,
  type ColumnExpr,
  type Expr,
  isNonNullLiteral,
  isRowColumn,
  type LiteralExpr,
} from '../../query/plan.js'
import { escapeLike, quoteIdentifier, quoteTable, toColumn, toSqlLiteral } from './columns.js'
import { COMMUTATORS, isComparisonOperator, SQL_OPERATORS } from './comparison.js'
import { SQL_FUNCTIONS } from './functions.js'
import { toDistancePrefilter, toPolygonPrefilter } from './geography.js'
import { INDEXES, TRIGRAM_INDEXES } from './indexes.js'
import { type RowComparison, readRowComparison } from './row-comparison.js'

const isCall = (expr: Expr | undefined, fn: FunctionName): expr is CallExpr =>
  expr?.kind === 'call' && expr.fn === fn

/**
 * Rewrites a predicate into an equivalent form that an index serves, or returns undefined. The two are
 * equivalent in WHERE, where null counts as false.
 *   `year(OnMarketDate) eq 2024` → `(r0."OnMarketDate" >= $1::date and r0."OnMarketDate" < $2::date)`
 */
export function toIndexablePredicate(expr: CallExpr): Sql | undefined {
  const rows = readRowComparison(expr)
  if (rows) return toRowComparisonPredicate(rows)
  const [left, right] = expr.args
  if (isCall(left, 'year') || isCall(left, 'date'))
    return isNonNullLiteral(right) ? toDateRangePredicate(expr.fn, left, right) : undefined
  const commutator = commutatorOf(expr.fn)
  if (commutator && isNonNullLiteral(left) && right?.kind === 'call')
    return toIndexablePredicate({ ...expr, fn: commutator, args: [right, left] })
  return isCall(expr, 'contains') ? toTrigramPredicate(left, right) : undefined
}

/** Renders `(a, b) > (1, 2)`, the start of an index scan. */
const toRowComparisonPredicate = ({ columns, values, operator }: RowComparison): Sql =>
  sql`((${join(columns.map(c => toColumn(c.scalar, c.source)))}) ${raw(SQL_OPERATORS[operator])} (${join(values.map(v => toSqlLiteral(v.value, v.type)))}))`

const commutatorOf = (fn: FunctionName) => (isComparisonOperator(fn) ? COMMUTATORS[fn] : undefined)

/** Rewrites a comparison of `year(x)` or `date(x)` as a range of x. `ne` is not a range. */
function toDateRangePredicate(
  fn: FunctionName,
  { fn: period, args: [subject] }: CallExpr,
  { value }: LiteralExpr,
): Sql | undefined {
  if (!isRowColumn(subject)) return undefined
  const bounds =
    period === 'year'
      ? yearBounds(Number(value))
      : { start: sql`${value}::date`, end: sql`(${value}::date + 1)` }
  if (!bounds) return undefined
  const column = toColumn(subject.scalar, subject.source)
  switch (fn) {
    case 'eq':
      return sql`(${column} >= ${bounds.start} and ${column} < ${bounds.end})`
    case 'ge':
      return sql`(${column} >= ${bounds.start})`
    case 'gt':
      return sql`(${column} >= ${bounds.end})`
    case 'lt':
      return sql`(${column} < ${bounds.start})`
    case 'le':
      return sql`(${column} < ${bounds.end})`
    default:
      return undefined
  }
}

/** Years whose next year exists in OData. */
function yearBounds(year: number): { readonly start: Sql; readonly end: Sql } | undefined {
  const firstDay = (y: number) => sql`${`${String(y).padStart(4, '0')}-01-01`}::date`
  return Number.isInteger(year) && year >= 1 && year <= 9998
    ? { start: firstDay(year), end: firstDay(year + 1) }
    : undefined
}

/**
 * Rewrites `contains(tolower(x),'text')`, which front ends send while a user types. The trigram indexes are
 * on this expression.
 */
function toTrigramPredicate(text: Expr | undefined, part: Expr | undefined): Sql | undefined {
  const column = isCall(text, 'tolower') ? text.args[0] : undefined
  if (!isRowColumn(column) || !isNonNullLiteral(part)) return undefined
  return sql`(${toLowercase(column)} like ${`%${escapeLike(String(part.value))}%`})`
}

const toLowercase = ({ scalar, source }: ColumnExpr) =>
  SQL_FUNCTIONS.tolower([toColumn(scalar, source)], ['String'])

/**
 * Returns a condition that is true wherever `expr` is true and that an index serves, or undefined.
 *   `geo.distance(GeoLocation,…) le 5000` → `(r0."Latitude" >= $1::numeric and r0."Latitude" <= $2::numeric
 *     and …)`
 */
export function toIndexPrefilter(expr: CallExpr): Sql | undefined {
  const [left, right] = expr.args
  if (expr.fn === 'geo.intersects' && isRowColumn(left) && isNonNullLiteral(right))
    return toPolygonPrefilter(left, right)
  const commutator = commutatorOf(expr.fn)
  if (commutator && right && isNonNullLiteral(left) && !isNonNullLiteral(right))
    return toIndexPrefilter({ ...expr, fn: commutator, args: [right, left] })
  return (expr.fn === 'lt' || expr.fn === 'le') && isCall(left, 'geo.distance') && isNonNullLiteral(right)
    ? toDistancePrefilter(left, Number(right.value))
    : (toRelatedPrefilter(expr.fn, left, right) ?? toTrigramPrefilter(expr.fn, left, right))
}

/** The columns that an index has first. */
const INDEXED_COLUMNS: ReadonlySet<string> = new Set(
  Object.values(INDEXES).flatMap(indexes => indexes.flatMap(({ keyColumns: [first] }) => first ?? [])),
)

/**
 * Returns a condition on the record's own reference, which an index serves: the condition on the related record
 * is a subquery per record.
 *   `ListOffice/OfficeName eq 'North'` → `(r0."ListOfficeKey" in (select via."OfficeKey" from "Office" via where
 *     via."OfficeName" = ($1::text collate "C")))`
 */
function toRelatedPrefilter(
  fn: FunctionName,
  column: Expr | undefined,
  value: Expr | undefined,
): Sql | undefined {
  if (fn !== 'eq' || column?.kind !== 'column' || !isNonNullLiteral(value)) return undefined
  const { scalar, source } = column
  if (source.kind !== 'via' || source.from.kind !== 'row' || value.type !== scalar.type) return undefined
  const { local, foreign, target } = source.navigation
  if (!INDEXED_COLUMNS.has(local)) return undefined
  const ofTarget = (name: string) => sql`via.${quoteIdentifier(name)}`
  return sql`(${raw(source.from.row)}.${quoteIdentifier(local)} in (select ${ofTarget(foreign)} from ${quoteTable(getEntity(target))} via where ${ofTarget(scalar.name)} = ${toSqlLiteral(value.value, value.type)}))`
}

/** The LIKE pattern of each function that searches a part of a text. */
const LIKE_PATTERNS: { readonly [fn in FunctionName]?: (part: string) => string } = {
  contains: part => `%${part}%`,
  startswith: part => `${part}%`,
  endswith: part => `%${part}`,
  eq: part => part,
}

/**
 * Returns a condition on the lower-case column, which the trigram index serves: a string that contains another
 * one also contains it in lower case. `contains(UnparsedAddress,'Pine')` → `lower("UnparsedAddress") like
 * lower('%Pine%')`. The lower-case form of a sigma depends on its position in the word, so a capital sigma
 * matches any character.
 */
function toTrigramPrefilter(
  fn: FunctionName,
  text: Expr | undefined,
  part: Expr | undefined,
): Sql | undefined {
  const column = isCall(text, 'tolower') ? text.args[0] : text
  const toPattern = LIKE_PATTERNS[fn]
  if (!toPattern || !isRowColumn(column) || !TRIGRAM_SCALARS.has(column.scalar) || !isNonNullLiteral(part))
    return undefined
  const pattern = toPattern(escapeLike(String(part.value)).replaceAll('Σ', '_'))
  return sql`(${toLowercase(column)} like ${SQL_FUNCTIONS.tolower([sql`${pattern}::text`], ['String'])})`
}

const TRIGRAM_SCALARS: ReadonlySet<Scalar> = new Set(
  Object.entries(TRIGRAM_INDEXES).flatMap(([entity, names]) =>
    names.map(name => getScalar(getEntity(entity), name)),
  ),
)

/**
 * Rewrites `any(m:m eq 'a')` and `any(m:m in ('a','b'))` on a collection of values into a form that a GIN
 * index serves.
 *   `ConstructionMaterials/any(m:m eq 'Log')` → `(r0."ConstructionMaterials" && array[($1::text collate
 *     "C")])`
 */
export function toArrayOverlap({ over, row, body }: Expr & { kind: 'lambda' }): Sql | undefined {
  if (over.kind !== 'values' || over.source.kind !== 'row') return undefined
  const values = equalityValuesOf(body, expr => expr.kind === 'element' && expr.row === row)
  return (
    values &&
    sql`(${toColumn(over.scalar, over.source)} && array[${join(values.map(v => toSqlLiteral(v.value, v.type)))}])`
  )
}

/**
 * Returns the values of a condition of the form `s eq 'a'`, `s in ('a','b')`, or such conditions joined by
 * `or`.
 */
export function equalityValuesOf(
  expr: Expr | undefined,
  isSubject: (expr: Expr) => boolean,
): readonly LiteralExpr[] | undefined {
  if (expr?.kind !== 'call') return undefined
  const [left, right] = expr.args
  const isOfSubject = left !== undefined && isSubject(left)
  if (expr.fn === 'eq' && isOfSubject && isNonNullLiteral(right)) return [right]
  if (
    expr.fn === 'in' &&
    isOfSubject &&
    right?.kind === 'list' &&
    right.items.length > 0 &&
    right.items.every(isNonNullLiteral)
  )
    return right.items
  if (expr.fn !== 'or') return undefined
  const parts = expr.args.map(arg => equalityValuesOf(arg, isSubject))
  return parts.every(p => p !== undefined) ? parts.flat() : undefined
}
