import type { PlaceholderValues } from '../../query/placeholder.js'
import type { Plan } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import type { RecordJson, RecordWithCursor } from './json/records.js'

/** A statement with its values, which are never part of its text. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/**
 * When PostgreSQL decides how to run a statement. `each time`, for the values at hand: what is best may
 * depend on them, and one way for all took 49 ms instead of 0.2 ms in a range filter. `once`, for all values:
 * deciding is up to two thirds of the cost of a small read.
 */
export type PlanCacheMode = 'custom' | 'generic'

/**
 * What can run a statement: the pools, where it is a transaction of its own, or one transaction of several.
 */
export interface StatementExecutor {
  query<T>(statement: Statement, planCacheMode?: PlanCacheMode): Promise<readonly T[]>
  /** Asked before a statement is made; absent: every plan is read by a statement. */
  readonly finder?: RecordFinder
}

/** A record with its version and its place in the order of the plan. */
export type FoundRecord = RecordJson & RecordWithCursor

/** Reads plans without a statement of ours: Prisma, with READ_ENGINE=prisma. */
export interface RecordFinder {
  /** The records of a plan, at most `limit`; undefined if the finder cannot read the plan. */
  findRecords(
    plan: Plan,
    representation: Representation,
    parameters: PlaceholderValues,
    limit: number | undefined,
  ): Promise<readonly FoundRecord[] | undefined>
  /** The number of records that the filter of a plan selects; undefined if the finder cannot count them. */
  countRecords(plan: Plan): Promise<number | undefined>
}

/**
 * Runs work between `begin` and `commit`, on one connection. An error of the work rolls everything back.
 */
export type TransactionRunner = <T>(work: (executor: StatementExecutor) => Promise<T>) => Promise<T>

/** How statements reach the database: each as its own transaction, or several as one. */
export interface StatementExecutors {
  /** For statements that read. */
  readonly reader: StatementExecutor
  /** For statements that write, and may wait for locks. */
  readonly writer: StatementExecutor
  readonly transaction: TransactionRunner
}
