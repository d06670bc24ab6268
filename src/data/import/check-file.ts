import { ENTITIES, type Entity } from '../../model/model.js'
import { suggestName } from '../../query/suggest.js'
import type { Database } from '../database.js'
import { flatten } from './find-changes.js'
import type { IssueReport } from './issues.js'
import type { FilePosition } from './json-scanner.js'
import { type FileItem, type FileSource, readFileEntries } from './read-file.js'
import { readImportRecord } from './read-record.js'
import { ENTITIES_IN_LOAD_ORDER, type ImportRecord } from './record.js'

/** The importable entity of each entity set, under its other name too. */
export const ENTITIES_BY_SET_NAME: ReadonlyMap<string, Entity> = new Map(
  ENTITIES_IN_LOAD_ORDER.flatMap(e => [
    [e.name, e] as const,
    ...(e.alias === undefined ? [] : [[e.alias, e] as const]),
  ]),
)

/** Entities whose records belong to others, which must be stored first. */
export const DEPENDENT_ENTITIES: ReadonlySet<string> = new Set(['Media', 'Rooms', 'OpenHouse'])

/** What the check of a file finds out for loading it. */
export interface CheckedFile {
  /** Records of each entity, nested ones included, that can be loaded. */
  readonly counts: ReadonlyMap<string, number>
  /** Records under entity sets of their own: the ordinal of the last one with each key. */
  readonly ordinals: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Ordinals of the records that have faults. */
  readonly faulty: ReadonlySet<number>
}

interface CheckOptions {
  readonly now: number
  readonly report: IssueReport
  /** Called with a top-level member that is no entity set to import, and a sentence that says so. */
  readonly onSkipped: (member: string, reason: string) => void
}

/** A record under an entity set of its own whose parent must exist. */
interface ParentReference {
  readonly record: ImportRecord
  readonly parent: string
  readonly item: FileItem
}

/**
 * Reads a whole file and reports everything that is wrong with it. Nothing is written.
 * @param database says whether listings exist that the file only refers to.
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
    else if (!isArray) this.addFault(member, 'takes a list of records', position)
  }

  addFault(label: string, reason: string, position: FilePosition, ordinal?: number): void {
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
    // Every issue is reported, so no short-circuit.
    const faults = issues.filter(issue => report.add(issue, item.position))
    if (!record || faults.length > 0 || this.#isRepeated(record, item)) {
      this.faulty.add(item.ordinal)
      return
    }
    this.#addKey(record, item)
    for (const { entity } of flatten([record])) this.#count(entity, 1)
    const parent = record.row['ListingKey']
    if (DEPENDENT_ENTITIES.has(record.entity) && typeof parent === 'string')
      this.#references.push({ record, parent, item })
  }

  /** Reports a key that occurred before. Returns whether that is a fault. */
  #isRepeated(record: ImportRecord, item: FileItem): boolean {
    if (this.ordinals.get(record.entity)?.get(record.key) === undefined) return false
    const reason = 'the key occurs before in the file'
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

  /** Rooms and open houses must have a listing, in the file or in the database. */
  async checkParents(database: Database): Promise<void> {
    const listed = this.ordinals.get('Property')
    const open = this.#references.filter(({ parent }) => !listed?.has(parent))
    const stored = await findStoredListings(database, [...new Set(open.map(({ parent }) => parent))])
    for (const { record, parent, item } of open) {
      if (stored.has(parent)) continue
      const label = `${labelOf(item)} '${record.key}' ListingKey`
      this.addFault(label, `there is no Property '${parent}'`, item.position, item.ordinal)
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

/** A record as a person finds it in the file. */
export const labelOf = ({ member, index }: FileItem): string => `${member}[${index}]`

function describeSkippedMember(member: string): string {
  if (ENTITIES.has(member)) return `'${member}' is written by the service itself and was skipped`
  const suggestion = suggestName(member, ENTITIES_BY_SET_NAME.keys())
  return `'${member}' is no entity set and was skipped${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`
}
