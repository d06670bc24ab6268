import { isList, isObject, JsonNumber, type JsonObject, type JsonValue } from '../../domain/json.js'
import { EXPECTED_COLUMN_VALUE, IMPORT_FAULTS } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'
import { type Entity, getEntity, type Navigation, type Scalar } from '../../model/model.js'
import { checkValue, isFutureModificationTimestamp, type RecordContext } from './check-value.js'
import type { RecordIssue } from './issues.js'
import { describeExpectedType, readColumnValue, readPointCoordinates } from './read-value.js'
import {
  type ColumnValue,
  type ImportRecord,
  isChildNavigation,
  type TableRow,
  toParentColumns,
} from './record.js'

/** The readable part of a record, and its issues. */
export interface ReadRecord {
  /** Undefined if there is no key. */
  readonly record: ImportRecord | undefined
  readonly issues: readonly RecordIssue[]
}

/**
 * Reads a record of a file. Types are checked. Lengths, lookups and references are not.
 * @param label position of the record in the file: `Property[12]`
 */
export function readImportRecord(
  entityType: Entity,
  json: JsonValue,
  label: string,
  context: RecordContext,
): ReadRecord {
  const reader = new RecordReader(context)
  const record = reader.readRecord(entityType, json, label, {})
  const isUnexplained = context.misread && !reader.issues.some(({ kind }) => kind === 'fault')
  if (isUnexplained) reader.issues.push({ kind: 'fault', label, reason: context.misread.reason })
  return { record, issues: reader.issues }
}

class RecordReader {
  readonly issues: RecordIssue[] = []

  constructor(private readonly context: RecordContext) {}

  readRecord(
    entityType: Entity,
    json: JsonValue,
    label: string,
    parentColumns: TableRow,
  ): ImportRecord | undefined {
    if (!isObject(json)) return this.#fail(label, undefined, IMPORT_FAULTS.notObject(describeValue(json)))
    const key = this.#readKey(entityType, json, label)
    if (key === undefined) return undefined
    const location = `${label} '${key}'`
    const row: Record<string, ColumnValue> = {}
    const nested: ImportRecord[] = []
    for (const [name, value] of Object.entries(json)) {
      // Control information of OData is ignored, so that exports of other services can be imported.
      if (name.startsWith('@odata.')) continue
      const field = entityType.fields.get(name)
      if (!field) this.#fail(location, name, IMPORT_FAULTS.unknownField(entityType.name))
      else if (field.kind === 'navigation')
        nested.push(...this.#readNested(entityType, field, value, key, location))
      else if (field.type === 'GeographyPoint')
        Object.assign(row, this.#readPoint(value, json, name, location))
      else if (value !== null || !(name in row))
        row[name] = this.#readScalar(entityType, field, value, location)
    }
    Object.assign(row, parentColumns)
    this.#checkRequired(entityType, row, location)
    return { entity: entityType.name, key, row, nested }
  }

  #fail(label: string, field: string | undefined, reason: Phrase): undefined {
    this.issues.push({ kind: 'fault', label, ...(field !== undefined && { field }), reason })
  }

  #readKey(entityType: Entity, json: JsonObject, label: string): string | undefined {
    const { name } = entityType.key
    const key = json[name]
    if (key === undefined || key === null || key === '')
      return this.#fail(label, name, IMPORT_FAULTS.keyRequired)
    return typeof key === 'string'
      ? key
      : this.#fail(label, name, IMPORT_FAULTS.wrongType(EXPECTED_COLUMN_VALUE.String, describeValue(key)))
  }

  /**
   * Checks required values. The parent keys of rooms and open houses are required texts.
   * ModificationTimestamp is optional.
   */
  #checkRequired(entityType: Entity, row: TableRow, location: string): void {
    for (const { name, type, nullable, collection } of entityType.scalars)
      if (type === 'String' && !nullable && !collection && (row[name] === undefined || row[name] === null))
        this.#fail(location, name, IMPORT_FAULTS.valueRequired)
  }

  #readScalar(entityType: Entity, field: Scalar, json: JsonValue, location: string): ColumnValue {
    if (json === null) return null
    const value = readColumnValue(field, json)
    if (value === undefined) {
      this.#fail(
        location,
        field.name,
        IMPORT_FAULTS.wrongType(describeExpectedType(field), describeValue(json)),
      )
      return null
    }
    for (const issue of checkValue(entityType, field, value, this.context))
      this.issues.push({ ...issue, label: location, field: field.name })
    return isFutureModificationTimestamp(field, String(value), this.context.now) ? null : value
  }

  /** Reads a point, which is another notation for Longitude and Latitude. */
  #readPoint(json: JsonValue, record: JsonObject, field: string, location: string): TableRow {
    if (json === null) return {}
    const point = readPointCoordinates(json)
    if (!point) {
      const reason = IMPORT_FAULTS.wrongType(EXPECTED_COLUMN_VALUE.GeographyPoint, describeValue(json))
      this.#fail(location, field, reason)
      return {}
    }
    for (const [name, value] of Object.entries(point)) {
      const other = record[name]
      const text = other instanceof JsonNumber ? other.text : other
      if (text === undefined || text === null || Number(text) === Number(value)) continue
      this.#fail(location, name, IMPORT_FAULTS.otherPlace(String(text), field, String(value)))
    }
    return point
  }

  #readNested(
    entityType: Entity,
    navigation: Navigation,
    json: JsonValue,
    key: string,
    location: string,
  ): readonly ImportRecord[] {
    const { name } = navigation
    if (!isChildNavigation(navigation)) {
      this.#fail(location, name, IMPORT_FAULTS.nestedRecords)
      return []
    }
    if (!isList(json)) {
      if (json !== null) this.#fail(location, name, IMPORT_FAULTS.notRecordsBut(describeValue(json)))
      return []
    }
    const target = getEntity(navigation.target)
    const parentColumns = toParentColumns(navigation, entityType, key)
    return json.flatMap(
      (item, index) => this.readRecord(target, item, `${location} ${name}[${index}]`, parentColumns) ?? [],
    )
  }
}

/** Describes a value for an error message. */
function describeValue(value: JsonValue): string {
  if (typeof value === 'string') return `'${value.length > 60 ? `${value.slice(0, 57)}...` : value}'`
  if (value instanceof JsonNumber) return value.text
  if (isObject(value)) return 'an object'
  return isList(value) ? 'a list' : String(value)
}
