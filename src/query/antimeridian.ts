interface Vertex {
  readonly longitude: string
  readonly latitude: string
}

/** A vertex, and the turns of its ring around the earth before it, in degrees (a multiple of 360). */
interface UnwrappedVertex extends Vertex {
  readonly turn: number
}

const FULL_TURN = 360
const HALF_TURN = 180

/**
 * Returns polygons without an edge across the antimeridian that together cover a polygon, or undefined for a
 * polygon around a pole. An edge is the shortest connection: from 170 to -170 it is twenty degrees long. The
 * longitudes of the result can exceed 180 degrees.
 *   `170 0,-170 0,-170 5,170 0` → `170 0,190 0,190 5,170 0` and `-190 0,-170 0,-170 5,-190 0`
 * @param polygon the value of a literal, `lon lat,lon lat,...;ring`
 */
export function splitAtAntimeridian(polygon: string): readonly string[] | undefined {
  const [outer = [], ...holes] = polygon.split(';').map(ring => ring.split(',').map(toVertex))
  if (!outer.some(isAcrossFrom(outer))) return [polygon]
  const unwrapped = unwrap(outer)
  const isClosed = unwrapped.at(-1)?.turn === unwrapped[0]?.turn
  const span = spanOf(unwrapped)
  // An edge over the whole width of the map, from -180 to 180, is not a crossing.
  if (!outer.some(isShortAcrossFrom(outer)) && !(isClosed && span.east > span.west)) return [polygon]
  if (!isClosed) return undefined
  const rings = [unwrapped, ...holes.map(hole => moveInto(unwrap(hole), span))]
  return [-FULL_TURN, 0, FULL_TURN]
    .filter(shift => span.west + shift <= HALF_TURN && span.east + shift >= -HALF_TURN)
    .map(shift => rings.map(ring => ring.map(vertex => printVertex(vertex, shift)).join(',')).join(';'))
}

function toVertex(position: string): Vertex {
  const [longitude = '', latitude = ''] = position.split(' ')
  return { longitude, latitude }
}

const stepTo = (vertices: readonly Vertex[], index: number): number =>
  index === 0 ? 0 : Number(vertices[index]?.longitude) - Number(vertices[index - 1]?.longitude)

/** Returns true for the end of an edge that crosses the antimeridian. */
const isAcrossFrom = (vertices: readonly Vertex[]) => (_: Vertex, index: number) =>
  Math.abs(stepTo(vertices, index)) > HALF_TURN

/** Like `isAcrossFrom`, without edges from -180 to 180, which are the same meridian. */
const isShortAcrossFrom = (vertices: readonly Vertex[]) => (_: Vertex, index: number) =>
  Math.abs(stepTo(vertices, index)) > HALF_TURN && Math.abs(stepTo(vertices, index)) < FULL_TURN

function unwrap(vertices: readonly Vertex[]): readonly UnwrappedVertex[] {
  let turn = 0
  return vertices.map((vertex, index) => {
    const step = stepTo(vertices, index)
    if (Math.abs(step) > HALF_TURN) turn -= Math.sign(step) * FULL_TURN
    return { ...vertex, turn }
  })
}

interface LongitudeSpan {
  readonly west: number
  readonly east: number
}

function spanOf(vertices: readonly UnwrappedVertex[]): LongitudeSpan {
  const longitudes = vertices.map(({ longitude, turn }) => Number(longitude) + turn)
  return {
    west: longitudes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    east: longitudes.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  }
}

/** Shifts a hole to the longitudes of its polygon. A hole begins with its own longitude. */
function moveInto(
  hole: readonly UnwrappedVertex[],
  { west, east }: LongitudeSpan,
): readonly UnwrappedVertex[] {
  const start = Number(hole[0]?.longitude)
  const shift = [0, FULL_TURN, -FULL_TURN].find(turn => start + turn >= west && start + turn <= east) ?? 0
  return hole.map(vertex => ({ ...vertex, turn: vertex.turn + shift }))
}

/** Coordinates that are not shifted keep their digits, so that a point on the border remains there. */
function printVertex({ longitude, latitude, turn }: UnwrappedVertex, shift: number): string {
  const moved = turn + shift
  return `${moved === 0 ? longitude : Number(longitude) + moved} ${latitude}`
}
