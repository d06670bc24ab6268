import sql, { join, type Sql } from 'sql-template-tag'
import type { FunctionName } from '../../query/functions.js'
import { type Expr, isRowColumn, isValue } from '../../query/plan.js'
import { boxesAround } from './bounding-box.js'
import { escapeLike, ringsOf, toColumn, toLiteral } from './columns.js'
import { FLIPPED, isComparison } from './comparison.js'
import { RENDER } from './functions.js'

type Call = Expr & { kind: 'call' }
type Column = Expr & { kind: 'column' }
type Literal = Expr & { kind: 'literal' }

const isCall = (expr: Expr | undefined, fn: FunctionName): expr is Call =>
  expr?.kind === 'call' && expr.fn === fn

/**
 * A condition in other words that an index can serve and that select exactly the same records where only true
 * counts; undefined where there are none. No function stands on a column that has such a form.
 */
export function toServed(expr: Call): Sql | undefined {
  const [left, right] = expr.args
  if (isCall(left, 'year') || isCall(left, 'date'))
    return isValue(right) ? periodRange(expr.fn, left, right) : undefined
  const flipped = flip(expr.fn)
  if (flipped && isValue(left) && right?.kind === 'call')
    return toServed({ ...expr, fn: flipped, args: [right, left] })
  return isCall(expr, 'contains') ? containedText(left, right) : undefined
}

const flip = (fn: FunctionName) => (isComparison(fn) ? FLIPPED[fn] : undefined)

/** `year(x) eq 2024` is a range of x; so is each other comparison but `ne`. */
function periodRange(
  fn: FunctionName,
  { fn: period, args: [subject] }: Call,
  { value }: Literal,
): Sql | undefined {
  if (!isRowColumn(subject)) return undefined
  const bounds =
    period === 'year'
      ? yearBounds(Number(value))
      : { start: sql`${value}::date`, end: sql`(${value}::date + 1)` }
  if (!bounds) return undefined
  const x = toColumn(subject.scalar, subject.source)
  switch (fn) {
    case 'eq':
      return sql`(${x} >= ${bounds.start} and ${x} < ${bounds.end})`
    case 'ge':
      return sql`(${x} >= ${bounds.start})`
    case 'gt':
      return sql`(${x} >= ${bounds.end})`
    case 'lt':
      return sql`(${x} < ${bounds.start})`
    case 'le':
      return sql`(${x} < ${bounds.end})`
    default:
      return undefined
  }
}

/** Years that have a date before and after them in OData. */
function yearBounds(year: number): { readonly start: Sql; readonly end: Sql } | undefined {
  const firstDay = (y: number) => sql`${`${String(y).padStart(4, '0')}-01-01`}::date`
  return Number.isInteger(year) && year >= 1 && year <= 9998
    ? { start: firstDay(year), end: firstDay(year + 1) }
    : undefined
}

/** What front ends send while somebody types; the trigram indexes are on this expression. */
function containedText(text: Expr | undefined, part: Expr | undefined): Sql | undefined {
  const column = isCall(text, 'tolower') ? text.args[0] : undefined
  if (!isRowColumn(column) || !isValue(part)) return undefined
  const pattern = `%${escapeLike(String(part.value))}%`
  return sql`(${RENDER.tolower([toColumn(column.scalar, column.source)], ['String'])} like ${pattern})`
}

/** A condition that is true wherever `expr` is, and that the index on positions serves. */
export function toPrefilter(expr: Call): Sql | undefined {
  const [left, right] = expr.args
  if (expr.fn === 'geo.intersects' && isRowColumn(left) && isValue(right))
    return sql`${position(left)} <@ ${ringsOf(String(right.value))[0] ?? ''}::polygon`
  const flipped = flip(expr.fn)
  if (flipped && isValue(left) && isCall(right, 'geo.distance'))
    return toPrefilter({ ...expr, fn: flipped, args: [right, left] })
  return (expr.fn === 'lt' || expr.fn === 'le') && isCall(left, 'geo.distance') && isValue(right)
    ? aroundPoint(left, Number(right.value))
    : undefined
}

const position = ({ scalar, source }: Column) => sql`geo_point(${toColumn(scalar, source)})`

function aroundPoint({ args: [a, b] }: Call, metres: number): Sql | undefined {
  const [place, point] = isValue(a) ? [b, a] : [a, b]
  if (!isRowColumn(place) || !isValue(point) || !Number.isFinite(metres)) return undefined
  const [longitude = 0, latitude = 0] = String(point.value).split(' ').map(Number)
  const boxes = boxesAround(longitude, latitude, metres)
  return boxes.length === 0
    ? undefined
    : sql`(${join(
        boxes.map(
          box => sql`${position(place)} <@ ${`(${box.west},${box.south}),(${box.east},${box.north})`}::box`,
        ),
        ' or ',
      )})`
}

/**
 * `any(m: m eq 'a')` and `any(m: m in ('a','b'))` on a collection of values, as an index on the collection
 * serves them.
 */
export function toOverlap({ over, row, body }: Expr & { kind: 'lambda' }): Sql | undefined {
  if (over.kind !== 'values' || over.source.kind !== 'row') return undefined
  const values = alternativesOf(body, expr => expr.kind === 'element' && expr.row === row)
  return (
    values &&
    sql`(${toColumn(over.scalar, over.source)} && array[${join(values.map(v => toLiteral(v.value, v.type)))}])`
  )
}

/**
 * The values of which the subject has one, if that is what an expression says: `s eq 'a'`, `s in ('a','b')`,
 * and such joined by `or`.
 */
export function alternativesOf(
  expr: Expr | undefined,
  isSubject: (expr: Expr) => boolean,
): readonly Literal[] | undefined {
  if (expr?.kind !== 'call') return undefined
  const [left, right] = expr.args
  const isOfSubject = left !== undefined && isSubject(left)
  if (expr.fn === 'eq' && isOfSubject && isValue(right)) return [right]
  if (
    expr.fn === 'in' &&
    isOfSubject &&
    right?.kind === 'list' &&
    right.items.length > 0 &&
    right.items.every(isValue)
  )
    return right.items
  if (expr.fn !== 'or') return undefined
  const parts = expr.args.map(arg => alternativesOf(arg, isSubject))
  return parts.every(p => p !== undefined) ? parts.flat() : undefined
}
