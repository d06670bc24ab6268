import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { messageOf } from '../../errors/problem.js'
import type { Database } from '../database.js'
import { isRetryable } from '../postgres/errors.js'
import {
  findChanges,
  flatten,
  type IsListed,
  type RecordChanges,
  type RowChange,
  type RunStatement,
  toNewRecord,
} from './find-changes.js'
import type { ImportRecord } from './record.js'
import { LOAD_STATEMENTS } from './statements.js'

/** Numbers of rows of one entity. */
export interface RowCounts {
  readonly loaded: number
  readonly new: number
  readonly changed: number
  readonly removed: number
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface LoadOptions {
  /** The keys are known to be new, so nothing is compared first. */
  readonly areNew?: boolean
  readonly isListed?: IsListed
  /** Called once a batch with the rows of an entity that are committed, or equal to those stored. */
  readonly onLoaded?: (entity: string, counts: RowCounts) => void
  /** Called with a record that the database refuses; without it, loading fails with RecordRefusedError. */
  readonly onRefused?: (record: ImportRecord, reason: string) => void
}

/** The database refused a record; nothing of it is stored. */
export class RecordRefusedError extends Error {
  constructor(
    readonly record: ImportRecord,
    cause: unknown,
  ) {
    super(`${record.entity} '${record.key}': the database refuses it: ${messageOf(cause)}`, { cause })
  }
}

/**
 * How long a transaction should hold the lock of the change log, in ms: half of the 200 ms for which other
 * writers may have to wait.
 */
const LOCK_TARGET_MS = 100
/** In rows of a child. The first transactions are small, since the speed of the database is not known yet. */
const [FIRST_BUDGET, MIN_BUDGET, MAX_BUDGET] = [250, 20, 20_000]
/** A listing has more columns, indexes and triggers than its children. */
const LISTING_COST = 12
const MAX_ATTEMPTS = 10
const RETRY_DELAY_MS = 50

const costOf = ({ rows, removals }: RecordChanges): number =>
  rows.reduce((sum, { entity }) => sum + (entity === 'Property' ? LISTING_COST : 1), removals.length)

/**
 * `listing.import` makes the triggers keep the timestamps of the records. The triggers' own statements are
 * planned once, not once a row. The lock is taken before any row is, as all writers do.
 */
const BEGIN_LOAD = `begin; set local listing.import = 'on'; set local plan_cache_mode = 'force_generic_plan'; select lock_change_log()`

/** SQLSTATE classes of refusals that concern the data of a statement, not the state of the server. */
const isDataError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(22|23|54)/.test(String(error.code))

/** Loads records on one connection, in transactions that are short enough for other writers. */
export class RecordLoader {
  #budget = FIRST_BUDGET
  /** Rows of the current batch that are committed or equal. */
  readonly #counts = new Map<string, Mutable<RowCounts>>()

  constructor(
    private readonly client: Client,
    private readonly kind: Database['kind'],
    private readonly options: LoadOptions,
  ) {}

  /** Loads records whose keys are different; each of them whole, in one transaction. */
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

  /** The end of the longest chunk within the budget that begins there; at least one record. */
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

  /** Divides a chunk that the database refuses until the records that are to blame are known. */
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
      } else if (this.options.onRefused) this.options.onRefused(first.record, messageOf(error))
      else throw new RecordRefusedError(first.record, error)
    }
  }

  /**
   * Writes a chunk in one transaction. One that lost a deadlock is written again; one that the database refuses
   * is compared again first, since another program may have changed or removed its records meanwhile.
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
      // If the connection is lost, so is the transaction; the first error is the one to report.
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
  }

  async #writeTable(name: string, text: string, rows: readonly RowChange[]): Promise<void> {
    if (rows.length > 0) await this.#run(name, text, [JSON.stringify(rows.map(({ row }) => row))])
  }

  /** The embedded database forgets prepared statements when it restarts, so there they have no names. */
  readonly #run: RunStatement = async (name, text, values) => {
    const result = await this.client.query<Record<string, unknown>>({
      ...(this.kind === 'server' && { name }),
      text,
      values: [...values],
    })
    return result.rows
  }

  /** Approaches the budget that holds the lock for the target time, from above at once, from below in steps. */
  #adaptBudget(changes: readonly RecordChanges[], elapsedMs: number): void {
    const cost = changes.reduce((sum, change) => sum + costOf(change), 0)
    const ideal = (cost * LOCK_TARGET_MS) / Math.max(1, elapsedMs)
    // A transaction that was smaller than the budget says little about larger ones.
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
      for (const { entity } of flatten([record])) countsOf(entity).loaded++
      for (const { entity, isNew } of rows) countsOf(entity)[isNew ? 'new' : 'changed']++
      for (const { entity } of removals) countsOf(entity).removed++
    }
  }
}

/** A child that two records of a chunk claim belongs to the last one. */
const lastOfEachKey = (rows: readonly RowChange[]): readonly RowChange[] => [
  ...new Map(rows.map(change => [`${change.entity} ${change.key}`, change])).values(),
]

/**
 * Loads batches of records in the order they come, on one connection. The next batch is made while the database
 * writes the one before. Within a batch no key may occur twice.
 * @throws RecordRefusedError; what was committed before stays.
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
        // The error reaches whoever awaits it above or below; until then it is not unhandled.
        pending.catch(() => undefined)
      }
    } finally {
      // Also if making the next batch failed: what was begun is finished.
      await pending
    }
  })
}
