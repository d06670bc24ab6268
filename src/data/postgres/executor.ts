import type { Pool, PoolClient } from 'pg'
import { Gate } from '../semaphore.js'
import type { Connection, Planning, Statement } from '../sql/statement.js'
import type { Pools } from './pools.js'
import { Run } from './query-submittable.js'

/**
 * The form of `query` with which pg takes a run and tells of its end; its types have only the one that
 * returns what it was given.
 */
interface Runner<T> {
  query(run: Run, done: (error: unknown, rows: readonly T[]) => void): void
}

/** Runs a statement, under its name if it has one. */
export async function runOn<T>(
  on: Pool | PoolClient,
  { text, values }: Statement,
  nameOf: (text: string) => string,
): Promise<readonly T[]> {
  const runner = on as unknown as Runner<T> // as its source has it, and the statement says what its rows are
  try {
    return await new Promise((resolve, reject) => {
      runner.query(new Run(text, nameOf(text), values), (error, rows) =>
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
export const toReader = (pools: Pools, nameOf: (text: string) => string): Connection => ({
  query<T>(statement: Statement, planning: Planning = 'each time') {
    const { once } = pools
    return runOn<T>(
      planning === 'once' && once && once.waitingCount < once.options.max ? once : pools['each time'],
      statement,
      nameOf,
    )
  },
})

/**
 * How long a write waits for a connection that plans once, in ms: more than others of its kind take, unless
 * they wait for locks.
 */
const TURN_MS = 25

/**
 * The same for writes, which may wait for the locks of others: they never hold all connections that plan
 * once, so that readers wait for none of them. They are serial in the database anyway, so they wait for their
 * turn here, where it costs nothing, and go elsewhere only if those before them are held up.
 */
export function toWriter(pools: Pools, nameOf: (text: string) => string): Connection {
  const { once } = pools
  const gate = new Gate(once ? Math.ceil(once.options.max / 2) : 0)
  return {
    async query<T>(statement: Statement, planning: Planning = 'each time') {
      if (planning === 'each time' || !once || !(await gate.enter(TURN_MS)))
        return runOn<T>(pools['each time'], statement, nameOf)
      try {
        return await runOn<T>(once, statement, nameOf)
      } finally {
        gate.leave()
      }
    },
  }
}
