import { JsonNumber } from '../../domain/json.js'
import { type Entity, getEntity, type Navigation, type Scalar } from '../../model/model.js'
import type { ImportJsonObject, ImportJsonValue } from './json-stream.js'
import { describeExpectedType, readColumnValue, readPointCoordinates } from './read-value.js'
import type { ColumnValue, TableRow } from './upsert.js'

/** A record of a file with the rows that hang on it. `place` names it for a person: `Property[12] 'P13'`. */
export interface ImportRecord {
  readonly entity: string
  readonly key: string
  readonly location: string
  readonly row: TableRow
  readonly nested: readonly ImportRecord[]
}

/** What is wrong with a record of a file; the message begins with the record and the field. */
export class RecordError extends Error {}

const failAtField = (location: string, field: string, reason: string): never => {
  throw new RecordError(`${location} ${field}: ${reason}`)
}

/** What a person sees of a value that does not fit. */
function describeImportValue(value: ImportJsonValue): string {
  if (typeof value === 'string') return `'${value.length > 60 ? `${value.slice(0, 57)}...` : value}'`
  if (value instanceof JsonNumber) return value.text
  if (value instanceof Map) return 'an object'
  return Array.isArray(value) ? 'a list' : String(value)
}

/**
 * The columns by which a nested record knows its parent. Media name it by resource and key; the database
 * finds the hidden reference.
 */
const toParentColumns = (navigation: Navigation, parent: Entity, key: string): TableRow =>
  getEntity(navigation.target).fields.has(navigation.foreign)
    ? { [navigation.foreign]: key }
    : { ResourceName: parent.name, ResourceRecordKey: key }

function readRecordKey(entityType: Entity, json: ImportJsonObject, location: string): string {
  const key = json.get(entityType.key.name)
  if (key === undefined || key === null || key === '')
    return failAtField(location, entityType.key.name, 'a key is needed')
  return typeof key === 'string'
    ? key
    : failAtField(location, entityType.key.name, `takes a text, not ${describeImportValue(key)}`)
}

function readScalarField(field: Scalar, json: ImportJsonValue, location: string): ColumnValue {
  if (json === null) return null
  const value = readColumnValue(field, json)
  return value === undefined
    ? failAtField(
        location,
        field.name,
        `takes ${describeExpectedType(field)}, not ${describeImportValue(json)}`,
      )
    : value
}

/** A point is another spelling of Longitude and Latitude. */
function readPointColumns(
  json: ImportJsonValue,
  record: ImportJsonObject,
  field: string,
  location: string,
): TableRow {
  if (json === null) return {}
  const point =
    readPointCoordinates(json) ??
    failAtField(
      location,
      field,
      `takes a GeoJSON point (longitude, latitude; WGS 84), not ${describeImportValue(json)}`,
    )
  for (const [name, value] of Object.entries(point)) {
    const other = record.get(name)
    const text = other instanceof JsonNumber ? other.text : other
    if (text === undefined || text === null || Number(text) === Number(value)) continue
    failAtField(location, name, `${String(text)} and ${field} ${value} are not the same place`)
  }
  return point
}

/** `label` is where the record stands in the file: `Property[12]`. */
export function readImportRecord(
  entityType: Entity,
  json: ImportJsonValue,
  label: string,
  parentColumns: TableRow = {},
): ImportRecord {
  if (!(json instanceof Map))
    throw new RecordError(`${label}: takes an object, not ${describeImportValue(json)}`)
  const key = readRecordKey(entityType, json, label)
  const location = `${label} '${key}'`
  const row: Record<string, ColumnValue> = {}
  const nested: ImportRecord[] = []
  for (const [name, value] of json) {
    // Control information of an OData answer, so that what was read from a service can be imported.
    if (name.startsWith('@odata.')) continue
    const field = entityType.fields.get(name)
    if (!field) failAtField(location, name, `${entityType.name} has no such field`)
    else if (field.kind === 'navigation')
      nested.push(...readNestedRecords(entityType, field, value, key, location))
    else if (field.type === 'GeographyPoint')
      Object.assign(row, readPointColumns(value, json, name, location))
    else if (value !== null || !(name in row)) row[name] = readScalarField(field, value, location)
  }
  return { entity: entityType.name, key, location, row: { ...row, ...parentColumns }, nested }
}

function readNestedRecords(
  entityType: Entity,
  navigation: Navigation,
  json: ImportJsonValue,
  key: string,
  location: string,
): readonly ImportRecord[] {
  // Only real relations own what they lead to; ListAgent and the like are records of their own.
  if (!navigation.relation || !navigation.collection)
    return failAtField(location, navigation.name, 'records of others cannot stand here')
  if (json === null) return []
  if (!Array.isArray(json))
    return failAtField(location, navigation.name, `takes a list of records, not ${describeImportValue(json)}`)
  const target = getEntity(navigation.target)
  const parentColumns = toParentColumns(navigation, entityType, key)
  return json.map((item: ImportJsonValue, index) =>
    readImportRecord(target, item, `${location} ${navigation.name}[${index}]`, parentColumns),
  )
}
