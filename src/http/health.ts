import type { IncomingMessage, ServerResponse } from 'node:http'
import { messageOf } from '../errors/problem.js'

/** Maximum wait for the database. Probes commonly time out after a few seconds. */
const READY_TIMEOUT_MS = 2000
/** Maximum difference between the clocks of two machines that is not reported. */
const MAX_CLOCK_AHEAD_MS = 60_000

/** The part of the database's state that probes see. */
export interface DatabaseHealth {
  /** The database is reachable and migrated. */
  readonly isReady: boolean
  /** Why it is not ready, for the operator. */
  readonly reasons: readonly string[]
  /** Milliseconds by which the change timestamps are ahead of the machine's clock. */
  readonly clockAheadMs: number
}

export interface HealthChecks {
  /** Checks the database. A rejection means that it is not ready. */
  readonly checkDatabase: () => Promise<DatabaseHealth>
  readonly isDraining: () => boolean
  /** Called when the clock is found to be ahead. Called again only after the clock was correct in between. */
  readonly onClockAhead: (aheadMs: number) => void
  /** Called with the result of the first check, and again when it changes. */
  readonly onReadiness: (isReady: boolean, reasons: readonly string[]) => void
  /** Returns true if the request has the token of an operator. */
  readonly isOperator: (req: IncomingMessage) => Promise<boolean>
}

const notReady = (reason: string): DatabaseHealth => ({ isReady: false, reasons: [reason], clockAheadMs: 0 })
const TIMED_OUT = notReady(`The database has not answered within ${READY_TIMEOUT_MS} ms.`)

/**
 * Answers GET and HEAD of /health/live (200 while the process runs) and /health/ready (200 or 503). Both need
 * no token and reveal only what a probe needs. An operator also receives the reasons why the service is not
 * ready. Other paths are passed on. The database is also checked at the start.
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
    else if (isProbe && path === '/health/ready') void sendReadiness(req, res, checks, check)
    else next()
  }
}

/** Creates a check that concurrent probes share, so that probes cannot load the database. */
function createSharedCheck({
  checkDatabase,
  onClockAhead,
  onReadiness,
}: HealthChecks): () => Promise<DatabaseHealth> {
  let pending: Promise<DatabaseHealth> | undefined
  let wasAhead = false
  let wasReady: boolean | undefined
  const check = async (): Promise<DatabaseHealth> => {
    const health = await withTimeout(checkDatabase()).catch(error => notReady(messageOf(error)))
    const isAhead = health.clockAheadMs > MAX_CLOCK_AHEAD_MS
    if (isAhead && !wasAhead) onClockAhead(health.clockAheadMs)
    wasAhead = isAhead
    if (health.isReady !== wasReady) onReadiness(health.isReady, health.reasons)
    wasReady = health.isReady
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
    const timer = setTimeout(resolve, READY_TIMEOUT_MS, TIMED_OUT)
    health.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

async function sendReadiness(
  req: IncomingMessage,
  res: ServerResponse,
  { isDraining, isOperator }: HealthChecks,
  check: () => Promise<DatabaseHealth>,
): Promise<void> {
  if (isDraining()) return sendHealth(res, 503, { status: 'draining' })
  const { isReady, reasons, clockAheadMs } = await check()
  const isAhead = clockAheadMs > MAX_CLOCK_AHEAD_MS
  const showsReasons = !isReady && req.headers.authorization !== undefined && (await isOperator(req))
  sendHealth(res, isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'unavailable',
    ...(showsReasons && { reasons }),
    ...(isAhead && { clockAheadSeconds: Math.round(clockAheadMs / 1000) }),
  })
}

/** Sends a health response. Node omits the body for HEAD. */
function sendHealth(res: ServerResponse, status: number, body: Readonly<Record<string, unknown>>): void {
  res
    .writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    .end(JSON.stringify(body))
}
