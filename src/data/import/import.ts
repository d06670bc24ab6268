import { ENTITIES, type Entity } from '../../model/model.js'
import { suggestName } from '../../query/suggest.js'
import type { Database } from '../database.js'
import { readArrayItems } from './json-stream.js'
import { type ImportRecord, RecordError, readImportRecord } from './read-record.js'
import {
  BatchLoadError,
  LOADABLE_ENTITY_NAMES,
  loadBatches,
  type TableBatch,
  type TableRow,
} from './upsert.js'

/** What an import tells while it works. */
interface ImportListener {
  /** A top-level member of the file that is no entity set to import, and a sentence that says so. */
  readonly onSkipped: (member: string, reason: string) => void
  /** Bytes read, of all passes over the file. */
  readonly onBytes: (bytes: number) => void
  /** Another pass over the file is needed. */
  readonly onPass: () => void
  /** Records of an entity that are committed. */
  readonly onLoaded: (entity: string, records: number) => void
}

/**
 * Rows in one transaction: enough to make its cost small, few enough to keep others waiting for less than a
 * second or two.
 */
const MAX_BATCH_ROWS = 2000

/** These belong to others, which must be there first. */
const DEPENDENT_ENTITIES: ReadonlySet<string> = new Set(['Media', 'Rooms', 'OpenHouse'])

const ENTITIES_BY_SET_NAME: ReadonlyMap<string, Entity> = new Map(
  [...ENTITIES.values()]
    .filter(e => LOADABLE_ENTITY_NAMES.has(e.name))
    .flatMap(e => [[e.name, e] as const, ...(e.alias === undefined ? [] : [[e.alias, e] as const])]),
)

/** The entity sets that a file can bring, without their other names. */
export const IMPORTABLE_SET_NAMES: readonly string[] = [
  ...new Set([...ENTITIES_BY_SET_NAME.values()].map(({ name }) => name)),
]

function describeSkippedMember(member: string): string {
  if (ENTITIES.has(member)) return `'${member}' is written by the service itself and was skipped`
  const suggestion = suggestName(member, ENTITIES_BY_SET_NAME.keys())
  return `'${member}' is no entity set and was skipped${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`
}

/** The records of one transaction: of those with the same key the last one counts, with what hangs on it. */
class BatchBuilder {
  readonly #records = new Map<string, ImportRecord>()
  #rows = 0

  add(record: ImportRecord): void {
    const id = `${record.entity} ${record.key}`
    this.#rows += 1 + record.nested.length
    this.#records.delete(id)
    this.#records.set(id, record)
  }

  get isFull(): boolean {
    return this.#rows >= MAX_BATCH_ROWS
  }

  get isEmpty(): boolean {
    return this.#rows === 0
  }

  toBatch(): TableBatch {
    const tables = new Map<string, Map<string, TableRow>>()
    const addRow = ({ entity, key, row }: ImportRecord) => {
      const table = tables.get(entity) ?? new Map<string, TableRow>()
      tables.set(entity, table.set(key, row))
    }
    for (const record of this.#records.values()) {
      addRow(record)
      for (const nested of record.nested) addRow(nested)
    }
    return Object.fromEntries([...tables].map(([name, rows]) => [name, [...rows.values()]]))
  }
}

/** Batches of what one pass takes out of the file; `seen` hears of each entity set. */
async function* readBatches(
  path: string,
  isIncluded: (entity: string) => boolean,
  onEntity: (entity: string) => void,
  listener: ImportListener,
): AsyncGenerator<TableBatch> {
  let builder = new BatchBuilder()
  const isWanted = (member: string) => {
    const entityType = ENTITIES_BY_SET_NAME.get(member)
    if (entityType) onEntity(entityType.name)
    return entityType !== undefined && isIncluded(entityType.name)
  }
  for await (const entry of readArrayItems(path, isWanted, listener.onBytes)) {
    const entityType = ENTITIES_BY_SET_NAME.get(entry.member)
    if (entry.kind === 'skipped') {
      if (!entityType) listener.onSkipped(entry.member, describeSkippedMember(entry.member))
      else if (!entry.isArray) throw new RecordError(`${entry.member}: takes a list of records`)
      continue
    }
    if (entityType) builder.add(readImportRecord(entityType, entry.value, `${entry.member}[${entry.index}]`))
    if (!builder.isFull) continue
    yield builder.toBatch()
    builder = new BatchBuilder()
  }
  if (!builder.isEmpty) yield builder.toBatch()
}

/** A room or open house of no listing: the one reference that the database insists on. */
function toRecordError(error: unknown): unknown {
  if (!(error instanceof BatchLoadError) || typeof error.cause !== 'object' || error.cause === null)
    return error
  const { code, detail, table } = error.cause as {
    readonly code?: string
    readonly detail?: string
    readonly table?: string
  }
  const [, missingKey] = /^Key \(ListingKey\)=\((.*)\) is not present/s.exec(detail ?? '') ?? []
  const entityType = ENTITIES_BY_SET_NAME.get(table ?? '')
  if (code !== '23503' || missingKey === undefined || !entityType) return error
  const row = error.batch[entityType.name]?.find(candidate => candidate.ListingKey === missingKey)
  return new RecordError(
    `${entityType.name} '${String(row?.[entityType.key.name])}' ListingKey: there is no Property '${missingKey}'`,
  )
}

/**
 * Imports a JSON file whose top-level arrays are entity sets. Records are taken as they are; those with a key
 * that is there are replaced. What belongs to others (Media, Rooms, OpenHouse as sets of their own) is read
 * in a second pass, so that the order of the sets does not matter.
 * @throws RecordError, JsonFileError or LoadError; what was committed before stays.
 */
export async function importFile(database: Database, path: string, listener: ImportListener): Promise<void> {
  const entitiesSeen = new Set<string>()
  const onLoaded = (batch: TableBatch) => {
    for (const [name, rows] of Object.entries(batch)) listener.onLoaded(name, rows.length)
  }
  const load = (isIncluded: (entity: string) => boolean, passListener: ImportListener) =>
    loadBatches(
      database,
      readBatches(path, isIncluded, name => entitiesSeen.add(name), passListener),
      onLoaded,
    ).catch((error: unknown) => {
      throw toRecordError(error)
    })
  await load(name => !DEPENDENT_ENTITIES.has(name), listener)
  if (![...DEPENDENT_ENTITIES].some(name => entitiesSeen.has(name))) return
  listener.onPass()
  await load(name => DEPENDENT_ENTITIES.has(name), { ...listener, onSkipped: () => undefined })
}
