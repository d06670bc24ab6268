import { IMPORT_FAULTS, IMPORT_WARNINGS, SKIPPED_MEMBERS } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'
import { suggestName } from '../../errors/suggest.js'
import { ENTITIES, type Entity } from '../../model/model.js'
import type { Database } from '../database.js'
import { withNestedRecords } from './find-changes.js'
import type { IssueReport } from './issues.js'
import type { FilePosition } from './json-scanner.js'
import { type FileItem, type FileSource, readFileEntries } from './read-file.js'
import { readImportRecord } from './read-record.js'
import { ENTITIES_IN_LOAD_ORDER, type ImportRecord } from './record.js'

/** Importable entities by the names of their entity sets, including alternative names. */
export const ENTITIES_BY_SET_NAME: ReadonlyMap<string, Entity> = new Map(
  ENTITIES_IN_LOAD_ORDER.flatMap(e => [
    [e.name, e] as const,
    ...(e.alias === undefined ? [] : [[e.alias, e] as const]),
  ]),
)

/** Entities whose records require a stored parent. */
export const DEPENDENT_ENTITIES: ReadonlySet<string> = new Set(['Media', 'Rooms', 'OpenHouse'])

/** Results of checking a file, for loading it. */
export interface CheckedFile {
  /** Number of valid records of each entity, nested ones included. */
  readonly counts: ReadonlyMap<string, number>
  /**
   * Keys of the records that are listed under their own entity set, with the ordinal of the last record of
   * each key.
   */
  readonly ordinals: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Ordinals of the invalid records. */
  readonly faulty: ReadonlySet<number>
}

interface CheckOptions {
  readonly now: number
  readonly report: IssueReport
  /** Called for a top-level member that is not an importable entity set, with a message. */
  readonly onSkipped: (member: string, reason: string) => void
}

/** A record under its own entity set whose parent must exist. */
interface ParentReference {
  readonly record: ImportRecord
  readonly parent: string
  readonly item: FileItem
}

/**
 * Checks a whole file and reports all issues. Nothing is written.
 * @param database used to find listings that the file refers to but does not contain
 */
export async function checkFile(
  source: FileSource,
  database: Database,
  options: CheckOptions,
): Promise<CheckedFile> {
  const check = new FileCheck(options)
  for await (const entry of readFileEntries(source, () => true)) {
    if (entry.kind === 'item') check.addItem(entry)
    else if (entry.kind === 'member') check.addMember(entry.member, entry.isArray, entry.position)
    else check.addFault(entry.label, entry.reason, entry.position, entry.ordinal)
  }
  await check.checkParents(database)
  return check
}

class FileCheck implements CheckedFile {
  readonly counts = new Map<string, number>()
  readonly ordinals = new Map<string, Map<string, number>>()
  readonly faulty = new Set<number>()
  readonly #references: ParentReference[] = []

  constructor(private readonly options: CheckOptions) {}

  addMember(member: string, isArray: boolean, position: FilePosition): void {
    if (!ENTITIES_BY_SET_NAME.has(member)) this.options.onSkipped(member, describeSkippedMember(member))
    else if (!isArray) this.addFault(member, IMPORT_FAULTS.notRecords, position)
  }

  addFault(label: string, reason: Phrase, position: FilePosition, ordinal?: number): void {
    this.options.report.add({ kind: 'fault', label, reason }, position)
    if (ordinal !== undefined) this.faulty.add(ordinal)
  }

  addItem(item: FileItem): void {
    const entityType = ENTITIES_BY_SET_NAME.get(item.member)
    if (!entityType) return
    const { now, report } = this.options
    const { record, issues } = readImportRecord(entityType, item.json, labelOf(item), {
      now,
      misread: item.misread,
    })
    // Every issue is reported, so this must not short-circuit.
    const faults = issues.filter(issue => report.add(issue, item.position))
    if (!record || faults.length > 0 || this.#isRepeated(record, item)) {
      this.faulty.add(item.ordinal)
      return
    }
    this.#addKey(record, item)
    for (const { entity } of withNestedRecords([record])) this.#count(entity, 1)
    const parent = record.row['ListingKey']
    if (DEPENDENT_ENTITIES.has(record.entity) && typeof parent === 'string')
      this.#references.push({ record, parent, item })
  }

  /** Reports a repeated key. Returns true if it is an error. */
  #isRepeated(record: ImportRecord, item: FileItem): boolean {
    if (this.ordinals.get(record.entity)?.get(record.key) === undefined) return false
    const reason = IMPORT_WARNINGS.repeatedKey
    return this.options.report.add(
      { kind: 'repeated key', label: `${labelOf(item)} '${record.key}'`, reason },
      item.position,
    )
  }

  #addKey({ entity, key }: ImportRecord, { ordinal }: FileItem): void {
    const keys = this.ordinals.get(entity) ?? new Map<string, number>()
    this.ordinals.set(entity, keys.set(key, ordinal))
  }

  #count(entity: string, change: number): void {
    this.counts.set(entity, (this.counts.get(entity) ?? 0) + change)
  }

  /** Checks that the listings of rooms and open houses exist, in the file or in the database. */
  async checkParents(database: Database): Promise<void> {
    const listed = this.ordinals.get('Property')
    const open = this.#references.filter(({ parent }) => !listed?.has(parent))
    const stored = await findStoredListings(database, [...new Set(open.map(({ parent }) => parent))])
    for (const { record, parent, item } of open) {
      if (stored.has(parent)) continue
      const label = `${labelOf(item)} '${record.key}' ListingKey`
      this.addFault(label, IMPORT_FAULTS.unknownParent(parent), item.position, item.ordinal)
      this.ordinals.get(record.entity)?.delete(record.key)
      this.#count(record.entity, -1)
    }
  }
}

const KEYS_PER_QUERY = 5_000

async function findStoredListings(
  { prisma }: Database,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (let start = 0; start < keys.length; start += KEYS_PER_QUERY) {
    const part = keys.slice(start, start + KEYS_PER_QUERY)
    const rows = await prisma.$queryRaw<
      { key: string }[]
    >`select "ListingKey" as key from "Property" where "ListingKey" = any(${part}::text[])`
    for (const { key } of rows) found.add(key)
  }
  return found
}

/** Labels a record by its position in the file. */
export const labelOf = ({ member, index }: FileItem): string => `${member}[${index}]`

function describeSkippedMember(member: string): string {
  if (ENTITIES.has(member)) return SKIPPED_MEMBERS.readOnly(member)
  return SKIPPED_MEMBERS.unknown(member, suggestName(member, ENTITIES_BY_SET_NAME.keys()))
}
