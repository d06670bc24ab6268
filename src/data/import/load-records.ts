import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Writer } from '../../domain/actor.js'
import { IMPORT_FAULTS } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'
import { messageOf } from '../../errors/problem.js'
import type { Database } from '../database.js'
import { isRetryable } from '../postgres/errors.js'
import { INSERT_IMPORT_ENTRIES, toImportEntries } from './audit-import.js'
import {
  findChanges,
  type IsListed,
  type RecordChanges,
  type RowChange,
  type RunStatement,
  toNewRecord,
  withNestedRecords,
} from './find-changes.js'
import { ADD_IMPORT_COUNTS } from './import-counts.js'
import type { ImportRecord } from './record.js'
import { LOAD_STATEMENTS } from './statements.js'

/** Row counts of one entity. */
export interface RowCounts {
  readonly loaded: number
  readonly new: number
  readonly changed: number
  readonly removed: number
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface LoadOptions {
  /** True if all keys are new, so that no comparison is needed. */
  readonly areNew?: boolean
  readonly isListed?: IsListed
  /** The author of the import, for the audit log. Defaults to the user of the database. */
  readonly actor?: Writer
  /** Called once per batch with the rows of an entity that are committed or unchanged. */
  readonly onLoaded?: (entity: string, counts: RowCounts) => void
  /** Called for a record that the database rejects. Without it, loading fails with RecordRefusedError. */
  readonly onRefused?: (record: ImportRecord, reason: Phrase) => void
}

/** The database rejected a record. Nothing of it is stored. */
export class RecordRefusedError extends Error {
  constructor(
    readonly record: ImportRecord,
    cause: unknown,
  ) {
    super(`${record.entity} '${record.key}': ${IMPORT_FAULTS.rejected(messageOf(cause))}`, { cause })
  }
}

/**
 * Target duration, in ms, for which a transaction holds the lock of the change log: half of the 200 ms for
 * which other writers may have to wait.
 */
const LOCK_TARGET_MS = 100
/**
 * Budgets of a transaction, in units of one child row. The first transactions are small, because the speed of
 * the database is not known yet.
 */
const [FIRST_BUDGET, MIN_BUDGET, MAX_BUDGET] = [250, 20, 20_000]
/** Cost of a listing in child rows. It has more columns, indexes and triggers. */
const LISTING_COST = 12
const MAX_ATTEMPTS = 10
const RETRY_DELAY_MS = 50

const costOf = ({ rows, removals }: RecordChanges): number =>
  rows.reduce((sum, { entity }) => sum + (entity === 'Property' ? LISTING_COST : 1), removals.length)

/**
 * `listing.import` makes the triggers retain the timestamps of the records. Statements in triggers are
 * planned once, not for each row. The lock is acquired before any row lock, as by all writers.
 */
const BEGIN_LOAD = `begin; set local listing.import = 'on'; set local plan_cache_mode = 'force_generic_plan'; select lock_change_log()`

/** Returns true for SQLSTATE classes that concern the data of a statement, not the state of the server. */
const isDataError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(22|23|54)/.test(String(error.code))

/** Loads records on one connection, in transactions that are short enough for other writers. */
export class RecordLoader {
  #budget = FIRST_BUDGET
  /** Rows of the current batch that are committed or unchanged. */
  readonly #counts = new Map<string, Mutable<RowCounts>>()

  constructor(
    private readonly client: Client,
    private readonly kind: Database['kind'],
    private readonly options: LoadOptions,
  ) {}

  /** Loads records with distinct keys. Each record is loaded in one transaction. */
  async load(records: readonly ImportRecord[]): Promise<void> {
    const changes = this.options.areNew ? records.map(toNewRecord) : await this.#findChanges(records)
    const changed = new Set(changes.map(({ record }) => record))
    this.#count(
      records.filter(record => !changed.has(record)).map(record => ({ record, rows: [], removals: [] })),
    )
    try {
      for (let start = 0; start < changes.length; ) {
        const end = this.#endOfChunk(changes, start)
        await this.#writeChunk(changes.slice(start, end))
        start = end
      }
    } finally {
      for (const [entity, counts] of this.#counts) this.options.onLoaded?.(entity, counts)
      this.#counts.clear()
    }
  }

  #findChanges(records: readonly ImportRecord[]): Promise<readonly RecordChanges[]> {
    return findChanges(this.#run, records, this.options.isListed ?? (() => false))
  }

  /**
   * Returns the end of the longest chunk within the budget that begins at `start`. A chunk has at least one
   * record.
   */
  #endOfChunk(changes: readonly RecordChanges[], start: number): number {
    let cost = 0
    let end = start
    for (const change of changes.slice(start)) {
      cost += costOf(change)
      if (end > start && cost > this.#budget) break
      end++
    }
    return end
  }

  /** Writes a chunk. A chunk that the database rejects is divided until the invalid records are found. */
  async #writeChunk(chunk: readonly RecordChanges[]): Promise<void> {
    try {
      this.#count(await this.#writeWithRetry(chunk))
    } catch (error) {
      const [first] = chunk
      if (!first || !isDataError(error)) throw error
      if (chunk.length > 1) {
        const middle = Math.ceil(chunk.length / 2)
        await this.#writeChunk(chunk.slice(0, middle))
        await this.#writeChunk(chunk.slice(middle))
      } else if (this.options.onRefused)
        this.options.onRefused(first.record, IMPORT_FAULTS.rejected(messageOf(error)))
      else throw new RecordRefusedError(first.record, error)
    }
  }

  /**
   * Writes a chunk in one transaction. After a deadlock it is written again. After a rejection it is compared
   * again before the retry, because another program may have changed or removed its records.
   */
  async #writeWithRetry(chunk: readonly RecordChanges[]): Promise<readonly RecordChanges[]> {
    let changes = chunk
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#writeTransaction(changes)
        return changes
      } catch (error) {
        const isLast = attempt === (isDataError(error) ? 2 : MAX_ATTEMPTS)
        if (isLast || !(isRetryable(error) || isDataError(error))) throw error
        await sleep(RETRY_DELAY_MS * attempt * Math.random())
        changes = await this.#findChanges(chunk.map(({ record }) => record))
      }
    }
  }

  async #writeTransaction(changes: readonly RecordChanges[]): Promise<void> {
    await this.client.query(BEGIN_LOAD)
    const start = performance.now()
    try {
      await this.#writeRows(changes)
      await this.client.query('commit')
    } catch (error) {
      // If the connection is lost, so is the transaction. The first error is reported.
      await this.client.query('rollback').catch(() => undefined)
      throw error
    }
    this.#adaptBudget(changes, performance.now() - start)
  }

  async #writeRows(changes: readonly RecordChanges[]): Promise<void> {
    const rows = lastOfEachKey(changes.flatMap(change => change.rows))
    const removals = changes.flatMap(change => change.removals)
    for (const { entity, update, insert, children } of LOAD_STATEMENTS) {
      for (const child of children) {
        const own = removals.filter(removal => removal.entity === child.entity)
        if (own.length > 0)
          await this.#run(`remove ${entity} ${child.entity}`, child.remove, [
            own.map(({ key }) => key),
            own.map(({ parent }) => parent),
          ])
      }
      const own = rows.filter(row => row.entity === entity)
      await this.#writeTable(
        `update ${entity}`,
        update,
        own.filter(({ isNew }) => !isNew),
      )
      await this.#writeTable(
        `insert ${entity}`,
        insert,
        own.filter(({ isNew }) => isNew),
      )
    }
    const { actor } = this.options
    const entries = toImportEntries(rows, removals)
    const writer = actor === undefined ? '' : JSON.stringify(actor)
    if (entries.length === 0) return
    await this.#run('audit import', INSERT_IMPORT_ENTRIES, [JSON.stringify(entries), writer])
    await this.#run('count import', ADD_IMPORT_COUNTS, [JSON.stringify(entries)])
  }

  async #writeTable(name: string, text: string, rows: readonly RowChange[]): Promise<void> {
    if (rows.length > 0) await this.#run(name, text, [JSON.stringify(rows.map(({ row }) => row))])
  }

  /** The embedded database loses prepared statements at a restart, so its statements have no names. */
  readonly #run: RunStatement = async (name, text, values) => {
    const result = await this.client.query<Record<string, unknown>>({
      ...(this.kind === 'server' && { name }),
      text,
      values: [...values],
    })
    return result.rows
  }

  /** Adapts the budget to the target duration of the lock: down immediately, up in steps. */
  #adaptBudget(changes: readonly RecordChanges[], elapsedMs: number): void {
    const cost = changes.reduce((sum, change) => sum + costOf(change), 0)
    const ideal = (cost * LOCK_TARGET_MS) / Math.max(1, elapsedMs)
    // A transaction much smaller than the budget does not predict the duration of larger ones.
    if (ideal > this.#budget && cost < this.#budget / 2) return
    this.#budget = Math.min(MAX_BUDGET, Math.max(MIN_BUDGET, Math.min(ideal, this.#budget * 1.5)))
  }

  #count(changes: readonly RecordChanges[]): void {
    const countsOf = (entity: string) => {
      const known = this.#counts.get(entity) ?? { loaded: 0, new: 0, changed: 0, removed: 0 }
      this.#counts.set(entity, known)
      return known
    }
    for (const { record, rows, removals } of changes) {
      for (const { entity } of withNestedRecords([record])) countsOf(entity).loaded++
      for (const { entity, isNew } of rows) countsOf(entity)[isNew ? 'new' : 'changed']++
      for (const { entity } of removals) countsOf(entity).removed++
    }
  }
}

/** Returns the last row of each key. A child that two records of a chunk contain belongs to the last one. */
const lastOfEachKey = (rows: readonly RowChange[]): readonly RowChange[] => [
  ...new Map(rows.map(change => [`${change.entity} ${change.key}`, change])).values(),
]

/**
 * Loads batches of records in order, on one connection. The next batch is read while the database writes the
 * current one. Keys within a batch must be unique.
 * @throws RecordRefusedError; earlier commits remain
 */
export async function loadRecords(
  database: Database,
  batches: Iterable<readonly ImportRecord[]> | AsyncIterable<readonly ImportRecord[]>,
  options: LoadOptions = {},
): Promise<void> {
  await database.withClient(async client => {
    const loader = new RecordLoader(client, database.kind, options)
    let pending = Promise.resolve()
    try {
      for await (const batch of batches) {
        await pending
        pending = loader.load(batch)
        // Prevents an unhandled rejection. The error is reported where the promise is awaited.
        pending.catch(() => undefined)
      }
    } finally {
      // Finishes the current batch even if reading the next one failed.
      await pending
    }
  })
}
