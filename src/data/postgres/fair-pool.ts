import type { Pool } from 'pg'
import type { RequestScope, StatementPermits } from '../../domain/request-scope.js'
import { type Problem, ProblemError, withCause } from '../../errors/problem.js'
import { FairSemaphore, type PermitUse } from '../fair-semaphore.js'
import type { Statement } from '../sql/statement.js'
import type { PoolStatistics } from './pool-statistics.js'
import {
  CANCELED,
  type ConnectionOptions,
  PooledConnection,
  type StatementCount,
} from './pooled-connection.js'
import { acquireStatementPermit } from './statement-permit.js'

export interface FairPoolOptions extends ConnectionOptions {
  readonly pool: Pool
  /** Maximum number of requests that use the pool at the same time. */
  readonly size: number
  /** Maximum wait of a request, in ms. */
  readonly maxWaitMs: number
}

const NO_CONNECTION: Problem = { kind: 'Unavailable', reason: 'busy', wait: 'connection' }

/** A quarter of the connections is reserved for clients that hold none. */
const reservedOf = (size: number): number => (size > 1 ? Math.max(1, Math.round(size / 4)) : 0)

/**
 * A pool that shares its connections fairly: a client with many requests cannot occupy all of them. Writes use
 * at most half of the connections, because they may wait for locks. As the database serializes them, they
 * lose nothing by waiting here.
 */
export class FairPool {
  readonly #options: FairPoolOptions
  readonly #semaphore: FairSemaphore
  readonly #statements: StatementCount = { running: 0 }
  #used = 0
  #waits = 0
  #waitedMs = 0
  #refusals = 0

  constructor(options: FairPoolOptions) {
    this.#options = options
    this.#semaphore = new FairSemaphore({
      permits: options.size,
      reserved: reservedOf(options.size),
      maxWrites: Math.ceil(options.size / 2),
    })
  }

  get size(): number {
    return this.#options.size
  }

  get waitingCount(): number {
    return this.#semaphore.waitingCount
  }

  get statistics(): PoolStatistics {
    return {
      size: this.size,
      open: this.#options.pool.totalCount,
      used: this.#used,
      running: this.#statements.running,
      waiting: this.waitingCount,
      waits: this.#waits,
      waitedMs: this.#waitedMs,
      refusals: this.#refusals,
    }
  }

  /** Returns true if the client would get a connection for a read without a long wait. */
  isSoonAvailable(clientId: string): boolean {
    return this.#semaphore.waitingReadCount < this.size || this.#semaphore.isAvailable(clientId)
  }

  /**
   * Runs one statement on a connection.
   * @throws ProblemError Unavailable 'busy' if none is free in time, 'canceled' if the request was aborted.
   */
  async query<T>(statement: Statement, scope: RequestScope, use: PermitUse = 'read'): Promise<readonly T[]> {
    const connection = await this.acquire(scope, use)
    try {
      return await connection.query<T>(statement)
    } catch (error) {
      throw withCallerStack(error)
    } finally {
      this.release(connection)
    }
  }

  /** Runs work on a connection, which is released afterwards. */
  async withConnection<T>(
    scope: RequestScope,
    use: PermitUse,
    callback: (connection: PooledConnection) => Promise<T>,
  ): Promise<T> {
    const connection = await this.acquire(scope, use)
    try {
      return await callback(connection)
    } catch (error) {
      throw withCallerStack(error)
    } finally {
      this.release(connection)
    }
  }

  /** Returns a connection for one request, which must be released. */
  acquire(scope: RequestScope, use: PermitUse): Promise<PooledConnection> {
    if (scope.isAborted) return Promise.reject(new ProblemError(CANCELED))
    const permits = scope.allowance?.statements
    return permits ? this.#acquireLimited(scope, use, permits) : this.#acquireShared(scope, use)
  }

  /** Acquires a connection for a client with a limit of running statements. */
  async #acquireLimited(
    scope: RequestScope,
    use: PermitUse,
    permits: StatementPermits,
  ): Promise<PooledConnection> {
    await acquireStatementPermit(scope, permits, this.#options.maxWaitMs)
    try {
      return await this.#acquireShared(scope, use, permits)
    } catch (error) {
      permits.release(scope.clientId)
      throw error
    }
  }

  #acquireShared(scope: RequestScope, use: PermitUse, permits?: StatementPermits): Promise<PooledConnection> {
    return this.#semaphore.tryAcquire(scope.clientId, use)
      ? this.#connect(scope, use, permits)
      : this.#waitForPermit(scope, use).then(() => this.#connect(scope, use, permits))
  }

  /** Releases a connection. No statement may be running. */
  release(connection: PooledConnection): void {
    this.#used -= 1
    connection.release()
    connection.permits?.release(connection.scope.clientId)
    this.#semaphore.release(connection.scope.clientId, connection.use)
  }

  #connect(
    scope: RequestScope,
    use: PermitUse,
    permits: StatementPermits | undefined,
  ): Promise<PooledConnection> {
    return new Promise((resolve, reject) => {
      this.#options.pool.connect((error, client) => {
        if (client) {
          this.#used += 1
          return resolve(new PooledConnection(client, scope, use, permits, this.#options, this.#statements))
        }
        this.#semaphore.release(scope.clientId, use)
        reject(error)
      })
    })
  }

  async #waitForPermit(scope: RequestScope, use: PermitUse): Promise<void> {
    const { maxWaitMs, size } = this.#options
    const startedAt = performance.now()
    this.#waits += 1
    const outcome = await this.#semaphore.acquire(scope, Math.max(0, maxWaitMs - scope.waitedMs), use)
    const endedAt = performance.now()
    this.#waitedMs += endedAt - startedAt
    scope.stages?.onStage('connection', startedAt, endedAt)
    if (outcome === 'acquired') return
    if (outcome === 'aborted') throw new ProblemError(CANCELED)
    this.#refusals += 1
    throw withCause(
      NO_CONNECTION,
      new Error(
        `waited ${Math.round(scope.waitedMs)} ms, most recently for a database connection: the pool has ${size}, and ${this.waitingCount} other requests wait`,
      ),
    )
  }
}

/** Adds the caller's stack to an error of the socket, which has none. */
function withCallerStack(error: unknown): unknown {
  if (error instanceof Error && !(error instanceof ProblemError)) Error.captureStackTrace(error)
  return error
}
