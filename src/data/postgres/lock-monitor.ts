import type { RequestScope } from '../../domain/request-scope.js'
import type { BlockingSession, BlockingSessionListener } from '../blocking-session.js'
import type { Statement } from '../sql/statement.js'

/** A statement while it runs on a connection. */
export interface RunningStatement {
  readonly pid: number
  readonly scope: RequestScope
  readonly startedAt: number
  /** The session that it waits for; undefined while it waits for no lock. */
  blockedBy: BlockingSession | undefined
  /** When the present wait for a lock began. */
  blockedSince: number
  /** Time of the waits for locks that have ended, in ms. */
  lockWaitMs: number
  /** Ends the statement because it has waited too long. */
  cancelWait(): void
}

interface LockWaitRow extends BlockingSession {
  readonly pid: number
  readonly waitingPid: number
  readonly waitedMs: number
}

/** Interval at which running statements are checked, and the age from which they are, in ms. */
const INTERVAL_MS = 250
/** A shorter wait for another session is nothing to report. */
const REPORT_AFTER_MS = 1000
/** A session is reported again after this time, if it still blocks. */
const REPORT_INTERVAL_MS = 60_000

/** Sessions that wait for a lock, each with every session that blocks it. */
const SELECT_LOCK_WAITS = `select w.pid as "waitingPid", coalesce(extract(epoch from clock_timestamp() - w.waitstart) * 1000, 0)::float8 as "waitedMs",
  b.pid, coalesce(b.application_name, '') as application, b.state,
  (extract(epoch from clock_timestamp() - b.xact_start) * 1000)::float8 as "transactionMs"
from pg_locks w cross join lateral unnest(pg_blocking_pids(w.pid)) as blocking (pid) join pg_stat_activity b on b.pid = blocking.pid
where not w.granted and w.pid = any($1::int[])`

export interface LockMonitorOptions {
  /** Runs a statement on a connection that is never busy. */
  readonly query: (statement: Statement) => Promise<readonly LockWaitRow[]>
  /** The longest time that a request may wait, in ms. */
  readonly maxWaitMs: number
  readonly onBlocked: BlockingSessionListener
}

/**
 * Watches the statements of the service for lock waits. It adds them to the waits of their requests, ends
 * those of requests that have waited too long, and reports the sessions that block others.
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
    // Without an answer nothing is known: lock_timeout still ends each wait.
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
    // The queue of a lock is of no interest: the session at its head is, which waits for nobody.
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

/** Notes that a statement waits for a session, or for none any more, and counts the wait. */
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
