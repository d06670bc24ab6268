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
