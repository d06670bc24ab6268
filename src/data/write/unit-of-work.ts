import { setTimeout as sleep } from 'node:timers/promises'
import type { ReferencedRecords } from '../../domain/listing.js'
import type { RuleInputs } from '../../domain/write-plan.js'
import { ProblemError, withCause } from '../../errors/problem.js'
import { isRetryable, toProblem } from '../postgres/errors.js'
import { type RecordJson, recordJsonOf } from '../sql/json/records.js'
import type { Statement, StatementExecutor, StatementExecutors } from '../sql/statement.js'
import {
  LOCK_CHANGE_LOG,
  type RuleInputsRow,
  toLockStatement,
  toReferencesStatement,
  toRuleInputsStatement,
  type WriteResultRow,
} from '../sql/write-statements.js'

type WriteCallback<T> = (unit: UnitOfWork) => Promise<T>

/** Maximum number of attempts without a lock. The next attempt is a transaction that locks the record. */
const MAX_UNLOCKED_ATTEMPTS = 2
const MAX_TRANSACTION_ATTEMPTS = 4
const RETRY_DELAY_MS = 20
/** No attempt begins later after the first one, in ms: each may take as long as its statements may. */
const RETRY_WINDOW_MS = 10_000

/**
 * Thrown if the rules refused a write and then allowed it, because the record changed in between. The write
 * is then repeated.
 */
export class RecordChangedError extends Error {}

const canRetry = (error: unknown): boolean => error instanceof RecordChangedError || isRetryable(error)

/**
 * Runs one write whose statements are transactions of their own. Only the last one may change data. If the
 * callback throws `RecordChangedError`, it runs again, the third time in a transaction that locks the record.
 * @throws ProblemError, also for errors of the database.
 */
export async function runOptimistically<T>(
  database: Pick<StatementExecutors, 'writer' | 'transaction'>,
  callback: WriteCallback<T>,
): Promise<T> {
  const startedAt = performance.now()
  for (let attempt = 1; attempt <= MAX_UNLOCKED_ATTEMPTS && !isLate(startedAt); attempt++) {
    try {
      return await callback(new UnitOfWork(database.writer, false))
    } catch (error) {
      if (!canRetry(error)) throw translateDatabaseError(error)
    }
  }
  return runInTransaction(database, callback, startedAt)
}

const isLate = (startedAt: number): boolean => performance.now() - startedAt > RETRY_WINDOW_MS

/**
 * Runs writes in one transaction: all of them are committed, or none. The transaction takes the lock of the
 * change log before it locks a row, like every writing statement, so writers cannot deadlock. If a session of
 * another program locks rows first, PostgreSQL may abort the transaction, and the callback runs again. It
 * must therefore have no effects besides its statements.
 * @throws ProblemError, also for errors of the database.
 */
export async function runInTransaction<T>(
  executors: Pick<StatementExecutors, 'transaction'>,
  callback: WriteCallback<T>,
  startedAt = performance.now(),
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await executors.transaction(async executor => {
        await executor.query(LOCK_CHANGE_LOG, 'generic')
        return callback(new UnitOfWork(executor, true))
      })
    } catch (error) {
      const isLast = attempt === MAX_TRANSACTION_ATTEMPTS || isLate(startedAt)
      if (isLast || !canRetry(error)) throw translateDatabaseError(error)
      await sleep(RETRY_DELAY_MS * attempt * (1 + Math.random()))
    }
  }
}

function translateDatabaseError(error: unknown): unknown {
  const problem = error instanceof ProblemError ? undefined : toProblem(error)
  return problem ? withCause(problem, error) : error
}

/**
 * Reads the inputs of the rules for a refused write, without a lock.
 * @throws ProblemError, also for errors of the database.
 */
export async function runReads<T>(
  { reader }: Pick<StatementExecutors, 'reader'>,
  callback: WriteCallback<T>,
): Promise<T> {
  try {
    return await callback(new UnitOfWork(reader, false))
  } catch (error) {
    throw translateDatabaseError(error)
  }
}

/** The statements of one write. */
export class UnitOfWork {
  /** @param locksRecords reading the record of a write locks it until the end of the transaction */
  constructor(
    readonly executor: StatementExecutor,
    private readonly locksRecords: boolean,
  ) {}

  /**
   * Locks the existing records among the keys, in one order for all transactions, so that groups of writes
   * cannot deadlock.
   */
  async lockListings(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.#query(toLockStatement(keys))
  }

  /** Reads the inputs of the rules: the record, and the members and offices with the given keys. */
  async findRuleInputs(key: string, keys: readonly string[]): Promise<RuleInputs> {
    const [row] = await this.#query<RuleInputsRow>(toRuleInputsStatement(key, keys, this.locksRecords))
    if (!row) return { stored: undefined, ...NO_RECORDS }
    const { members, offices, ...stored } = row
    return { stored, ...toReferencedRecords({ members, offices }) }
  }

  /** Reads the same for a record that does not exist yet. */
  async findReferences(keys: readonly string[]): Promise<RuleInputs> {
    const [row] = await this.#query<RuleInputsRow>(toReferencesStatement(keys))
    return { stored: undefined, ...(row ? toReferencedRecords(row) : NO_RECORDS) }
  }

  /** Runs a statement that writes one record. Returns undefined if its rules did not hold. */
  async write(statement: Statement): Promise<RecordJson | undefined> {
    const [row] = await this.#query<WriteResultRow>(statement)
    return row && recordJsonOf(row)
  }

  /** Every statement of a write finds its record by key, so a generic plan suits all values. */
  #query<T>(statement: Statement): Promise<readonly T[]> {
    return this.executor.query<T>(statement, 'generic')
  }
}

const NO_RECORDS: ReferencedRecords = { members: new Map(), offices: new Set() }

const toReferencedRecords = ({
  members,
  offices,
}: Pick<RuleInputsRow, 'members' | 'offices'>): ReferencedRecords => ({
  members: new Map(Object.entries(members ?? {})),
  offices: new Set(offices),
})
