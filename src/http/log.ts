import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Level, type Logger, pino } from 'pino'
import type { Config } from '../config.js'

/** One JSON line per event on standard output. */
export const createLogger = ({ logLevel }: Pick<Config, 'logLevel'>): Logger => pino({ level: logLevel, base: null })

const ids = new WeakMap<IncomingMessage, string>()

/** The id that stands in the log line and in the X-Request-Id of the answer. */
export const requestId = (req: IncomingMessage): string => ids.get(req) ?? 'unknown'

/** What proxies send: UUIDs, ULIDs, trace ids. Anything else could forge a line of someone's log. */
const WELL_FORMED_ID = /^[A-Za-z0-9._:+=@-]{8,128}$/
const LONGEST_PATH = 500

/**
 * Gives each request an id and logs one line when its answer is done or its client has gone. Of the URL only the path and the length
 * of the query are logged: an option can hold names, prices, and tokens that some clients put there. Headers and bodies never are.
 */
export function logRequests(logger: Logger): (req: IncomingMessage, res: ServerResponse, next: () => void) => void {
  return (req, res, next) => {
    const startedAt = performance.now()
    const sentBefore = req.socket.bytesWritten
    const sent = req.headers['x-request-id']
    const id = typeof sent === 'string' && WELL_FORMED_ID.test(sent) ? sent : randomUUID()
    ids.set(req, id)
    res.setHeader('X-Request-Id', id)
    // Express rewrites `url` below a mount point; the first reading is the whole of it.
    const target = describeTarget(req.url ?? '')
    res.once('close', () => {
      const outcome = { status: res.statusCode, ms: Math.round((performance.now() - startedAt) * 10) / 10, bytes: req.socket.bytesWritten - sentBefore }
      const aborted = !res.writableFinished
      logger[levelOf(res.statusCode, target.path, aborted)]({ id, method: req.method, ...target, ...outcome, ...(aborted && { aborted }) }, 'request')
    })
    next()
  }
}

function describeTarget(url: string): { readonly path: string; readonly queryLength: number } {
  const [whole = '', ...query] = url.split('?')
  // A request in absolute form may carry a log-in before its host.
  const path = whole.startsWith('/') ? whole : whole.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
  return { path: path.slice(0, LONGEST_PATH), queryLength: query.join('?').length }
}

function levelOf(status: number, path: string, aborted: boolean): Level {
  if (status >= 500) return 'error'
  if (status >= 400 || aborted) return 'warn'
  return path.startsWith('/health/') ? 'debug' : 'info'
}
