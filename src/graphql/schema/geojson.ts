import { isList, isObject, JsonNumber, type JsonValue } from '../../domain/json.js'
import { readGeoLiteral } from '../../language/literals-geo.js'
import { toPlainDecimal } from '../../language/literals-number.js'

/**
 * The value of a literal (`Value` in query/ast.ts) for a GeoJSON Point (RFC 7946, 3.1.2) in WGS 84;
 * `undefined` if it is none.
 */
export function readGeoJsonPoint(json: JsonValue): string | undefined {
  const position = toWktPosition(coordinatesOf(json, 'Point'))
  return position === undefined
    ? undefined
    : readGeoLiteral('Geography', `SRID=4326;POINT(${position})`)?.value
}

/** The same for a GeoJSON Polygon (RFC 7946, 3.1.6). */
export function readGeoJsonPolygon(json: JsonValue): string | undefined {
  const rings = itemsOf(coordinatesOf(json, 'Polygon')).map(ring => itemsOf(ring).map(toWktPosition))
  if (rings.flat().includes(undefined)) return undefined
  return readGeoLiteral(
    'Geography',
    `SRID=4326;POLYGON(${rings.map(ring => `(${ring.join(',')})`).join(',')})`,
  )?.value
}

/** Another member could move the shape, as the `crs` of old did: then it is refused. */
function coordinatesOf(json: JsonValue, type: string): JsonValue | undefined {
  if (!isObject(json) || Object.keys(json).length !== 2 || json['type'] !== type) return undefined
  return json['coordinates']
}

const itemsOf = (json: JsonValue | undefined): readonly JsonValue[] => (isList(json) ? json : [])

/** `longitude latitude`, in digits. Numbers may be texts, as those of Decimal are. */
function toWktPosition(json: JsonValue | undefined): string | undefined {
  const numbers = itemsOf(json).map(n =>
    n instanceof JsonNumber ? toPlainDecimal(n.text) : typeof n === 'string' ? toPlainDecimal(n) : undefined,
  )
  return numbers.length < 2 || numbers.includes(undefined) ? undefined : numbers.join(' ')
}
