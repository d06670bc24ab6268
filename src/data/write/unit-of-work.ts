import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Listing } from '../../domain/listing.js'
import type { ReferencedKeys } from '../../domain/references.js'
import type { Values } from '../../domain/values.js'
import { ProblemError, withCause } from '../../errors/problem.js'
import type { Expr } from '../../query/plan.js'
import { isRetryable, toProblem } from '../postgres/errors.js'
import type { RecordJson } from '../sql/json/records.js'
import { recordJsonOf } from '../sql/json/records.js'
import type { Statement, StatementExecutor, StatementExecutors } from '../sql/statement.js'
import {
  type ExistingKeysRow,
  type ListingRow,
  LOCK_CHANGE_LOG,
  type RecordRepresentation,
  toDeleteStatement,
  toExistingKeysStatement,
  toInsertStatement,
  toLockStatement,
  toSelectStatement,
  toUpdateStatement,
  type WritePrecondition,
  type WriteResultRow,
} from '../sql/write-statements.js'

/** A record as a write finds it. */
export interface StoredListing {
  readonly listing: Listing
  readonly version: string
  /** Those of the keys asked for that there are. */
  readonly existingKeys: ReferencedKeys
}

type WriteCallback<T> = (unit: UnitOfWork) => Promise<T>

/**
 * How often a write goes without a lock. Those of one record succeed one after the other, so whoever meets
 * many of them waits for its turn instead.
 */
const MAX_OPTIMISTIC_ATTEMPTS = 2
const MAX_TRANSACTION_ATTEMPTS = 4
const RETRY_DELAY_MS = 20

/** The record was changed after it was judged. */
class StaleVersionError extends Error {}

/** Listings as they were when they were last written or about to be, by their keys. */
export type SnapshotCache = LRUCache<string, ListingSnapshot>

interface ListingSnapshot {
  readonly listing: Listing
  readonly version: string
}

/** Who writes a record often writes it again: it is created, published and sold, or edited field by field. */
const MAX_SNAPSHOTS = 10_000
export const createSnapshotCache = (): SnapshotCache => new LRUCache({ max: MAX_SNAPSHOTS })

/**
 * Runs the work of one write that ends with its only writing statement. That statement is its own
 * transaction, and writes only if the record still is as it was judged; otherwise the work is run again: so
 * it must do nothing that cannot be repeated. What is overtaken again and again is run under a lock.
 *
 * A record that is remembered is judged as it was then, without a look at it: the statement that writes
 * confirms all that the judgement rests on. Nothing is refused for what is only remembered; then it is looked
 * at.
 * @throws ProblemError, also for what the database refuses or cannot do now.
 */
export async function runOptimistically<T>(
  database: Pick<StatementExecutors, 'writer' | 'transaction'>,
  snapshots: SnapshotCache,
  callback: WriteCallback<T>,
): Promise<T> {
  for (let attempt = 1; attempt <= MAX_OPTIMISTIC_ATTEMPTS; attempt++) {
    const unit = new UnitOfWork(database.writer, snapshots, attempt === 1)
    try {
      return await callback(unit)
    } catch (error) {
      const canRetry =
        error instanceof StaleVersionError ||
        isRetryable(error) ||
        (unit.usedSnapshot && error instanceof ProblemError)
      if (!canRetry) throw translateDatabaseError(error)
    }
  }
  return runInTransaction(database, callback)
}

/**
 * Runs work in one transaction: all of it is written, or nothing. The transaction takes the lock of the change
 * log before it locks a row, as every statement that writes does, so no two writers wait for each other. A
 * session of another program may still lock rows first; PostgreSQL ends one of the two, and the work runs
 * again. So the work must do nothing but what the transaction takes back.
 * @throws ProblemError, also for what the database refuses or cannot do now.
 */
export async function runInTransaction<T>(
  executors: Pick<StatementExecutors, 'transaction'>,
  callback: WriteCallback<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await executors.transaction(async executor => {
        await executor.query(LOCK_CHANGE_LOG, 'generic')
        return callback(new UnitOfWork(executor))
      })
    } catch (error) {
      if (attempt === MAX_TRANSACTION_ATTEMPTS || !isRetryable(error)) throw translateDatabaseError(error)
      await sleep(RETRY_DELAY_MS * attempt * (1 + Math.random()))
    }
  }
}

function translateDatabaseError(error: unknown): unknown {
  const problem = error instanceof ProblemError ? undefined : toProblem(error)
  return problem ? withCause(problem, error) : error
}

/** The statements of one write. */
export class UnitOfWork {
  #precondition: WritePrecondition | undefined

  /**
   * @param snapshots where each statement is a transaction of its own, so that what was written is so.
   * Without it the connection is that of a transaction, and what is found stays as it is to the end of it.
   * @param mayUseSnapshot what is remembered may stand for a look at the record.
   */
  constructor(
    readonly executor: StatementExecutor,
    private readonly snapshots?: SnapshotCache,
    private readonly mayUseSnapshot = false,
  ) {}

  /** Whether a record was taken to be as it is remembered. */
  get usedSnapshot(): boolean {
    return this.#precondition !== undefined
  }

  /** Those of the keys that there are. */
  async findExistingKeys(keys: ReferencedKeys): Promise<ReferencedKeys> {
    if (keys.Member.size + keys.Office.size === 0) return keys
    const [row] = await this.#query<ExistingKeysRow>(toExistingKeysStatement(keys))
    return toExistingKeys(row)
  }

  /**
   * Locks those of the records that there are, in one order for all: so groups of writes wait for each other
   * and never in a circle.
   */
  async lockListings(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.#query(toLockStatement(keys))
  }

  /** The record, if the condition holds for it; on the way it is found out which of the keys there are. */
  async findListing(key: string, condition: Expr, keys: ReferencedKeys): Promise<StoredListing | undefined> {
    // What may be a member or an office cannot be confirmed beside the rest.
    const snapshot = this.mayUseSnapshot && keys.Office.size === 0 ? this.snapshots?.get(key) : undefined
    if (snapshot) {
      this.#precondition = { condition, listing: snapshot.listing, memberKeys: keys.Member }
      return { ...snapshot, existingKeys: keys }
    }
    const [row] = await this.#query<ListingRow>(
      toSelectStatement(key, condition, keys, this.snapshots === undefined),
    )
    if (!row) return undefined
    const { version, members: _, offices: __, ...listing } = row
    this.snapshots?.set(key, { listing, version })
    return { listing, version, existingKeys: toExistingKeys(row) }
  }

  /** Returns the record as it is then; without `shown` nothing but its version. */
  async insert(
    key: string,
    values: Values,
    representation: RecordRepresentation | undefined,
  ): Promise<RecordJson> {
    return this.#runReturning(key, toInsertStatement(values, representation))
  }

  /** The same of a record that was found in that version. */
  async update(
    key: string,
    version: string,
    values: Values,
    representation: RecordRepresentation | undefined,
  ): Promise<RecordJson> {
    return this.#runReturning(
      key,
      toUpdateStatement(key, version, values, representation, this.#precondition),
    )
  }

  /** Removes a record that was found in that version, with its media, rooms and open houses. */
  async remove(key: string, version: string): Promise<void> {
    const [row] = await this.#query(toDeleteStatement(key, version, this.#precondition))
    if (!row) this.#failStale(key)
    this.snapshots?.delete(key)
  }

  #failStale(key: string): never {
    this.snapshots?.delete(key)
    throw new StaleVersionError()
  }

  async #runReturning(key: string, statement: Statement): Promise<RecordJson> {
    const [row] = await this.#query<WriteResultRow>(statement)
    if (!row) return this.#failStale(key)
    const { json: _, document: __, version, ...listing } = row
    this.snapshots?.set(key, { listing, version })
    return recordJsonOf(row)
  }

  /** Whatever the values are, the way to a record is its key. */
  #query<T>(statement: Statement): Promise<readonly T[]> {
    return this.executor.query<T>(statement, 'generic')
  }
}

const toExistingKeys = (row: ExistingKeysRow | undefined): ReferencedKeys => ({
  Member: new Set(row?.members),
  Office: new Set(row?.offices),
})
