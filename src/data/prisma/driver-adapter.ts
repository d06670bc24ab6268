import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import { Pool, type QueryArrayConfig, type QueryArrayResult } from 'pg'
import { createServiceScope, type RequestScope } from '../../domain/request-scope.js'
import type { FairPool } from '../postgres/fair-pool.js'
import type { PooledConnection } from '../postgres/pooled-connection.js'

// Prisma's own adapter converts values, types and errors, but runs on the connections of the SQL engine.
// Prisma's statements therefore share the pool fairly, and are canceled with their request.

const REQUEST_SCOPES = new AsyncLocalStorage<RequestScope>()

/**
 * Runs work whose Prisma statements all belong to a request. Statements outside of it belong to the service.
 */
export const withRequestScope = <T>(scope: RequestScope, callback: () => Promise<T>): Promise<T> =>
  REQUEST_SCOPES.run(scope, callback)

const currentScope = (): RequestScope => REQUEST_SCOPES.getStore() ?? createServiceScope()

/** Creates the driver adapter of a `PrismaClient` that runs its statements on the connections of a pool. */
export function createDriverAdapter(pool: FairPool, statementNameOf: (text: string) => string): PrismaPg {
  // The adapter accepts only instances of pg's Pool, and calls these two methods.
  const adapterPool = Object.assign(new Pool(), {
    query: (config: QueryArrayConfig) =>
      pool.withConnection(currentScope(), 'read', connection => connection.queryArrays(config)),
    connect: async () => new TransactionClient(pool, await pool.acquire(currentScope(), 'read')),
  })
  return new PrismaPg(adapterPool, { statementNameGenerator: ({ sql }) => statementNameOf(sql) })
}

/** The part of pg's PoolClient that the adapter calls during a transaction. */
class TransactionClient {
  readonly #pool: FairPool
  readonly #connection: PooledConnection
  /** Settles after the last statement. Prisma may send a statement while another one runs. */
  #last: Promise<unknown> = Promise.resolve()
  /** False after a COMMIT or ROLLBACK that succeeded. */
  #isOpen = true

  constructor(pool: FairPool, connection: PooledConnection) {
    this.#pool = pool
    this.#connection = connection
  }

  query(config: QueryArrayConfig): Promise<QueryArrayResult> {
    const result = this.#last.then(() => this.#run(config))
    this.#last = result.catch(() => undefined)
    return result
  }

  async #run(config: QueryArrayConfig): Promise<QueryArrayResult> {
    const result = await this.#connection.queryArrays(config)
    if (config.text === 'COMMIT' || config.text === 'ROLLBACK') this.#isOpen = false
    return result
  }

  /**
   * Returns the connection to the pool. Rolls back an open transaction, such as one whose request was
   * aborted.
   */
  release(): void {
    void this.#last
      .then(() => (this.#isOpen ? this.#connection.rollback() : undefined))
      .then(() => this.#pool.release(this.#connection))
  }

  /** The pool listens for lost connections. */
  on(): void {}

  removeListener(): void {}
}
