import type { RequestScope } from '../../domain/request-scope.js'
import { ProblemError } from '../../errors/problem.js'
import type { Statement, StatementExecutor } from '../sql/statement.js'
import type { FairPool } from './fair-pool.js'
import type { PooledConnection } from './pooled-connection.js'

export type ScopedTransactionRunner = <T>(
  scope: RequestScope,
  callback: (executor: StatementExecutor) => Promise<T>,
) => Promise<T>

const BEGIN: Statement = { text: 'begin', values: [] }
const COMMIT: Statement = { text: 'commit', values: [] }

/**
 * Creates the runner of transactions. @param timeoutMs time from the start of a transaction after which no
 * statement is begun, because other transactions wait for its locks
 */
export const createTransactionRunner =
  (pool: FairPool, timeoutMs: number): ScopedTransactionRunner =>
  (scope, callback) =>
    pool.withConnection(scope, 'write', async connection => {
      try {
        await connection.query(BEGIN)
        const result = await callback(createTransactionExecutor(connection, performance.now() + timeoutMs))
        await connection.query(COMMIT)
        return result
      } catch (error) {
        await connection.rollback()
        throw error
      }
    })

const createTransactionExecutor = (connection: PooledConnection, deadline: number): StatementExecutor => ({
  async query<T>(statement: Statement) {
    if (performance.now() > deadline)
      throw new ProblemError({ kind: 'Unavailable', reason: 'timeout', wait: 'transaction' })
    return connection.query<T>(statement)
  },
})
