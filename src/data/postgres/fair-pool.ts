import type { ClientConfig, Pool, PoolClient, QueryArrayConfig, QueryArrayResult } from 'pg'
import type { AbortListener, RequestScope, StatementPermits } from '../../domain/request-scope.js'
import { type Problem, ProblemError, withCause } from '../../errors/problem.js'
import { type BlockingSession, describeSession } from '../blocking-session.js'
import { FairSemaphore } from '../fair-semaphore.js'
import type { Statement } from '../sql/statement.js'
import { sendCancelRequest } from './cancel-request.js'
import { sqlStateOf } from './errors.js'
import type { LockMonitor, RunningStatement } from './lock-monitor.js'
import type { PoolStatistics } from './pool-statistics.js'
import { submitStatement } from './query-submittable.js'
import { acquireStatementPermit } from './statement-permit.js'

export interface FairPoolOptions {
  readonly pool: Pool
  /** The number of requests that use the pool at a time. */
  readonly size: number
  /** Where the server answers, for cancel requests. */
  readonly clientConfig: ClientConfig
  /** The longest time that a request may wait, in ms. */
  readonly maxWaitMs: number
  readonly statementNameOf: (text: string) => string
  /** Absent where no statement waits for the locks of another. */
  readonly lockMonitor: LockMonitor | undefined
}

/** The statements of a pool that run. */
interface StatementCount {
  running: number
}

const CANCELED: Problem = { kind: 'Unavailable', reason: 'canceled' }
const BUSY: Problem = { kind: 'Unavailable', reason: 'busy' }
const QUERY_CANCELED = '57014'
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * A statement whose request is aborted gets this time to end without a cancel request, in ms: the server
 * starts a process for each of those.
 */
const CANCEL_DELAY_MS = 100

/** A quarter of the connections is for clients that hold none. */
const reservedOf = (size: number): number => (size > 1 ? Math.max(1, Math.round(size / 4)) : 0)

/** Connections that requests share fairly: a client that asks for much leaves some to the others. */
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
    this.#semaphore = new FairSemaphore({ permits: options.size, reserved: reservedOf(options.size) })
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

  /** Returns true if the client would get a connection at once. */
  isAvailable(clientId: string): boolean {
    return this.#semaphore.isAvailable(clientId)
  }

  /**
   * Runs one statement on a connection.
   * @throws ProblemError Unavailable 'busy' if there is none in time, 'canceled' if nobody wants the answer.
   */
  async query<T>(statement: Statement, scope: RequestScope): Promise<readonly T[]> {
    const connection = await this.acquire(scope)
    try {
      return await connection.query<T>(statement)
    } catch (error) {
      throw withCallerStack(error)
    } finally {
      this.release(connection)
    }
  }

  /** Lends a connection for as long as the work takes. */
  async withConnection<T>(
    scope: RequestScope,
    callback: (connection: PooledConnection) => Promise<T>,
  ): Promise<T> {
    const connection = await this.acquire(scope)
    try {
      return await callback(connection)
    } catch (error) {
      throw withCallerStack(error)
    } finally {
      this.release(connection)
    }
  }

  /** Returns a connection for one request, which must be released. */
  acquire(scope: RequestScope): Promise<PooledConnection> {
    if (scope.isAborted) return Promise.reject(new ProblemError(CANCELED))
    const permits = scope.allowance?.statements
    return permits ? this.#acquireLimited(scope, permits) : this.#acquireShared(scope)
  }

  /** Acquires a connection for a client that may use only some at a time. */
  async #acquireLimited(scope: RequestScope, permits: StatementPermits): Promise<PooledConnection> {
    await acquireStatementPermit(scope, permits, this.#options.maxWaitMs)
    try {
      return await this.#acquireShared(scope, permits)
    } catch (error) {
      permits.release(scope.clientId)
      throw error
    }
  }

  #acquireShared(scope: RequestScope, permits?: StatementPermits): Promise<PooledConnection> {
    return this.#semaphore.tryAcquire(scope.clientId)
      ? this.#connect(scope, permits)
      : this.#waitForPermit(scope).then(() => this.#connect(scope, permits))
  }

  /** Gives a connection back. No statement may be running. */
  release(connection: PooledConnection): void {
    this.#used -= 1
    connection.release()
    connection.permits?.release(connection.scope.clientId)
    this.#semaphore.release(connection.scope.clientId)
  }

  #connect(scope: RequestScope, permits: StatementPermits | undefined): Promise<PooledConnection> {
    return new Promise((resolve, reject) => {
      this.#options.pool.connect((error, client) => {
        if (client) {
          this.#used += 1
          return resolve(new PooledConnection(client, scope, permits, this.#options, this.#statements))
        }
        this.#semaphore.release(scope.clientId)
        reject(error)
      })
    })
  }

  async #waitForPermit(scope: RequestScope): Promise<void> {
    const { maxWaitMs, size } = this.#options
    const startedAt = performance.now()
    this.#waits += 1
    const outcome = await this.#semaphore.acquire(scope, Math.max(0, maxWaitMs - scope.waitedMs))
    this.#waitedMs += performance.now() - startedAt
    if (outcome === 'acquired') return
    if (outcome === 'aborted') throw new ProblemError(CANCELED)
    this.#refusals += 1
    throw withCause(
      BUSY,
      new Error(
        `waited ${Math.round(scope.waitedMs)} ms, at last for a database connection: the pool has ${size}, and ${this.waitingCount} other requests wait`,
      ),
    )
  }
}

/** An error from the socket knows nothing of its caller. */
function withCallerStack(error: unknown): unknown {
  if (error instanceof Error && !(error instanceof ProblemError)) Error.captureStackTrace(error)
  return error
}

/** A connection while one request uses it. */
export class PooledConnection implements RunningStatement, AbortListener {
  readonly pid: number
  startedAt = 0
  blockedBy: BlockingSession | undefined
  readonly #client: PoolClient
  readonly #options: FairPoolOptions
  /** Why the statement that runs is canceled. */
  #cancelReason: ProblemError | undefined
  #cancelTimer: NodeJS.Timeout | undefined
  #pendingCancel: Promise<boolean> | undefined
  #isUnusable = false

  constructor(
    client: PoolClient,
    readonly scope: RequestScope,
    readonly permits: StatementPermits | undefined,
    options: FairPoolOptions,
    private readonly statements: StatementCount,
  ) {
    this.#client = client
    this.#options = options
    this.pid = (client as unknown as { readonly processID: number }).processID // as pg's source has it
  }

  /**
   * Runs a statement. It is canceled when the request is aborted, and when the request has waited too long
   * for locks.
   */
  query<T>(statement: Statement): Promise<readonly T[]> {
    return this.#run<readonly T[]>(callback =>
      submitStatement<T>(this.#client, statement, this.#options.statementNameOf(statement.text), callback),
    )
  }

  /** Runs a statement of Prisma as `query` does. Its rows are arrays, with the types that the config names. */
  queryArrays(config: QueryArrayConfig): Promise<QueryArrayResult> {
    return this.#run<QueryArrayResult>(callback => this.#client.query(config, callback))
  }

  #run<R>(submit: (callback: (error: Error | null, result: R) => void) => void): Promise<R> {
    if (this.scope.isAborted) return Promise.reject(new ProblemError(CANCELED))
    this.startedAt = performance.now()
    this.statements.running += 1
    this.#options.lockMonitor?.add(this)
    this.scope.add(this)
    return new Promise((resolve, reject) => {
      submit((error, result) => {
        const failure = error ? this.#toFailure(error) : undefined
        const pendingCancel = this.#finish()
        if (pendingCancel) void pendingCancel.then(() => (failure ? reject(failure) : resolve(result)))
        else if (failure) reject(failure)
        else resolve(result)
      })
    })
  }

  cancelWait(): void {
    const wait = this.blockedBy ? ` for a lock of ${describeSession(this.blockedBy)}` : ''
    this.#cancel(withCause(BUSY, new Error(`waited ${Math.round(this.scope.waitedMs)} ms, at last${wait}`)))
  }

  /** Gives the connection back. No statement may be running. */
  release(): void {
    this.#client.release(this.#isUnusable)
  }

  /** Ends a transaction without its changes, if the connection is not lost: then the server has done so. */
  async rollback(): Promise<void> {
    await this.#client.query('rollback').catch(() => {
      this.#isUnusable = true
    })
  }

  /** Ends the statement that runs, unless it ends at once. */
  abort(): void {
    this.#cancelTimer = setTimeout(() => this.#cancel(new ProblemError(CANCELED)), CANCEL_DELAY_MS)
  }

  #cancel(reason: ProblemError): void {
    if (this.#pendingCancel) return
    this.#cancelReason = reason
    this.#pendingCancel = sendCancelRequest(this.#client, this.#options.clientConfig)
  }

  /** Ends a statement. If it was canceled, nothing more is sent before the signal is known to have come. */
  #finish(): Promise<void> | undefined {
    this.statements.running -= 1
    this.scope.delete(this)
    this.#options.lockMonitor?.delete(this)
    if (this.#cancelTimer) clearTimeout(this.#cancelTimer)
    return this.#pendingCancel && this.#finishCancel(this.#pendingCancel)
  }

  async #finishCancel(pendingCancel: Promise<boolean>): Promise<void> {
    if (!(await pendingCancel)) this.#isUnusable = true
    this.#pendingCancel = undefined
    this.#cancelReason = undefined
  }

  #toFailure(error: Error): Error {
    const sqlState = sqlStateOf(error)
    // After anything but an error of the statement itself, the connection may be lost.
    if (!isStatementError(error)) this.#isUnusable = true
    if (this.#cancelReason && (sqlState === QUERY_CANCELED || this.#isUnusable)) return this.#cancelReason
    if (sqlState === LOCK_NOT_AVAILABLE && this.blockedBy)
      error.message += `: waited for a lock of ${describeSession(this.blockedBy)}`
    return error
  }
}

/** Returns true for an error after which PostgreSQL takes the next statement; the others end the session. */
const isStatementError = (error: Error): boolean => 'severity' in error && error.severity === 'ERROR'
