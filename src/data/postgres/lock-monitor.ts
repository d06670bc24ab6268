import type { RequestScope } from '../../domain/request-scope.js'
import type { BlockingSession, BlockingSessionListener } from '../blocking-session.js'
import type { Statement } from '../sql/statement.js'

/** A statement that is running on a connection. */
export interface RunningStatement {
  readonly pid: number
  readonly scope: RequestScope
  readonly startedAt: number
  /** The session that blocks it. Undefined while it does not wait for a lock. */
  blockedBy: BlockingSession | undefined
  /** Start of the current wait for a lock. */
  blockedSince: number
  /** Total duration of earlier waits for locks, in ms. */
  lockWaitMs: number
  /** Ends the statement because it has waited too long. */
  cancelWait(): void
}

interface LockWaitRow extends BlockingSession {
  readonly pid: number
  readonly waitingPid: number
  readonly waitedMs: number
}

/** Interval of the checks, and minimum age of a checked statement, in ms. */
const INTERVAL_MS = 250
/** Minimum wait for a lock that is reported. */
const REPORT_AFTER_MS = 1000
/** Minimum time between two reports of the same session. */
const REPORT_INTERVAL_MS = 60_000

/** Selects the sessions that wait for a lock, with each session that blocks them. */
const SELECT_LOCK_WAITS = `select w.pid as "waitingPid", coalesce(extract(epoch from clock_timestamp() - w.waitstart) * 1000, 0)::float8 as "waitedMs",
  b.pid, coalesce(b.application_name, '') as application, b.state,
  (extract(epoch from clock_timestamp() - b.xact_start) * 1000)::float8 as "transactionMs"
from pg_locks w cross join lateral unnest(pg_blocking_pids(w.pid)) as blocking (pid) join pg_stat_activity b on b.pid = blocking.pid
where not w.granted and w.pid = any($1::int[])`

export interface LockMonitorOptions {
  /** Runs a statement on a connection that is never busy. */
  readonly query: (statement: Statement) => Promise<readonly LockWaitRow[]>
  /** Maximum total wait of a request, in ms. */
  readonly maxWaitMs: number
  readonly onBlocked: BlockingSessionListener
}

/**
 * Watches the statements of the service for lock waits. Adds the waits to those of their requests, cancels
 * statements of requests that have waited too long, and reports sessions that block others.
 */
export class LockMonitor {
  readonly #options: LockMonitorOptions
  readonly #running = new Map<number, RunningStatement>()
  readonly #reportedAt = new Map<number, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: LockMonitorOptions) {
    this.#options = options
  }

  add(statement: RunningStatement): void {
    this.#running.set(statement.pid, statement)
    this.#timer ??= setTimeout(() => void this.#check(), INTERVAL_MS).unref()
  }

  delete(statement: RunningStatement): void {
    this.#running.delete(statement.pid)
    setBlockingSession(statement, undefined)
  }

  async #check(): Promise<void> {
    const startedBefore = performance.now() - INTERVAL_MS
    const slow = [...this.#running.values()].filter(s => s.startedAt <= startedBefore)
    const pids = slow.map(s => s.pid)
    // If the query fails, nothing is canceled here, but lock_timeout still ends each wait.
    const rows =
      pids.length === 0
        ? []
        : await this.#options.query({ text: SELECT_LOCK_WAITS, values: [pids] }).catch(() => [])
    for (const statement of slow)
      if (this.#running.get(statement.pid) === statement) this.#update(statement, rows)
    this.#report(rows)
    this.#timer =
      this.#running.size > 0 ? setTimeout(() => void this.#check(), INTERVAL_MS).unref() : undefined
  }

  #update(statement: RunningStatement, rows: readonly LockWaitRow[]): void {
    const waits = rows.filter(row => row.waitingPid === statement.pid)
    const waitingPids = new Set(rows.map(row => row.waitingPid))
    // Sessions in the queue of a lock also block those after them. The cause is the session that does not
    // wait itself.
    const blocker = waits.find(row => !waitingPids.has(row.pid)) ?? waits[0]
    setBlockingSession(statement, blocker, blocker?.waitedMs)
    if (blocker && statement.scope.waitedMs > this.#options.maxWaitMs) statement.cancelWait()
  }

  #report(rows: readonly LockWaitRow[]): void {
    const waitingPids = new Set(rows.map(row => row.waitingPid))
    const blocking = rows.filter(row => row.waitedMs > REPORT_AFTER_MS && !waitingPids.has(row.pid))
    const now = performance.now()
    for (const [pid, at] of this.#reportedAt) if (now - at >= REPORT_INTERVAL_MS) this.#reportedAt.delete(pid)
    for (const { pid, application, state, transactionMs } of blocking) {
      if (this.#reportedAt.has(pid)) continue
      this.#reportedAt.set(pid, now)
      this.#options.onBlocked({ pid, application, state, transactionMs, waiting: waitingPids.size })
    }
  }
}

/** Sets or clears the session that blocks a statement, and measures the wait. */
function setBlockingSession(
  statement: RunningStatement,
  session: BlockingSession | undefined,
  waitedMs = 0,
): void {
  if (session && !statement.blockedBy) {
    statement.blockedSince = performance.now() - waitedMs
    statement.scope.startWait(statement.blockedSince)
  }
  if (!session && statement.blockedBy) {
    statement.scope.endWait()
    const now = performance.now()
    statement.lockWaitMs += now - statement.blockedSince
    statement.scope.stages?.onStage('lock', statement.blockedSince, now)
  }
  statement.blockedBy = session
}
