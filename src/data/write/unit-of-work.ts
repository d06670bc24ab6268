import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Listing } from '../../domain/listing.js'
import type { Keys } from '../../domain/references.js'
import type { Values } from '../../domain/values.js'
import { ProblemError, withCause } from '../../errors/problem.js'
import type { Expr } from '../../query/plan.js'
import { isRetryable, toProblem } from '../postgres/errors.js'
import type { Found } from '../sql/json/records.js'
import { toFound } from '../sql/json/records.js'
import type { Connection, Executors, Statement } from '../sql/statement.js'
import {
  type Assumed,
  type KeyRow,
  type ListingRow,
  type Shown,
  toDeleteStatement,
  toFindStatement,
  toInsertStatement,
  toKeysStatement,
  toLockStatement,
  toUpdateStatement,
  type WrittenRow,
} from '../sql/write-statements.js'

/** A record as a write finds it. */
export interface Stored {
  readonly listing: Listing
  readonly version: string
  /** Those of the keys asked for that there are. */
  readonly known: Keys
}

type Work<T> = (unit: UnitOfWork) => Promise<T>

/**
 * How often a write goes without a lock. Those of one record succeed one after the other, so whoever meets
 * many of them waits for its turn instead.
 */
const UNLOCKED_ATTEMPTS = 2
const ATTEMPTS = 4
const PAUSE_MS = 20

/** The record was changed after it was judged. */
class Overtaken extends Error {}

/** Listings as they were when they were last written or about to be, by their keys. */
export type Remembered = LRUCache<string, Seen>

interface Seen {
  readonly listing: Listing
  readonly version: string
}

/** Who writes a record often writes it again: it is created, published and sold, or edited field by field. */
const MOST_REMEMBERED = 10_000
export const newRemembered = (): Remembered => new LRUCache({ max: MOST_REMEMBERED })

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
export async function writeAlone<T>(
  database: Pick<Executors, 'writer' | 'transaction'>,
  remembered: Remembered,
  work: Work<T>,
): Promise<T> {
  for (let attempt = 1; attempt <= UNLOCKED_ATTEMPTS; attempt++) {
    const unit = new UnitOfWork(database.writer, remembered, attempt === 1)
    try {
      return await work(unit)
    } catch (error) {
      const isOpen =
        error instanceof Overtaken || isRetryable(error) || (unit.hasAssumed && error instanceof ProblemError)
      if (!isOpen) throw toThrown(error)
    }
  }
  return inTransaction(database, work)
}

/**
 * Runs work in one transaction: all of it is written, or nothing. Where the database itself gave up (a
 * deadlock), it is tried again, so the work must do nothing but what the transaction takes back.
 * @throws ProblemError, also for what the database refuses or cannot do now.
 */
export async function inTransaction<T>(
  { transaction }: Pick<Executors, 'transaction'>,
  work: Work<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(connection => work(new UnitOfWork(connection)))
    } catch (error) {
      if (attempt === ATTEMPTS || !isRetryable(error)) throw toThrown(error)
      await sleep(PAUSE_MS * attempt * (1 + Math.random()))
    }
  }
}

function toThrown(error: unknown): unknown {
  const problem = error instanceof ProblemError ? undefined : toProblem(error)
  return problem ? withCause(problem, error) : error
}

/** The statements of one write. */
export class UnitOfWork {
  #assumed: Assumed | undefined

  /**
   * @param remembered where each statement is a transaction of its own, so that what was written is so.
   * Without it the connection is that of a transaction, and what is found stays as it is to the end of it.
   * @param mayAssume what is remembered may stand for a look at the record.
   */
  constructor(
    readonly connection: Connection,
    private readonly remembered?: Remembered,
    private readonly mayAssume = false,
  ) {}

  /** Whether a record was taken to be as it is remembered. */
  get hasAssumed(): boolean {
    return this.#assumed !== undefined
  }

  /** Those of the keys that there are. */
  async findKeys(keys: Keys): Promise<Keys> {
    if (keys.Member.size + keys.Office.size === 0) return keys
    const [row] = await this.#run<KeyRow>(toKeysStatement(keys))
    return toKeys(row)
  }

  /**
   * Locks those of the records that there are, in one order for all: so groups of writes wait for each other
   * and never in a circle.
   */
  async lockAll(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.#run(toLockStatement(keys))
  }

  /** The record, if the condition holds for it; on the way it is found out which of the keys there are. */
  async find(key: string, condition: Expr, keys: Keys): Promise<Stored | undefined> {
    // What may be a member or an office cannot be confirmed beside the rest.
    const seen = this.mayAssume && keys.Office.size === 0 ? this.remembered?.get(key) : undefined
    if (seen) {
      this.#assumed = { condition, listing: seen.listing, members: keys.Member }
      return { ...seen, known: keys }
    }
    const [row] = await this.#run<ListingRow>(
      toFindStatement(key, condition, keys, this.remembered === undefined),
    )
    if (!row) return undefined
    const { version, members: _, offices: __, ...listing } = row
    this.remembered?.set(key, { listing, version })
    return { listing, version, known: toKeys(row) }
  }

  /** Returns the record as it is then; without `shown` nothing but its version. */
  async insert(key: string, values: Values, shown: Shown | undefined): Promise<Found> {
    return this.#written(key, toInsertStatement(values, shown))
  }

  /** The same of a record that was found in that version. */
  async update(key: string, version: string, values: Values, shown: Shown | undefined): Promise<Found> {
    return this.#written(key, toUpdateStatement(key, version, values, shown, this.#assumed))
  }

  /** Removes a record that was found in that version, with its media, rooms and open houses. */
  async remove(key: string, version: string): Promise<void> {
    const [row] = await this.#run(toDeleteStatement(key, version, this.#assumed))
    if (!row) this.#overtaken(key)
    this.remembered?.delete(key)
  }

  #overtaken(key: string): never {
    this.remembered?.delete(key)
    throw new Overtaken()
  }

  async #written(key: string, statement: Statement): Promise<Found> {
    const [row] = await this.#run<WrittenRow>(statement)
    if (!row) return this.#overtaken(key)
    const { json: _, document: __, version, ...listing } = row
    this.remembered?.set(key, { listing, version })
    return toFound(row)
  }

  /** Whatever the values are, the way to a record is its key. */
  #run<T>(statement: Statement): Promise<readonly T[]> {
    return this.connection.query<T>(statement, 'once')
  }
}

const toKeys = (row: KeyRow | undefined): Keys => ({
  Member: new Set(row?.members),
  Office: new Set(row?.offices),
})
