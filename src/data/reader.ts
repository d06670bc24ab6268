import type { Pool } from 'pg'
import type { Connection, Planning } from './connection.js'
import type { Sql } from './render.js'

/** Connections to the database by how statements are planned on them. Where there are few, all of them plan each time. */
export interface Pools {
  readonly 'each time': Pool
  readonly once?: Pool
}

/**
 * Statements that read go to the pools themselves: finished JSON needs nothing of Prisma, which hands it on at 0.68 to 0.94 of their rate.
 * Where no connection is free that plans once, another is no worse than to wait.
 */
export const toReader = (pools: Pools, nameOf: (text: string) => string): Connection => ({
  async query<T>({ text, values }: Sql, planning: Planning = 'each time') {
    const { once } = pools
    const pool = planning === 'once' && once && isFree(once) ? once : pools['each time']
    const { rows } = await pool.query({ text, values: [...values], name: nameOf(text) })
    return rows as T[] // the statement says what its rows are
  },
})

const isFree = ({ idleCount, totalCount, options }: Pool): boolean => idleCount > 0 || totalCount < options.max
