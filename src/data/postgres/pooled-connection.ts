import type { ClientConfig, PoolClient, QueryArrayConfig, QueryArrayResult } from 'pg'
import type { AbortListener, RequestScope, StatementPermits } from '../../domain/request-scope.js'
import { type Problem, ProblemError, withCause } from '../../errors/problem.js'
import { type BlockingSession, describeSession } from '../blocking-session.js'
import type { PermitUse } from '../fair-semaphore.js'
import type { Statement } from '../sql/statement.js'
import { sendCancelRequest } from './cancel-request.js'
import { sqlStateOf } from './errors.js'
import type { StatementListener } from './finished-statement.js'
import type { LockMonitor, RunningStatement } from './lock-monitor.js'
import { submitStatement } from './query-submittable.js'

/** Dependencies of the connections of a pool. */
export interface ConnectionOptions {
  /** Address of the server, for cancel requests. */
  readonly clientConfig: ClientConfig
  readonly statementNameOf: (text: string) => string
  /** Undefined if statements cannot block each other. */
  readonly lockMonitor: LockMonitor | undefined
  readonly onStatement?: StatementListener | undefined
}

/** The number of running statements of a pool. */
export interface StatementCount {
  running: number
}

export const CANCELED: Problem = { kind: 'Unavailable', reason: 'canceled' }
const LOCKED: Problem = { kind: 'Unavailable', reason: 'busy', wait: 'lock' }
const TIMED_OUT_FOR_LOCK: Problem = { kind: 'Unavailable', reason: 'timeout', wait: 'lock' }
const QUERY_CANCELED = '57014'
/** A write on a standby. */
const READ_ONLY = '25006'
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Delay of the cancel request for an aborted statement, in ms. Many statements end before, and the server
 * starts a process for each cancel request.
 */
const CANCEL_DELAY_MS = 100

/** A connection while one request uses it. */
export class PooledConnection implements RunningStatement, AbortListener {
  readonly pid: number
  startedAt = 0
  blockedBy: BlockingSession | undefined
  blockedSince = 0
  lockWaitMs = 0
  readonly #client: PoolClient
  readonly #options: ConnectionOptions
  /** The reason for which the running statement is canceled. */
  #cancelReason: ProblemError | undefined
  #cancelTimer: NodeJS.Timeout | undefined
  #pendingCancel: Promise<boolean> | undefined
  #isUnusable = false

  constructor(
    client: PoolClient,
    readonly scope: RequestScope,
    readonly use: PermitUse,
    readonly permits: StatementPermits | undefined,
    options: ConnectionOptions,
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
    return this.#run<readonly T[]>(
      statement.text,
      callback =>
        submitStatement<T>(this.#client, statement, this.#options.statementNameOf(statement.text), callback),
      rows => rows as readonly object[],
    )
  }

  /** Runs a statement of Prisma like `query`. Its rows are arrays with the types of the config. */
  queryArrays(config: QueryArrayConfig): Promise<QueryArrayResult> {
    return this.#run<QueryArrayResult>(
      config.text,
      callback => this.#client.query(config, callback),
      result => result.rows,
    )
  }

  #run<R>(
    text: string,
    submit: (callback: (error: Error | null, result: R) => void) => void,
    rowsOf: (result: R) => readonly object[],
  ): Promise<R> {
    if (this.scope.isAborted) return Promise.reject(new ProblemError(CANCELED))
    this.startedAt = performance.now()
    this.lockWaitMs = 0
    this.statements.running += 1
    this.#options.lockMonitor?.add(this)
    this.scope.add(this)
    return new Promise((resolve, reject) => {
      submit((error, result) => {
        const failure = error ? this.#toFailure(error) : undefined
        const pendingCancel = this.#finish()
        this.#report(text, error ?? undefined, error ? undefined : rowsOf(result))
        if (pendingCancel) void pendingCancel.then(() => (failure ? reject(failure) : resolve(result)))
        else if (failure) reject(failure)
        else resolve(result)
      })
    })
  }

  #report(text: string, error: Error | undefined, rows: readonly object[] | undefined): void {
    const { startedAt, lockWaitMs, scope } = this
    const endedAt = performance.now()
    scope.stages?.onStage('statement', startedAt, endedAt, {
      text,
      errorCode: error && (sqlStateOf(error) ?? error.name),
    })
    this.#options.onStatement?.({
      text,
      ms: endedAt - startedAt,
      lockWaitMs,
      waitedMs: scope.waitedMs,
      rows: rows ?? [],
      hasFailed: rows === undefined,
      request: scope.description,
    })
  }

  cancelWait(): void {
    const wait = this.blockedBy ? ` for a lock of ${describeSession(this.blockedBy)}` : ''
    this.#cancel(
      withCause(LOCKED, new Error(`waited ${Math.round(this.scope.waitedMs)} ms, most recently${wait}`)),
    )
  }

  /** Releases the connection. No statement may be running. */
  release(): void {
    this.#client.release(this.#isUnusable)
  }

  /** Rolls back the transaction. If the connection is lost, the server has already done so. */
  async rollback(): Promise<void> {
    await this.#client.query('rollback').catch(() => {
      this.#isUnusable = true
    })
  }

  /** Cancels the running statement after a short delay. */
  abort(): void {
    this.#cancelTimer = setTimeout(() => this.#cancel(new ProblemError(CANCELED)), CANCEL_DELAY_MS)
  }

  #cancel(reason: ProblemError): void {
    if (this.#pendingCancel) return
    this.#cancelReason = reason
    this.#pendingCancel = sendCancelRequest(this.#client, this.#options.clientConfig)
  }

  /**
   * Finishes a statement. After a cancel request, waits until its signal has arrived, so that it cannot hit
   * the next statement.
   */
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
    // After any error that is not one of the statement, the connection may be lost.
    if (!isStatementError(error) || sqlState === READ_ONLY) this.#isUnusable = true
    if (this.#cancelReason && (sqlState === QUERY_CANCELED || this.#isUnusable)) return this.#cancelReason
    if (sqlState === QUERY_CANCELED && this.blockedBy)
      return withCause(
        TIMED_OUT_FOR_LOCK,
        new Error(`${error.message}: waited for a lock of ${describeSession(this.blockedBy)}`),
      )
    if (sqlState === LOCK_NOT_AVAILABLE && this.blockedBy)
      error.message += `: waited for a lock of ${describeSession(this.blockedBy)}`
    return error
  }
}

/** Returns true for an error after which the session continues. Errors of other severities end it. */
const isStatementError = (error: Error): boolean => 'severity' in error && error.severity === 'ERROR'
