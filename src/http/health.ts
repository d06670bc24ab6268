import type { IncomingMessage, ServerResponse } from 'node:http'

/** A probe that waits longer than its own patience is of no use. */
const READY_TIMEOUT_MS = 2000
/** Clocks of machines differ by less. */
const MAX_CLOCK_AHEAD_MS = 60_000

/** The state of the database, as far as a probe is told. */
export interface DatabaseHealth {
  /** The database is reachable and migrated. */
  readonly isReady: boolean
  /** How far the timestamps of changes are ahead of the machine's clock, in ms. */
  readonly clockAheadMs: number
}

export interface HealthChecks {
  /** A rejection counts as not ready. */
  readonly checkDatabase: () => Promise<DatabaseHealth>
  readonly isDraining: () => boolean
  /** Is called when the clock is found ahead, and again only after it was right in between. */
  readonly onClockAhead: (aheadMs: number) => void
}

const UNAVAILABLE: DatabaseHealth = { isReady: false, clockAheadMs: 0 }

/**
 * GET and HEAD /health/live (200 while the process runs) and /health/ready (200 or 503). Both are open to
 * everyone, so they say no more than a probe needs. Other paths are passed on. The database is looked at once
 * before any probe, so that a clock that is ahead is logged at the start.
 */
export function serveHealth(
  checks: HealthChecks,
): (req: IncomingMessage, res: ServerResponse, next: () => void) => void {
  const check = createSharedCheck(checks)
  void check()
  return (req, res, next) => {
    if (!req.url?.startsWith('/health/')) return next()
    const [path] = req.url.split('?')
    const isProbe = req.method === 'GET' || req.method === 'HEAD'
    if (isProbe && path === '/health/live') sendHealth(res, 200, { status: 'live' })
    else if (isProbe && path === '/health/ready') void sendReadiness(res, checks, check)
    else next()
  }
}

/** Probes at the same time share one look at the database: nobody can make it work with them. */
function createSharedCheck({ checkDatabase, onClockAhead }: HealthChecks): () => Promise<DatabaseHealth> {
  let pending: Promise<DatabaseHealth> | undefined
  let wasAhead = false
  const check = async (): Promise<DatabaseHealth> => {
    const health = await withTimeout(checkDatabase()).catch(() => UNAVAILABLE)
    const isAhead = health.clockAheadMs > MAX_CLOCK_AHEAD_MS
    if (isAhead && !wasAhead) onClockAhead(health.clockAheadMs)
    wasAhead = isAhead
    return health
  }
  return () => {
    pending ??= check().finally(() => {
      pending = undefined
    })
    return pending
  }
}

function withTimeout(health: Promise<DatabaseHealth>): Promise<DatabaseHealth> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, READY_TIMEOUT_MS, UNAVAILABLE)
    health.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

async function sendReadiness(
  res: ServerResponse,
  { isDraining }: HealthChecks,
  check: () => Promise<DatabaseHealth>,
): Promise<void> {
  if (isDraining()) return sendHealth(res, 503, { status: 'draining' })
  const { isReady, clockAheadMs } = await check()
  const isAhead = clockAheadMs > MAX_CLOCK_AHEAD_MS
  sendHealth(res, isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'unavailable',
    ...(isAhead && { clockAheadSeconds: Math.round(clockAheadMs / 1000) }),
  })
}

/** Node leaves the body away for HEAD. */
function sendHealth(res: ServerResponse, status: number, body: Readonly<Record<string, unknown>>): void {
  res
    .writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    .end(JSON.stringify(body))
}
