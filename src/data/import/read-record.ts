import { JsonNumber } from '../../domain/json.js'
import { type Entity, entity, type Navigation, type Scalar } from '../../model/model.js'
import type { Json, JsonObject } from './json-stream.js'
import { describeType, readPoint, readValue } from './read-value.js'
import type { Row, Value } from './upsert.js'

/** A record of a file with the rows that hang on it. `place` names it for a person: `Property[12] 'P13'`. */
export interface Loaded {
  readonly entity: string
  readonly key: string
  readonly place: string
  readonly row: Row
  readonly nested: readonly Loaded[]
}

/** What is wrong with a record of a file; the message begins with the record and the field. */
export class RecordError extends Error {}

const fault = (place: string, field: string, what: string): never => {
  throw new RecordError(`${place} ${field}: ${what}`)
}

/** What a person sees of a value that does not fit. */
function show(value: Json): string {
  if (typeof value === 'string') return `'${value.length > 60 ? `${value.slice(0, 57)}...` : value}'`
  if (value instanceof JsonNumber) return value.text
  if (value instanceof Map) return 'an object'
  return Array.isArray(value) ? 'a list' : String(value)
}

/**
 * The columns by which a nested record knows its parent. Media name it by resource and key; the database
 * finds the hidden reference.
 */
const toParentColumns = (navigation: Navigation, parent: Entity, key: string): Row =>
  entity(navigation.target).fields.has(navigation.foreign)
    ? { [navigation.foreign]: key }
    : { ResourceName: parent.name, ResourceRecordKey: key }

function readKey(of: Entity, json: JsonObject, place: string): string {
  const key = json.get(of.key.name)
  if (key === undefined || key === null || key === '') return fault(place, of.key.name, 'a key is needed')
  return typeof key === 'string' ? key : fault(place, of.key.name, `takes a text, not ${show(key)}`)
}

function readScalar(field: Scalar, json: Json, place: string): Value {
  if (json === null) return null
  const value = readValue(field, json)
  return value === undefined
    ? fault(place, field.name, `takes ${describeType(field)}, not ${show(json)}`)
    : value
}

/** A point is another spelling of Longitude and Latitude. */
function readPosition(json: Json, given: JsonObject, field: string, place: string): Row {
  if (json === null) return {}
  const point =
    readPoint(json) ??
    fault(place, field, `takes a GeoJSON point (longitude, latitude; WGS 84), not ${show(json)}`)
  for (const [name, value] of Object.entries(point)) {
    const other = given.get(name)
    const text = other instanceof JsonNumber ? other.text : other
    if (text === undefined || text === null || Number(text) === Number(value)) continue
    fault(place, name, `${String(text)} and ${field} ${value} are not the same place`)
  }
  return point
}

/** `label` is where the record stands in the file: `Property[12]`. */
export function readRecord(of: Entity, json: Json, label: string, parent: Row = {}): Loaded {
  if (!(json instanceof Map)) throw new RecordError(`${label}: takes an object, not ${show(json)}`)
  const key = readKey(of, json, label)
  const place = `${label} '${key}'`
  const row: Record<string, Value> = {}
  const nested: Loaded[] = []
  for (const [name, value] of json) {
    // Control information of an OData answer, so that what was read from a service can be imported.
    if (name.startsWith('@odata.')) continue
    const field = of.fields.get(name)
    if (!field) fault(place, name, `${of.name} has no such field`)
    else if (field.kind === 'navigation') nested.push(...readNested(of, field, value, key, place))
    else if (field.type === 'GeographyPoint') Object.assign(row, readPosition(value, json, name, place))
    else if (value !== null || !(name in row)) row[name] = readScalar(field, value, place)
  }
  return { entity: of.name, key, place, row: { ...row, ...parent }, nested }
}

function readNested(
  of: Entity,
  navigation: Navigation,
  json: Json,
  key: string,
  place: string,
): readonly Loaded[] {
  // Only real relations own what they lead to; ListAgent and the like are records of their own.
  if (!navigation.relation || !navigation.collection)
    return fault(place, navigation.name, 'records of others cannot stand here')
  if (json === null) return []
  if (!Array.isArray(json)) return fault(place, navigation.name, `takes a list of records, not ${show(json)}`)
  const target = entity(navigation.target)
  const parent = toParentColumns(navigation, of, key)
  return json.map((item: Json, index) =>
    readRecord(target, item, `${place} ${navigation.name}[${index}]`, parent),
  )
}
