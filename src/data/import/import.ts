import { stat } from 'node:fs/promises'
import type { Writer } from '../../domain/actor.js'
import type { Phrase } from '../../errors/phrase.js'
import { ENTITIES } from '../../model/model.js'
import type { Database } from '../database.js'
import {
  type CheckedFile,
  checkFile,
  DEPENDENT_ENTITIES,
  ENTITIES_BY_SET_NAME,
  labelOf,
} from './check-file.js'
import type { FileEncoding } from './decode-text.js'
import { IssueReport, type WarningSummary } from './issues.js'
import { loadRecords, type RowCounts } from './load-records.js'
import { type FileSource, readFileEntries } from './read-file.js'
import { readImportRecord } from './read-record.js'
import type { ImportRecord } from './record.js'

export interface ImportOptions {
  readonly encoding?: FileEncoding
  /** Check the file without writing. */
  readonly isDryRun?: boolean
  /** Import valid records and skip the others. */
  readonly skipFaults?: boolean
  /** Treat warnings as errors. */
  readonly isStrict?: boolean
  /** Maximum number of faults that are described. The others are counted. */
  readonly maxFaults?: number
  /** The author of the import, for the audit log. Defaults to the user of the database. */
  readonly actor?: Writer
  /** Called for a top-level member that is not an importable entity set, with a message. */
  readonly onSkipped?: (member: string, reason: string) => void
  /** Called with the number of bytes read in the current pass over the file. */
  readonly onBytes?: (bytes: number) => void
  /** Called when a pass over the file begins. */
  readonly onPass?: (pass: 'check' | 'load') => void
  /** Called when rows of an entity are committed or were found unchanged. */
  readonly onLoaded?: (entity: string, counts: RowCounts) => void
}

export interface ImportResult {
  /** Descriptions of the first `maxFaults` faults. */
  readonly faults: readonly string[]
  readonly faultCount: number
  /** Number of records that were skipped because of faults. */
  readonly leftOut: number
  readonly warnings: readonly WarningSummary[]
  /** Number of valid records by entity, nested ones included. */
  readonly counts: ReadonlyMap<string, number>
}

/** The file has faults, so nothing was imported. */
export class FileRefusedError extends Error {
  constructor(readonly result: ImportResult) {
    const { faults, faultCount } = result
    const others = faultCount > faults.length ? [`and ${faultCount - faults.length} more faults`] : []
    super([...faults, ...others].join('\n'))
  }
}

/** Importable entity sets, without alternative names. */
export const IMPORTABLE_SET_NAMES: readonly string[] = [...ENTITIES.keys()].filter(name =>
  ENTITIES_BY_SET_NAME.has(name),
)

const DEFAULT_MAX_FAULTS = 100

/**
 * Imports a JSON file whose top-level arrays are entity sets. The whole file is checked before anything is
 * written. Records are stored unchanged. A record that differs from the stored one replaces it together with
 * its nested records, and an equal one is skipped. Media, Rooms and OpenHouse under their own entity sets are
 * loaded in a second pass, so that the order of the sets does not matter.
 * @throws FileRefusedError if the file has faults, unless they are skipped
 * @throws RecordRefusedError if the database rejects a record that passed the check; earlier commits remain
 */
export async function importFile(
  database: Database,
  path: string,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const { encoding = 'utf-8', isStrict = false, maxFaults = DEFAULT_MAX_FAULTS, onBytes } = options
  const source: FileSource = { path, encoding, ...(onBytes && { onBytes }) }
  const now = Date.now()
  const report = new IssueReport(isStrict, maxFaults)
  const version = await versionOf(path)
  options.onPass?.('check')
  const { onSkipped = () => undefined } = options
  const checked = await checkFile(source, database, { now, report, onSkipped })
  const refused = new Set<ImportRecord>()
  const toResult = (): ImportResult => ({
    faults: report.faults,
    faultCount: report.faultCount,
    leftOut: checked.faulty.size + refused.size,
    warnings: report.warnings,
    counts: checked.counts,
  })
  if (report.faultCount > 0 && !options.skipFaults) throw new FileRefusedError(toResult())
  if (options.isDryRun) return toResult()
  if ((await versionOf(path)) !== version) throw new Error(`${path} changed while it was checked.`)
  await loadFile(database, source, checked, now, options, (record, reason) => {
    refused.add(record)
    report.add({ kind: 'fault', label: `${record.entity} '${record.key}'`, reason })
  })
  return toResult()
}

/** Returns a text that changes when the file is modified. */
async function versionOf(path: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(path)
  return `${ino} ${size} ${mtimeMs}`
}

async function loadFile(
  database: Database,
  source: FileSource,
  checked: CheckedFile,
  now: number,
  { actor, skipFaults, onPass, onLoaded }: ImportOptions,
  onRefused: (record: ImportRecord, reason: Phrase) => void,
): Promise<void> {
  const isListed = (entity: string, key: string) => checked.ordinals.get(entity)?.has(key) ?? false
  const load = (isIncluded: (entity: string) => boolean) => {
    onPass?.('load')
    return loadRecords(database, readBatches(source, checked, now, isIncluded), {
      isListed,
      ...(actor !== undefined && { actor }),
      ...(onLoaded && { onLoaded }),
      ...(skipFaults && { onRefused }),
    })
  }
  await load(entity => !DEPENDENT_ENTITIES.has(entity))
  if ([...DEPENDENT_ENTITIES].some(entity => checked.ordinals.has(entity)))
    await load(entity => DEPENDENT_ENTITIES.has(entity))
}

/** Maximum number of rows in one comparison with the database. */
const MAX_BATCH_ROWS = 1_000

/** Yields batches of the records that one pass loads from a checked file. */
async function* readBatches(
  source: FileSource,
  { ordinals, faulty }: CheckedFile,
  now: number,
  isIncluded: (entity: string) => boolean,
): AsyncGenerator<readonly ImportRecord[]> {
  let batch: ImportRecord[] = []
  let rows = 0
  const isWanted = (member: string) => isIncluded(ENTITIES_BY_SET_NAME.get(member)?.name ?? '')
  for await (const item of readFileEntries(source, isWanted)) {
    const entityType = item.kind === 'item' ? ENTITIES_BY_SET_NAME.get(item.member) : undefined
    if (item.kind !== 'item' || !entityType || faulty.has(item.ordinal)) continue
    const { record } = readImportRecord(entityType, item.json, labelOf(item), { now })
    if (!record || ordinals.get(record.entity)?.get(record.key) !== item.ordinal) continue
    batch.push(withoutListed(record, ordinals))
    rows += 1 + record.nested.length
    if (rows < MAX_BATCH_ROWS) continue
    yield batch
    batch = []
    rows = 0
  }
  if (batch.length > 0) yield batch
}

/** Removes nested records that the file also lists under their entity set, where they take precedence. */
function withoutListed(record: ImportRecord, ordinals: CheckedFile['ordinals']): ImportRecord {
  const nested = record.nested.filter(({ entity, key }) => !ordinals.get(entity)?.has(key))
  return nested.length === record.nested.length ? record : { ...record, nested }
}
