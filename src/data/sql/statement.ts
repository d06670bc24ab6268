import type { ParameterValues } from '../../query/parameter.js'
import type { Plan } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import type { RecordJson, RecordWithCursor } from './json/records.js'

/** The text of a statement and its values. Values are never part of the text. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/**
 * The plan of a prepared statement, as in PostgreSQL's `plan_cache_mode`. `custom` plans for the current
 * values: a range filter took 49 ms with a generic plan and 0.2 ms with a custom plan. `generic` plans once
 * for all values, since planning is up to two thirds of the cost of a small read.
 */
export type PlanCacheMode = 'custom' | 'generic'

/** Runs statements: a pool, with a transaction per statement, or one transaction. */
export interface StatementExecutor {
  query<T>(statement: Statement, planCacheMode?: PlanCacheMode): Promise<readonly T[]>
  /** Tried before a statement is built. Undefined: every plan is read by a statement. */
  readonly finder?: RecordFinder | undefined
}

/** A record with its version and its cursor. */
export type FoundRecord = RecordJson & RecordWithCursor

/** Reads plans by other means than these statements: Prisma, with READ_ENGINE=prisma. */
export interface RecordFinder {
  /** Returns at most `limit` records of a plan, or undefined if the finder cannot read the plan. */
  findRecords(
    plan: Plan,
    representation: Representation,
    parameters: ParameterValues,
    limit: number | undefined,
  ): Promise<readonly FoundRecord[] | undefined>
  /** Returns the number of records that the filter selects, or undefined if the finder cannot count them. */
  countRecords(plan: Plan): Promise<number | undefined>
}

/** Runs `work` between BEGIN and COMMIT on one connection. An error rolls back. */
export type TransactionRunner = <T>(work: (executor: StatementExecutor) => Promise<T>) => Promise<T>

/** The executors of a database. */
export interface StatementExecutors {
  /** Runs statements that do not wait for locks: reads, and the leases of webhooks. */
  readonly reader: StatementExecutor
  /** Runs statements that write records, and wait for the lock of the change log. Ignores the plan cache mode. */
  readonly writer: StatementExecutor
  readonly transaction: TransactionRunner
}
