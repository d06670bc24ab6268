import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_FIELD_VALUE, FOUND, LIMITS } from '../errors/phrases.js'
import type { Problem } from '../errors/problem.js'
import { getEntity, getScalar, type Scalar } from '../model/model.js'
import { type Decimal, renderDecimal } from './decimal.js'
import { isObject, type JsonValue } from './json.js'
import {
  invalidValue,
  isWgs84,
  outOfRange,
  type ReadResult,
  readJsonNumber,
  type Values,
  violatedPrecision,
  violatedRange,
  wrongType,
} from './values.js'

const PROPERTY = getEntity('Property')
const LONGITUDE = getScalar(PROPERTY, 'Longitude')
const LATITUDE = getScalar(PROPERTY, 'Latitude')

/** Longitude and Latitude. The database derives the point from them. */
const toCoordinates = (longitude: string | null, latitude: string | null): Values => ({
  Longitude: longitude,
  Latitude: latitude,
})

/**
 * Reads a GeoJSON point (RFC 7946, 3.1.2) with exactly two coordinates. A `crs` as in OData JSON 4.01, 7.1 is
 * accepted if it names WGS 84. Null clears the position.
 */
export function readPosition(field: Scalar, json: JsonValue): ReadResult<Values> {
  if (json === null) return { value: toCoordinates(null, null) }
  const point =
    isObject(json) && json['type'] === 'Point' && isWgs84Crs(json['crs']) ? json['coordinates'] : undefined
  const [longitude, latitude, ...others] = Array.isArray(point) ? point.map(readJsonNumber) : []
  if (!longitude || !latitude || others.length > 0) return wrongType(field, json)
  const violatedLimit = coordinateLimit(LONGITUDE, longitude) ?? coordinateLimit(LATITUDE, latitude)
  return violatedLimit === undefined
    ? { value: toCoordinates(renderDecimal(longitude), renderDecimal(latitude)) }
    : outOfRange(field, violatedLimit)
}

function coordinateLimit(coordinate: Scalar, number: Decimal): Phrase | undefined {
  const limit = violatedPrecision(coordinate, number) ?? violatedRange(coordinate, number)
  return limit === undefined ? undefined : LIMITS.coordinate(coordinate.name, limit)
}

function isWgs84Crs(crs: JsonValue | undefined): boolean {
  if (crs === undefined || crs === null) return true
  const properties: JsonValue | undefined = isObject(crs) ? crs['properties'] : undefined
  const name = isObject(properties) ? properties['name'] : undefined
  return typeof name === 'string' && isWgs84(name)
}

/**
 * Returns a fault if the body contains both the point and coordinates and they differ. `coordinates` are the
 * values of Longitude and Latitude in the body.
 */
export function pointConflict(
  field: Scalar,
  position: Values,
  coordinates: Values,
  json: JsonValue,
): Problem | undefined {
  const other = [LONGITUDE, LATITUDE].find(
    ({ name }) => name in coordinates && coordinates[name] !== position[name],
  )
  return (
    other &&
    invalidValue(
      field,
      EXPECTED_FIELD_VALUE.samePointAs(other.name),
      json === null ? FOUND.null : FOUND.otherPoint,
    ).problem
  )
}
