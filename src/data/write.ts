import { setTimeout as sleep } from 'node:timers/promises'
import type { Listing } from '../domain/listing.js'
import type { Keys } from '../domain/references.js'
import type { Values } from '../domain/values.js'
import { ProblemError } from '../errors/problem.js'
import type { Expr } from '../query/plan.js'
import type { Connection, Statement } from './connection.js'
import type { Database } from './database.js'
import { isRetryable, toProblem } from './failures.js'
import type { Found } from './found.js'
import { type RecordRow, toFound } from './read.js'
import {
  type KeyRow,
  type ListingRow,
  type Shown,
  toDeleteStatement,
  toFindStatement,
  toInsertStatement,
  toKeysStatement,
  toLockStatement,
  toUpdateStatement,
} from './write-statements.js'

/** A record as a write finds it. */
export interface Stored {
  readonly listing: Listing
  readonly version: string
  /** Those of the keys asked for that there are. */
  readonly known: Keys
}

type Work<T> = (unit: UnitOfWork) => Promise<T>

/** How often a write goes without a lock. Those of one record succeed one after the other, so whoever meets many of them waits for its turn instead. */
const UNLOCKED_ATTEMPTS = 2
const ATTEMPTS = 4
const PAUSE_MS = 20

/** The record was changed after it was judged. */
class Overtaken extends Error {}

/**
 * Runs the work of one write that ends with its only writing statement. That statement is its own transaction, and writes only if the record still is as it was
 * judged; otherwise the work is run again: so it must do nothing that cannot be repeated. What is overtaken again and again is run under a lock.
 * @throws ProblemError, also for what the database refuses or cannot do now.
 */
export async function writeAlone<T>(database: Pick<Database, 'writer' | 'transaction'>, work: Work<T>): Promise<T> {
  for (let attempt = 1; attempt <= UNLOCKED_ATTEMPTS; attempt++) {
    try {
      return await work(new UnitOfWork(database.writer, false))
    } catch (error) {
      if (!(error instanceof Overtaken || isRetryable(error))) throw toThrown(error)
    }
  }
  return inTransaction(database, work)
}

/**
 * Runs work in one transaction: all of it is written, or nothing. Where the database itself gave up (a deadlock), it is tried again,
 * so the work must do nothing but what the transaction takes back.
 * @throws ProblemError, also for what the database refuses or cannot do now.
 */
export async function inTransaction<T>({ transaction }: Pick<Database, 'transaction'>, work: Work<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(connection => work(new UnitOfWork(connection, true)))
    } catch (error) {
      if (attempt === ATTEMPTS || !isRetryable(error)) throw toThrown(error)
      await sleep(PAUSE_MS * attempt * (1 + Math.random()))
    }
  }
}

function toThrown(error: unknown): unknown {
  const problem = error instanceof ProblemError ? undefined : toProblem(error)
  return problem ? new ProblemError(problem) : error
}

/** The statements of one write. */
export class UnitOfWork {
  /** @param isLocking the connection is that of a transaction: what is found stays as it is to the end of it. */
  constructor(
    readonly connection: Connection,
    private readonly isLocking: boolean,
  ) {}

  /** Those of the keys that there are. */
  async findKeys(keys: Keys): Promise<Keys> {
    if (keys.Member.size + keys.Office.size === 0) return keys
    const [row] = await this.#run<KeyRow>(toKeysStatement(keys))
    return toKeys(row)
  }

  /** Locks those of the records that there are, in one order for all: so groups of writes wait for each other and never in a circle. */
  async lockAll(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.#run(toLockStatement(keys))
  }

  /** The record, if the condition holds for it; on the way it is found out which of the keys there are. */
  async find(key: string, condition: Expr, keys: Keys): Promise<Stored | undefined> {
    const [row] = await this.#run<ListingRow>(toFindStatement(key, condition, keys, this.isLocking))
    if (!row) return undefined
    const { version, members: _, offices: __, ...listing } = row
    return { listing, version, known: toKeys(row) }
  }

  /** Returns the record as it is then; without `shown` nothing but its version. */
  async insert(values: Values, shown: Shown | undefined): Promise<Found> {
    return this.#written(toInsertStatement(values, shown))
  }

  /** The same of a record that was found in that version. */
  async update(key: string, version: string, values: Values, shown: Shown | undefined): Promise<Found> {
    return this.#written(toUpdateStatement(key, version, values, shown))
  }

  /** Removes a record that was found in that version, with its media, rooms and open houses. */
  async remove(key: string, version: string): Promise<void> {
    const [row] = await this.#run(toDeleteStatement(key, version))
    if (!row) throw new Overtaken()
  }

  async #written(statement: Statement): Promise<Found> {
    const [row] = await this.#run<RecordRow>(statement)
    if (!row) throw new Overtaken()
    return toFound(row)
  }

  /** Whatever the values are, the way to a record is its key. */
  #run<T>(statement: Statement): Promise<readonly T[]> {
    return this.connection.query<T>(statement, 'once')
  }
}

const toKeys = (row: KeyRow | undefined): Keys => ({ Member: new Set(row?.members), Office: new Set(row?.offices) })
