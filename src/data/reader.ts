import type { Pool, PoolClient } from 'pg'
import type { Connection, Planning } from './connection.js'
import type { Sql } from './render.js'

/** Runs a statement, under its name if it has one. */
export async function runOn<T>(on: Pool | PoolClient, { text, values }: Sql, nameOf: (text: string) => string): Promise<readonly T[]> {
  const { rows } = await on.query({ text, values: [...values], name: nameOf(text) })
  return rows as T[] // the statement says what its rows are
}

/** Connections to the database by how statements are planned on them. Where there are few, all of them plan each time. */
export interface Pools {
  readonly 'each time': Pool
  readonly once?: Pool
}

/**
 * Statements that stand alone go to the pools themselves: finished JSON needs nothing of Prisma, which hands it on at 0.68 to 0.94 of their rate.
 * Where no connection is free that plans once, another is no worse than to wait.
 */
export const toReader = (pools: Pools, nameOf: (text: string) => string): Connection => ({
  query<T>(statement: Sql, planning: Planning = 'each time') {
    const { once } = pools
    return runOn<T>(planning === 'once' && once && isFree(once) ? once : pools['each time'], statement, nameOf)
  },
})

const isFree = ({ idleCount, totalCount, options }: Pool): boolean => idleCount > 0 || totalCount < options.max
