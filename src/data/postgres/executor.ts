import type { Pool, PoolClient } from 'pg'
import { Semaphore } from '../semaphore.js'
import type { PlanCacheMode, Statement, StatementExecutor } from '../sql/statement.js'
import type { Pools } from './pools.js'
import { CachedQuery } from './query-submittable.js'

/**
 * The form of `query` with which pg takes a run and tells of its end; its types have only the one that
 * returns what it was given.
 */
interface SubmittableClient<T> {
  query(submittable: CachedQuery, callback: (error: unknown, rows: readonly T[]) => void): void
}

/** Runs a statement, under its name if it has one. */
export async function executeStatement<T>(
  client: Pool | PoolClient,
  { text, values }: Statement,
  statementNameOf: (text: string) => string,
): Promise<readonly T[]> {
  const submittableClient = client as unknown as SubmittableClient<T> // as its source has it, and the statement says what its rows are
  try {
    return await new Promise((resolve, reject) => {
      submittableClient.query(new CachedQuery(text, statementNameOf(text), values), (error, rows) =>
        error ? reject(error) : resolve(rows),
      )
    })
  } catch (error) {
    // What comes from the socket knows nothing of who asked.
    if (error instanceof Error) Error.captureStackTrace(error)
    throw error
  }
}

/**
 * Statements that stand alone go to the pools themselves: finished JSON needs nothing of Prisma, which hands
 * it on at 0.68 to 0.94 of their rate. A short wait for a connection that plans once is cheaper than to plan;
 * behind many that wait another connection is better.
 */
export const createReadExecutor = (
  pools: Pools,
  statementNameOf: (text: string) => string,
): StatementExecutor => ({
  query<T>(statement: Statement, planCacheMode: PlanCacheMode = 'custom') {
    const { generic } = pools
    return executeStatement<T>(
      planCacheMode === 'generic' && generic && generic.waitingCount < generic.options.max
        ? generic
        : pools.custom,
      statement,
      statementNameOf,
    )
  },
})

/**
 * How long a write waits for a connection that plans once, in ms: more than others of its kind take, unless
 * they wait for locks.
 */
const GENERIC_POOL_WAIT_MS = 25

/**
 * The same for writes, which may wait for the locks of others: they never hold all connections that plan
 * once, so that readers wait for none of them. They are serial in the database anyway, so they wait for their
 * turn here, where it costs nothing, and go elsewhere only if those before them are held up.
 */
export function createWriteExecutor(
  pools: Pools,
  statementNameOf: (text: string) => string,
): StatementExecutor {
  const { generic } = pools
  const semaphore = new Semaphore(generic ? Math.ceil(generic.options.max / 2) : 0)
  return {
    async query<T>(statement: Statement, planCacheMode: PlanCacheMode = 'custom') {
      if (planCacheMode === 'custom' || !generic || !(await semaphore.acquire(GENERIC_POOL_WAIT_MS)))
        return executeStatement<T>(pools.custom, statement, statementNameOf)
      try {
        return await executeStatement<T>(generic, statement, statementNameOf)
      } finally {
        semaphore.release()
      }
    },
  }
}
