import type { Pool, PoolClient } from 'pg'
import type { Sql } from 'sql-template-tag'
import { ProblemError } from '../../errors/problem.js'
import type { StatementExecutor, TransactionRunner } from '../sql/statement.js'
import { executeStatement } from './executor.js'

/**
 * The loss of a connection reaches the work through its next statement; without a listener the process would
 * end.
 */
const ignoreError = (): void => undefined

/**
 * @param timeoutMs of all statements of one transaction together: after it none is begun, since others wait
 * for its locks.
 */
export const createTransactionRunner =
  (pool: Pool, statementNameOf: (text: string) => string, timeoutMs: number): TransactionRunner =>
  async callback => {
    const client = await pool.connect()
    client.on('error', ignoreError)
    let isConnectionLost = false
    try {
      await client.query('begin')
      const result = await callback(
        createTransactionExecutor(client, statementNameOf, performance.now() + timeoutMs),
      )
      await client.query('commit')
      return result
    } catch (error) {
      isConnectionLost = await client.query('rollback').then(
        () => false,
        () => true,
      )
      throw error
    } finally {
      client.off('error', ignoreError)
      client.release(isConnectionLost)
    }
  }

const createTransactionExecutor = (
  client: PoolClient,
  statementNameOf: (text: string) => string,
  deadline: number,
): StatementExecutor => ({
  async query<T>(statement: Sql) {
    if (performance.now() > deadline) throw new ProblemError({ kind: 'Unavailable', reason: 'timeout' })
    return executeStatement<T>(client, statement, statementNameOf)
  },
})
