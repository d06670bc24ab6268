import type { Pool, PoolClient } from 'pg'
import type { Sql } from 'sql-template-tag'
import { ProblemError } from '../../errors/problem.js'
import type { Connection, Transactions } from '../sql/statement.js'
import { runOn } from './executor.js'

/**
 * The loss of a connection reaches the work through its next statement; without a listener the process would
 * end.
 */
const ignore = (): void => undefined

/**
 * @param longestMs of all statements of one transaction together: after it none is begun, since others wait
 * for its locks.
 */
export const toTransactions =
  (pool: Pool, nameOf: (text: string) => string, longestMs: number): Transactions =>
  async work => {
    const client = await pool.connect()
    client.on('error', ignore)
    let isLost = false
    try {
      await client.query('begin')
      const result = await work(toConnection(client, nameOf, performance.now() + longestMs))
      await client.query('commit')
      return result
    } catch (error) {
      isLost = await client.query('rollback').then(
        () => false,
        () => true,
      )
      throw error
    } finally {
      client.off('error', ignore)
      client.release(isLost)
    }
  }

const toConnection = (client: PoolClient, nameOf: (text: string) => string, end: number): Connection => ({
  async query<T>(statement: Sql) {
    if (performance.now() > end) throw new ProblemError({ kind: 'Unavailable', reason: 'timeout' })
    return runOn<T>(client, statement, nameOf)
  },
})
