import { JsonNumber, type JsonObject, type JsonValue } from '../domain/json.js'
import { toPlainDecimal } from '../language/literals-number.js'
import { type EdmType, entity, scalar } from '../model/model.js'
import type { Input } from './operation.js'

const PROPERTY = entity('Property')

/** Types whose scalars give digits as text. */
const DIGITS: ReadonlySet<EdmType> = new Set(['Decimal', 'Int64'])

/** A PropertyInput, as graphql-js has coerced it, in the form of a JSON body: numbers with all their digits, a position as GeoJSON. */
export function readInput(input: Input): JsonObject {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, toJson(value, scalar(PROPERTY, name).type)]))
}

function toJson(value: unknown, type: EdmType): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (typeof value === 'string' && DIGITS.has(type)) return new JsonNumber(toPlainDecimal(value) ?? value)
  return value as JsonValue // texts, Booleans, null, lists of texts, and points, which the scalar gives as JSON
}
