import sql, { join, type Sql } from 'sql-template-tag'
import { getEntity, getScalar, type Scalar } from '../../model/model.js'
import {
  type CallExpr,
  type ColumnExpr,
  type Expr,
  isNonNullLiteral,
  isRowColumn,
  type LiteralExpr,
} from '../../query/plan.js'
import { toColumn } from './columns.js'

/** A position as two numbers. */
export interface Coordinates {
  readonly longitude: Sql
  readonly latitude: Sql
}

const LISTING = getEntity('Property')
const COORDINATES: ReadonlyMap<Scalar, readonly [longitude: Scalar, latitude: Scalar]> = new Map([
  [getScalar(LISTING, 'GeoLocation'), [getScalar(LISTING, 'Longitude'), getScalar(LISTING, 'Latitude')]],
])

/**
 * Returns the columns from which the database derives a position, or undefined if it has none. An index has
 * these columns, PostgreSQL has statistics of them, and numbers are read faster than JSON.
 */
export function coordinateColumnsOf({ scalar, source }: ColumnExpr): Coordinates | undefined {
  const columns = COORDINATES.get(scalar)
  return columns && { longitude: toColumn(columns[0], source), latitude: toColumn(columns[1], source) }
}

function coordinatesOf(position: Expr | undefined): Coordinates | undefined {
  if (isNonNullLiteral(position)) {
    const [longitude, latitude] = String(position.value).split(' ')
    return { longitude: sql`${longitude}`, latitude: sql`${latitude}` }
  }
  return position?.kind === 'column' ? coordinateColumnsOf(position) : undefined
}

/**
 * Renders a function of positions whose coordinates are known, or returns undefined.
 *   `geo.distance(GeoLocation,…)` → `geo_distance((r0."Longitude")::double precision, …)`
 */
export function toPointSql({ fn, args: [a, b] }: CallExpr, toSql: (expr: Expr) => Sql): Sql | undefined {
  const [from, to] = [coordinatesOf(a), coordinatesOf(b)]
  if (fn === 'geo.distance' && from && to)
    return sql`geo_distance(${join([from.longitude, from.latitude, to.longitude, to.latitude].map(toDouble))})`
  return fn === 'geo.intersects' && from && b
    ? sql`geo_inside(point(${toDouble(from.longitude)}, ${toDouble(from.latitude)}), ${toSql(b)})`
    : undefined
}

const toDouble = (number: Sql) => sql`(${number})::double precision`

/** The column and the point of `geo.distance`, in either order. */
export interface DistanceArguments {
  readonly column: ColumnExpr
  readonly longitude: number
  readonly latitude: number
}

/** Returns undefined if the distance is not that of a column of the record from a given point. */
export function readDistance({ args: [a, b] }: CallExpr): DistanceArguments | undefined {
  const [column, point] = isNonNullLiteral(a) ? [b, a] : [a, b]
  if (!isRowColumn(column) || !isNonNullLiteral(point)) return undefined
  const [longitude = 0, latitude = 0] = String(point.value).split(' ').map(Number)
  return { column, longitude, latitude }
}

/**
 * Returns a condition that is true of every record within a distance and that an index serves, or undefined.
 *   `geo.distance(GeoLocation,…) le 5000` → `(r0."Latitude" >= $1::numeric and r0."Latitude" <= $2::numeric
 *     and r0."Longitude" >= $3::numeric and r0."Longitude" <= $4::numeric)`
 */
export function toDistancePrefilter(distance: CallExpr, meters: number): Sql | undefined {
  const found = readDistance(distance)
  const columns = found && coordinateColumnsOf(found.column)
  if (!columns || !Number.isFinite(meters)) return undefined
  const boxes = boundingBoxesAround(found.longitude, found.latitude, meters)
  return boxes.length === 0
    ? undefined
    : sql`(${join(
        boxes.map(box => toBoxCondition(columns, box)),
        ' or ',
      )})`
}

/** Returns a condition that is true of every record within a polygon and that an index serves, or undefined. */
export function toPolygonPrefilter(column: ColumnExpr, polygon: LiteralExpr): Sql | undefined {
  const columns = coordinateColumnsOf(column)
  const [outerRing] = String(polygon.value).split(';')
  return columns && outerRing !== undefined ? toBoxCondition(columns, boundingBoxOf(outerRing)) : undefined
}

function toBoxCondition({ longitude, latitude }: Coordinates, box: BoundingBox): Sql {
  const conditions = [
    sql`${latitude} >= ${box.south}::numeric and ${latitude} <= ${box.north}::numeric`,
    ...(box.east - box.west >= 360
      ? []
      : [sql`${longitude} >= ${box.west}::numeric and ${longitude} <= ${box.east}::numeric`]),
  ]
  return sql`(${join(conditions, ' and ')})`
}

/** A rectangle of longitudes and latitudes in degrees. */
interface BoundingBox {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** The radius that geo_distance of the migrations uses. */
const EARTH_RADIUS_M = 6_371_008.8
const DEGREES_PER_RADIAN = 180 / Math.PI
/** About ten meters, more than all rounding errors: a box can be too large but never too small. */
const MARGIN_DEGREES = 1e-4

/**
 * Returns boxes that contain every point within a distance of a point. There are two boxes if the circle
 * crosses the date line, and one box of all longitudes if the circle contains a pole. Returns none for a
 * negative distance.
 *   (-106.37, 39.64, 5000) → [{ west: -106.4285, south: 39.5949, east: -106.3115, north: 39.6851 }]
 *     (rounded)
 */
function boundingBoxesAround(longitude: number, latitude: number, meters: number): readonly BoundingBox[] {
  if (!(meters >= 0)) return []
  const angularDistance = meters / EARTH_RADIUS_M
  const latitudeDelta = angularDistance * DEGREES_PER_RADIAN + MARGIN_DEGREES
  const [south, north] = [latitude - latitudeDelta, latitude + latitudeDelta]
  const containsPole = south <= -90 || north >= 90
  // The meridians that touch the circle: sin(difference) = sin(angle) / cos(latitude).
  const longitudeDelta = containsPole
    ? 180
    : Math.asin(Math.min(1, Math.sin(angularDistance) / Math.cos(latitude / DEGREES_PER_RADIAN))) *
        DEGREES_PER_RADIAN +
      MARGIN_DEGREES
  const [west, east] = [longitude - longitudeDelta, longitude + longitudeDelta]
  if (longitudeDelta >= 180) return [{ west: -180, south, east: 180, north }]
  if (west < -180) return [{ west: -180, south, east, north }, { west: west + 360, south, east: 180, north }] // biome-ignore format: one line a case
  if (east > 180) return [{ west, south, east: 180, north }, { west: -180, south, east: east - 360, north }] // biome-ignore format: one line a case
  return [{ west, south, east, north }]
}

/**
 * Returns the box of a ring, given as "lon lat,lon lat,...", in the plane.
 *   `-107 39,-106 39,-106 40,-107 39` → { west: -107.0001, south: 38.9999, east: -105.9999, north: 40.0001 }
 */
function boundingBoxOf(ring: string): BoundingBox {
  const points = ring.split(',').map(point => point.split(' ').map(Number))
  const extremeOf = (axis: 0 | 1, choose: (a: number, b: number) => number) =>
    points.map(point => point[axis] ?? 0).reduce((a, b) => choose(a, b))
  return {
    west: extremeOf(0, Math.min) - MARGIN_DEGREES,
    south: extremeOf(1, Math.min) - MARGIN_DEGREES,
    east: extremeOf(0, Math.max) + MARGIN_DEGREES,
    north: extremeOf(1, Math.max) + MARGIN_DEGREES,
  }
}
