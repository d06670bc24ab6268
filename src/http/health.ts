import type { IncomingMessage, ServerResponse } from 'node:http'

/** A probe that waits longer than its own patience is of no use. */
const READY_TIMEOUT_MS = 2000

export interface HealthChecks {
  /** The database is reachable and migrated. A rejection counts as no. */
  readonly isReady: () => Promise<boolean>
  readonly isDraining: () => boolean
}

/**
 * GET and HEAD /health/live (200 while the process runs) and /health/ready (200 or 503). Open to everyone, so
 * they say one word and no more. Everything else goes on.
 */
export function serveHealth(
  checks: HealthChecks,
): (req: IncomingMessage, res: ServerResponse, next: () => void) => void {
  return (req, res, next) => {
    if (!req.url?.startsWith('/health/')) return next()
    const [path] = req.url.split('?')
    const isProbe = req.method === 'GET' || req.method === 'HEAD'
    if (isProbe && path === '/health/live') sendHealthStatus(res, 200, 'live')
    else if (isProbe && path === '/health/ready')
      void readiness(checks).then(word => sendHealthStatus(res, word === 'ready' ? 200 : 503, word))
    else next()
  }
}

async function readiness({
  isReady,
  isDraining,
}: HealthChecks): Promise<'ready' | 'draining' | 'unavailable'> {
  if (isDraining()) return 'draining'
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, READY_TIMEOUT_MS, false)
  })
  const ready = await Promise.race([isReady().catch(() => false), timeout])
  clearTimeout(timer)
  return ready ? 'ready' : 'unavailable'
}

/** Node leaves the body away for HEAD. */
function sendHealthStatus(res: ServerResponse, status: number, word: string): void {
  res
    .writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    .end(JSON.stringify({ status: word }))
}
