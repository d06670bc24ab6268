import type { Problem } from '../errors/problem.js'
import { entity, type Scalar, scalar } from '../model/model.js'
import { type Decimal, renderDecimal } from './decimal.js'
import { isObject, type JsonValue } from './json.js'
import {
  bad,
  boundsBroken,
  digitsBroken,
  isWgs84,
  type Outcome,
  outOfRange,
  readNumber,
  type Values,
  wrongType,
} from './values.js'

const PROPERTY = entity('Property')
const LONGITUDE = scalar(PROPERTY, 'Longitude')
const LATITUDE = scalar(PROPERTY, 'Latitude')

/** Longitude and Latitude, from which the database makes the point. */
const toValues = (longitude: string | null, latitude: string | null): Values => ({
  Longitude: longitude,
  Latitude: latitude,
})

/**
 * Reads a GeoJSON point (RFC 7946, 3.1.2), exactly two coordinates, also with the `crs` that OData JSON 4.01,
 * 7.1 writes if it names WGS 84. Null takes the position away.
 */
export function readPosition(field: Scalar, json: JsonValue): Outcome<Values> {
  if (json === null) return { value: toValues(null, null) }
  const point =
    isObject(json) && json['type'] === 'Point' && isEarth(json['crs']) ? json['coordinates'] : undefined
  const [longitude, latitude, ...others] = Array.isArray(point) ? point.map(readNumber) : []
  if (!longitude || !latitude || others.length > 0) return wrongType(field, json)
  const broken = limitOf(LONGITUDE, longitude) ?? limitOf(LATITUDE, latitude)
  return broken === undefined
    ? { value: toValues(renderDecimal(longitude), renderDecimal(latitude)) }
    : outOfRange(field, broken)
}

function limitOf(coordinate: Scalar, number: Decimal): string | undefined {
  const limit = digitsBroken(coordinate, number) ?? boundsBroken(coordinate, number)
  return limit === undefined ? undefined : `a ${coordinate.name} of ${limit}`
}

function isEarth(crs: JsonValue | undefined): boolean {
  if (crs === undefined || crs === null) return true
  const properties: JsonValue | undefined = isObject(crs) ? crs['properties'] : undefined
  const name = isObject(properties) ? properties['name'] : undefined
  return typeof name === 'string' && isWgs84(name)
}

/**
 * A body may name the position in both ways if they agree. `given` are the coordinates that stand in the body
 * themselves.
 */
export function disagreement(
  field: Scalar,
  position: Values,
  given: Values,
  json: JsonValue,
): Problem | undefined {
  const other = [LONGITUDE, LATITUDE].find(({ name }) => name in given && given[name] !== position[name])
  return (
    other &&
    bad(field, `the point whose ${other.name} stands in the body too`, json === null ? 'none' : 'another one')
      .problem
  )
}
