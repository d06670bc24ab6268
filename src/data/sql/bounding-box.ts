/** A rectangle of longitudes and latitudes, in degrees. */
export interface BoundingBox {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** That of geo_distance in the migrations. */
const EARTH_RADIUS_M = 6_371_008.8
const DEGREES_PER_RADIAN = 180 / Math.PI
/** Some ten metres, more than all rounding: a box may be too large, never too small. */
const MARGIN_DEGREES = 1e-4

/**
 * Boxes that hold every point within `metres` of a point: one, or two where the circle crosses the date line;
 * all longitudes where it holds a pole. Empty if no distance is that short.
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
  const holdsPole = south <= -90 || north >= 90
  // The meridians that touch the circle: sin(difference) = sin(angle) / cos(latitude).
  const longitudeDelta = holdsPole
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
