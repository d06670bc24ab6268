import type { Pool, PoolClient } from 'pg'
import type { Connection, Planning, Statement } from './connection.js'
import { Run } from './wire.js'

/** The form of `query` with which pg takes a run and tells of its end; its types have only the one that returns what it was given. */
interface Runner<T> {
  query(run: Run, done: (error: unknown, rows: readonly T[]) => void): void
}

/** Runs a statement, under its name if it has one. */
export async function runOn<T>(on: Pool | PoolClient, { text, values }: Statement, nameOf: (text: string) => string): Promise<readonly T[]> {
  const runner = on as unknown as Runner<T> // as its source has it, and the statement says what its rows are
  const run = new Run(text, nameOf(text), values)
  return new Promise((resolve, reject) => runner.query(run, (error, rows) => (error ? reject(error) : resolve(rows))))
}

/** Connections to the database by how statements are planned on them. Where there are few, all of them plan each time. */
export interface Pools {
  readonly 'each time': Pool
  readonly once?: Pool
}

/**
 * Statements that stand alone go to the pools themselves: finished JSON needs nothing of Prisma, which hands it on at 0.68 to 0.94 of their rate.
 * A short wait for a connection that plans once is cheaper than to plan; behind many that wait (for writers, who go one by one) another is better.
 */
export const toReader = (pools: Pools, nameOf: (text: string) => string): Connection => ({
  query<T>(statement: Statement, planning: Planning = 'each time') {
    const { once } = pools
    return runOn<T>(planning === 'once' && once && isSoonFree(once) ? once : pools['each time'], statement, nameOf)
  },
})

const isSoonFree = ({ idleCount, totalCount, waitingCount, options }: Pool): boolean => idleCount > 0 || totalCount < options.max || waitingCount < options.max
