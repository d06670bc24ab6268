import { createServiceScope, type RequestScope } from '../../domain/request-scope.js'
import type {
  PlanCacheMode,
  RecordFinder,
  Statement,
  StatementExecutor,
  StatementExecutors,
} from '../sql/statement.js'
import { toProblemOnError } from './errors.js'
import type { FairPool } from './fair-pool.js'
import { createTransactionRunner, type ScopedTransactionRunner } from './transaction.js'

/** The pools of connections by plan cache mode. A small pool size has no generic pool. */
export interface FairPools {
  readonly custom: FairPool
  readonly generic?: FairPool
}

/** Creates the executors of one request. */
export type ExecutorFactory = (scope: RequestScope) => StatementExecutors

/** Options of `createExecutorFactory`. */
interface ExecutorFactoryOptions {
  readonly pools: FairPools
  /** Time limit of all statements of one transaction together. */
  readonly transactionTimeoutMs: number
  /** Reads plans by Prisma. Undefined for the SQL engine. */
  readonly finder: RequestFinder | undefined
}

/** Creates the finder of one request. */
interface RequestFinder {
  forRequest(scope: RequestScope): RecordFinder
}

/** Returns a function that creates the executors of one request. */
export function createExecutorFactory(options: ExecutorFactoryOptions): ExecutorFactory {
  const { pools, transactionTimeoutMs, finder } = options
  const writePool = writePoolOf(pools)
  const runners: StatementRunners = {
    runRead: createReadRunner(pools),
    runWrite: (scope, statement) => writePool.query(statement, scope, 'write'),
    runTransaction: createTransactionRunner(writePool, transactionTimeoutMs),
  }
  return scope => new ScopedExecutors(scope, runners, finder)
}

interface StatementRunners {
  readonly runRead: StatementRunner
  readonly runWrite: StatementRunner
  readonly runTransaction: ScopedTransactionRunner
}

/** The executors of one request. Each is created at its first use. */
class ScopedExecutors implements StatementExecutors {
  constructor(
    private readonly scope: RequestScope,
    private readonly runners: StatementRunners,
    private readonly finder: RequestFinder | undefined,
  ) {}

  get reader(): StatementExecutor {
    return new ScopedExecutor(this.scope, this.runners.runRead, this.finder?.forRequest(this.scope))
  }

  get writer(): StatementExecutor {
    return new ScopedExecutor(this.scope, this.runners.runWrite)
  }

  transaction<T>(callback: (executor: StatementExecutor) => Promise<T>): Promise<T> {
    return this.runners.runTransaction(this.scope, callback)
  }
}

class ScopedExecutor implements StatementExecutor {
  constructor(
    private readonly scope: RequestScope,
    private readonly run: StatementRunner,
    readonly finder?: RecordFinder | undefined,
  ) {}

  query<T>(statement: Statement, planCacheMode?: PlanCacheMode): Promise<readonly T[]> {
    return this.run(this.scope, statement, planCacheMode)
  }
}

/**
 * Creates executors for the service's own work, in which each statement and transaction has its own scope.
 */
export function createServiceExecutors(
  executorsFor: ExecutorFactory,
  finder: RecordFinder | undefined,
): StatementExecutors {
  const withOwnScope = (kind: 'reader' | 'writer'): StatementExecutor => ({
    query: (statement, planCacheMode) =>
      executorsFor(createServiceScope())[kind].query(statement, planCacheMode),
  })
  return {
    reader: { ...withOwnScope('reader'), finder },
    writer: withOwnScope('writer'),
    transaction: callback => executorsFor(createServiceScope()).transaction(callback),
  }
}

type StatementRunner = <T>(
  scope: RequestScope,
  statement: Statement,
  planCacheMode: PlanCacheMode | undefined,
) => Promise<readonly T[]>

/**
 * Creates the runner of single statements. They bypass Prisma, which would return the same JSON at 0.68 to
 * 0.94 of the rate. A short wait for a connection with generic plans is cheaper than planning. When many
 * requests wait, the custom pool is used. Errors are mapped to problems here, since single reads are never
 * retried.
 */
const createReadRunner =
  ({ custom, generic }: FairPools): StatementRunner =>
  (scope, statement, planCacheMode = 'custom') =>
    toProblemOnError(() =>
      planCacheMode === 'generic' && generic?.isSoonAvailable(scope.clientId)
        ? generic.query(statement, scope)
        : custom.query(statement, scope),
    )

/**
 * Returns the pool of all writes. A generic plan suits them, because they find their records by key. They
 * leave the custom pool, with the slow statements, to reads.
 */
const writePoolOf = ({ custom, generic }: FairPools): FairPool =>
  generic && generic.size > 1 ? generic : custom
