import { isList, isObject, JsonNumber, type JsonValue } from '../../domain/json.js'
import { readGeoLiteral } from '../../language/literals-geo.js'
import { isNumber, toPlainDecimal } from '../../language/literals-number.js'

/**
 * Returns true for the shape of a GeoJSON Point: a longitude and a latitude. Readers check the range, since a
 * write reports it with the other faults of its body.
 */
export const isGeoJsonPoint = (json: JsonValue): boolean => isPosition(coordinatesOf(json, 'Point'))

/** Returns true for the shape of a GeoJSON Polygon: rings of positions. */
export const isGeoJsonPolygon = (json: JsonValue): boolean => {
  const rings = itemsOf(coordinatesOf(json, 'Polygon'))
  return rings.length > 0 && rings.every(ring => isList(ring) && ring.every(isPosition))
}

const isPosition = (json: JsonValue | undefined): boolean => {
  const numbers = itemsOf(json).map(toNumberText)
  return numbers.length >= 2 && numbers.every(text => text !== undefined && isNumber(text))
}

/** Numbers can be strings, as for Decimal. */
const toNumberText = (json: JsonValue): string | undefined =>
  json instanceof JsonNumber ? json.text : typeof json === 'string' ? json : undefined

/**
 * Returns the literal value (`Value` in query/ast.ts) for a GeoJSON Point (RFC 7946, 3.1.2) in WGS 84, or
 * undefined for an invalid point.
 */
export function readGeoJsonPoint(json: JsonValue): string | undefined {
  const position = toWktPosition(coordinatesOf(json, 'Point'))
  return position === undefined
    ? undefined
    : readGeoLiteral('Geography', `SRID=4326;POINT(${position})`)?.value
}

/** Returns the literal value for a GeoJSON Polygon (RFC 7946, 3.1.6), or undefined for an invalid polygon. */
export function readGeoJsonPolygon(json: JsonValue): string | undefined {
  const rings = itemsOf(coordinatesOf(json, 'Polygon')).map(ring => itemsOf(ring).map(toWktPosition))
  if (rings.flat().includes(undefined)) return undefined
  return readGeoLiteral(
    'Geography',
    `SRID=4326;POLYGON(${rings.map(ring => `(${ring.join(',')})`).join(',')})`,
  )?.value
}

/** Refuses other members, since the former `crs` could change the meaning of the coordinates. */
function coordinatesOf(json: JsonValue, type: string): JsonValue | undefined {
  if (!isObject(json) || Object.keys(json).length !== 2 || json['type'] !== type) return undefined
  return json['coordinates']
}

const itemsOf = (json: JsonValue | undefined): readonly JsonValue[] => (isList(json) ? json : [])

/** Returns `longitude latitude` in digits. */
function toWktPosition(json: JsonValue | undefined): string | undefined {
  const numbers = itemsOf(json).map(item => toPlainDecimal(toNumberText(item) ?? ''))
  return numbers.length < 2 || numbers.includes(undefined) ? undefined : numbers.join(' ')
}
