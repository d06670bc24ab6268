import sql, { join, type Sql } from 'sql-template-tag'
import { type CallExpr, type Expr, isNonNullLiteral, nullLiteral, type Plan } from '../../query/plan.js'
import { toColumn } from './columns.js'
import { COMMUTATORS } from './comparison.js'
import { toSql } from './expression.js'
import {
  coordinateColumnsOf,
  type DistanceArguments,
  readDistance,
  toDistancePrefilter,
} from './geography.js'
import { keysetRanges } from './order.js'
import { conjuncts } from './plan-cache-policy.js'

/** The outer radii of the rings around a point, in meters. The last ring has none. */
const RING_RADII = [200, 600, 1800, 5400, 16_200, 48_600] as const

/** A range of the order of a plan, and the plan by which it is read. */
export interface PageRange {
  readonly plan: Plan
  readonly condition: Sql | undefined
}

/**
 * Returns the ranges of a page, to be read one after the other until the page is full. In the order of a
 * distance these are rings around the point, each of which the index on positions serves: no index has the
 * order of distances on the sphere, and a sort alone would compute the distance of every record.
 *   `$orderby=geo.distance(GeoLocation,…)` → `(r0."GeoLocation" is null)`, the box and distance of 200 meters,
 *     of 200 to 600 meters, and so on
 */
export function pageRanges(plan: Plan): readonly PageRange[] {
  const keysets = keysetRanges(plan)
  const order = readDistanceOrder(plan)
  if (!order) return keysets.map(condition => ({ plan, condition }))
  const rings = toRings(order)
  if (!plan.after)
    return [
      ...(order.maximum === undefined ? [toNullRange(plan, toNulls(order))] : []),
      ...rings.map(condition => ({ plan, condition })),
    ]
  const [values, ...nulls] = keysets.toReversed()
  return [
    ...nulls.map(condition => toNullRange(plan, condition)),
    ...rings.map(ring => ({ plan, condition: values ? sql`(${ring} and ${values})` : ring })),
  ]
}

/** The order value is null here, so the other terms alone determine the order, which an index may have. */
const toNullRange = (plan: Plan, condition: Sql | undefined): PageRange => ({
  condition,
  plan: {
    ...plan,
    orderBy: plan.orderBy.map((term, i) => (i === 0 ? { ...term, expr: nullLiteral('Double') } : term)),
  },
})

/** A distance from a point by which a plan is sorted, the nearest records first. */
interface DistanceOrder extends DistanceArguments {
  /** The order value: the distance, or null where the position may not be read. */
  readonly value: Expr
  readonly distance: CallExpr
  /** The distance up to which the filter selects records. */
  readonly maximum?: number
}

/** A page that skips records, or ends before a cursor, is sorted as a whole. */
function readDistanceOrder({ from, orderBy, filter, top, skip, before }: Plan): DistanceOrder | undefined {
  const [first] = orderBy
  if (from || before || skip > 0 || top === undefined || !first || first.descending) return undefined
  const value = first.expr
  const distance = value.kind === 'nullUnless' ? value.value : value
  if (distance.kind !== 'call' || distance.fn !== 'geo.distance') return undefined
  const found = readDistance(distance)
  if (!found || !coordinateColumnsOf(found.column)) return undefined
  const maxima = conjuncts(filter).flatMap(term => readMaximum(term, found))
  return { ...found, value, distance, ...(maxima.length > 0 && { maximum: Math.min(...maxima) }) }
}

/** The upper bound that a condition sets on the distance of the same column from the same point. */
function readMaximum(term: Expr, of: DistanceArguments): readonly number[] {
  if (term.kind !== 'call') return []
  const [left, right] = term.args
  if (isNonNullLiteral(left) && right && (term.fn === 'gt' || term.fn === 'ge'))
    return readMaximum({ ...term, fn: COMMUTATORS[term.fn], args: [right, left] }, of)
  if ((term.fn !== 'lt' && term.fn !== 'le') || left?.kind !== 'call' || !isNonNullLiteral(right)) return []
  const found = left.fn === 'geo.distance' ? readDistance(left) : undefined
  const isSame =
    found?.column.scalar === of.column.scalar &&
    found.longitude === of.longitude &&
    found.latitude === of.latitude
  return isSame ? [Number(right.value)] : []
}

/** Null is below every distance. */
const toNulls = ({ value, column }: DistanceOrder): Sql =>
  value.kind === 'nullUnless'
    ? sql`(${toSql(value)} is null)`
    : sql`(${toColumn(column.scalar, column.source)} is null)`

function toRings(order: DistanceOrder): readonly Sql[] {
  const outer = RING_RADII.filter(radius => order.maximum === undefined || radius < order.maximum)
  return [...outer, undefined].map((radius, i) => toRing(order, outer[i - 1], radius))
}

function toRing(
  { value, distance }: DistanceOrder,
  inner: number | undefined,
  outer: number | undefined,
): Sql {
  const meters = toSql(value)
  const box = outer === undefined ? undefined : toDistancePrefilter(distance, outer)
  const conditions = [
    ...(box ? [box] : []),
    ...(inner === undefined ? [] : [sql`${meters} > ${inner}::double precision`]),
    ...(outer === undefined ? [] : [sql`${meters} <= ${outer}::double precision`]),
  ]
  return conditions.length > 0 ? sql`(${join(conditions, ' and ')})` : sql`(${meters} is not null)`
}
