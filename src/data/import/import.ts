import { ENTITIES, type Entity } from '../../model/model.js'
import { suggest } from '../../query/suggest.js'
import type { Database } from '../database.js'
import { readMembers } from './json-stream.js'
import { type Loaded, RecordError, readRecord } from './read-record.js'
import { type Batch, LOADABLE, LoadError, loadBatches, type Row } from './upsert.js'

/** What an import tells while it works. */
interface ImportReport {
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
const BATCH_ROWS = 2000

/** These belong to others, which must be there first. */
const DEPENDENT: ReadonlySet<string> = new Set(['Media', 'Rooms', 'OpenHouse'])

const BY_SET: ReadonlyMap<string, Entity> = new Map(
  [...ENTITIES.values()]
    .filter(e => LOADABLE.has(e.name))
    .flatMap(e => [[e.name, e] as const, ...(e.alias === undefined ? [] : [[e.alias, e] as const])]),
)

/** The entity sets that a file can bring, without their other names. */
export const SET_NAMES: readonly string[] = [...new Set([...BY_SET.values()].map(({ name }) => name))]

function describeSkipped(member: string): string {
  if (ENTITIES.has(member)) return `'${member}' is written by the service itself and was skipped`
  const suggestion = suggest(member, BY_SET.keys())
  return `'${member}' is no entity set and was skipped${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`
}

/** The records of one transaction: of those with the same key the last one counts, with what hangs on it. */
class Pending {
  readonly #records = new Map<string, Loaded>()
  #rows = 0

  add(record: Loaded): void {
    const id = `${record.entity} ${record.key}`
    this.#rows += 1 + record.nested.length
    this.#records.delete(id)
    this.#records.set(id, record)
  }

  get isFull(): boolean {
    return this.#rows >= BATCH_ROWS
  }

  get isEmpty(): boolean {
    return this.#rows === 0
  }

  toBatch(): Batch {
    const tables = new Map<string, Map<string, Row>>()
    const put = ({ entity, key, row }: Loaded) => {
      const table = tables.get(entity) ?? new Map<string, Row>()
      tables.set(entity, table.set(key, row))
    }
    for (const record of this.#records.values()) {
      put(record)
      for (const nested of record.nested) put(nested)
    }
    return Object.fromEntries([...tables].map(([name, rows]) => [name, [...rows.values()]]))
  }
}

/** Batches of what one pass takes out of the file; `seen` hears of each entity set. */
async function* readBatches(
  path: string,
  takes: (entity: string) => boolean,
  seen: (entity: string) => void,
  report: ImportReport,
): AsyncGenerator<Batch> {
  let pending = new Pending()
  const wanted = (member: string) => {
    const of = BY_SET.get(member)
    if (of) seen(of.name)
    return of !== undefined && takes(of.name)
  }
  for await (const found of readMembers(path, wanted, report.onBytes)) {
    const of = BY_SET.get(found.member)
    if (found.kind === 'skipped') {
      if (!of) report.onSkipped(found.member, describeSkipped(found.member))
      else if (!found.isArray) throw new RecordError(`${found.member}: takes a list of records`)
      continue
    }
    if (of) pending.add(readRecord(of, found.value, `${found.member}[${found.index}]`))
    if (!pending.isFull) continue
    yield pending.toBatch()
    pending = new Pending()
  }
  if (!pending.isEmpty) yield pending.toBatch()
}

/** A room or open house of no listing: the one reference that the database insists on. */
function toRecordError(error: unknown): unknown {
  if (!(error instanceof LoadError) || typeof error.cause !== 'object' || error.cause === null) return error
  const { code, detail, table } = error.cause as {
    readonly code?: string
    readonly detail?: string
    readonly table?: string
  }
  const [, missing] = /^Key \(ListingKey\)=\((.*)\) is not present/s.exec(detail ?? '') ?? []
  const of = BY_SET.get(table ?? '')
  if (code !== '23503' || missing === undefined || !of) return error
  const row = error.batch[of.name]?.find(candidate => candidate.ListingKey === missing)
  return new RecordError(
    `${of.name} '${String(row?.[of.key.name])}' ListingKey: there is no Property '${missing}'`,
  )
}

/**
 * Imports a JSON file whose top-level arrays are entity sets. Records are taken as they are; those with a key
 * that is there are replaced. What belongs to others (Media, Rooms, OpenHouse as sets of their own) is read
 * in a second pass, so that the order of the sets does not matter.
 * @throws RecordError, JsonFileError or LoadError; what was committed before stays.
 */
export async function importFile(database: Database, path: string, report: ImportReport): Promise<void> {
  const seen = new Set<string>()
  const onLoaded = (batch: Batch) => {
    for (const [name, rows] of Object.entries(batch)) report.onLoaded(name, rows.length)
  }
  const load = (takes: (entity: string) => boolean, passReport: ImportReport) =>
    loadBatches(
      database,
      readBatches(path, takes, name => seen.add(name), passReport),
      onLoaded,
    ).catch((error: unknown) => {
      throw toRecordError(error)
    })
  await load(name => !DEPENDENT.has(name), report)
  if (![...DEPENDENT].some(name => seen.has(name))) return
  report.onPass()
  await load(name => DEPENDENT.has(name), { ...report, onSkipped: () => undefined })
}
