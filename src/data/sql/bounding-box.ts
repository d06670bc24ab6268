/** A rectangle of longitudes and latitudes in degrees. */
export interface BoundingBox {
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
export function boundingBoxesAround(
  longitude: number,
  latitude: number,
  metres: number,
): readonly BoundingBox[] {
  if (!(metres >= 0)) return []
  const angularDistance = metres / EARTH_RADIUS_M
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
export function boundingBoxOf(ring: string): BoundingBox {
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
