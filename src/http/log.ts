import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Level, type Logger, pino } from 'pino'
import type { Config } from '../config/config.js'
import { messageOf, type ProblemError } from '../errors/problem.js'

/**
 * Lines go out together: a system call for each was a twentieth of a small request. The rest goes out at the
 * end of the process, and what is fatal at once. The package writes 16 KB at most at a time.
 */
const DESTINATION_OPTIONS = { dest: 1, sync: false, minLength: 15_000, periodicFlush: 100 } as const

/** One JSON line per event on standard output, at most a tenth of a second late. */
export const createLogger = ({ logLevel }: Pick<Config, 'logLevel'>): Logger =>
  pino({ level: logLevel, base: null }, pino.destination(DESTINATION_OPTIONS))

const REQUEST_ID = Symbol('id')
const FAILURE_REASON = Symbol('reason')

interface LoggedRequest {
  [REQUEST_ID]?: string
  [FAILURE_REASON]?: string
}

/** The id that stands in the log line and in the X-Request-Id of the answer. */
export const requestId = (req: IncomingMessage & LoggedRequest): string => req[REQUEST_ID] ?? 'unknown'

/**
 * Why the service could not answer, as far as something stands behind the problem: the line of the request
 * says it.
 */
export function setFailureReason(req: IncomingMessage & LoggedRequest, { cause }: ProblemError): void {
  if (cause !== undefined) req[FAILURE_REASON] = messageOf(cause)
}

/** What proxies send: UUIDs, ULIDs, trace ids. Anything else could forge a line of someone's log. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9._:+=@-]{8,128}$/
const MAX_PATH_LENGTH = 500

/** Gives a request its id. */
function assignRequestId(req: IncomingMessage & LoggedRequest): string {
  const sent = req.headers['x-request-id']
  const id = typeof sent === 'string' && REQUEST_ID_PATTERN.test(sent) ? sent : randomUUID()
  req[REQUEST_ID] = id
  return id
}

/** Starts to measure what a request takes: its time in ms, and the bytes that go out on its connection. */
function startMeasurement({
  socket,
}: IncomingMessage): () => { readonly ms: number; readonly bytes: number } {
  const startedAt = performance.now()
  const sentBefore = socket.bytesWritten
  return () => ({
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
    bytes: socket.bytesWritten - sentBefore,
  })
}

/**
 * Gives each request an id and logs one line when its answer is done or its client has gone. Of the URL only
 * the path and the length of the query are logged: an option can hold names, prices, and tokens that some
 * clients put there. Headers and bodies never are.
 */
export function logRequests(
  logger: Logger,
): (req: IncomingMessage & LoggedRequest, res: ServerResponse, next: () => void) => void {
  return (req, res, next) => {
    const measurement = startMeasurement(req)
    const id = assignRequestId(req)
    res.setHeader('X-Request-Id', id)
    // Express rewrites `url` below a mount point; the first reading is the whole of it.
    const { path, queryLength } = splitTarget(req.url ?? '')
    res.on('close', () => {
      const aborted = !res.writableFinished && !isEventStream(res)
      const line = {
        id,
        method: req.method,
        path,
        queryLength,
        status: res.statusCode,
        ...measurement(),
        ...(aborted && { aborted }),
        reason: req[FAILURE_REASON],
      }
      logger[levelOf(res.statusCode, path, aborted)](line, 'request')
    })
    next()
  }
}

/** The same for a request that is to become a WebSocket: the line is written when the connection ends. */
export function logUpgrade(logger: Logger, req: IncomingMessage): void {
  const measurement = startMeasurement(req)
  const id = assignRequestId(req)
  const target = splitTarget(req.url ?? '')
  req.socket.once('close', () =>
    logger.info({ id, method: req.method, ...target, ...measurement() }, 'connection'),
  )
}

/** An event stream ends when its client closes it: that is no fault. */
const isEventStream = (res: ServerResponse): boolean =>
  String(res.getHeader('Content-Type') ?? '').startsWith('text/event-stream')

function splitTarget(url: string): { readonly path: string; readonly queryLength: number } {
  const end = url.indexOf('?')
  const whole = end < 0 ? url : url.slice(0, end)
  // A request in absolute form may carry a log-in before its host.
  const path = whole.startsWith('/') ? whole : whole.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
  return { path: path.slice(0, MAX_PATH_LENGTH), queryLength: end < 0 ? 0 : url.length - end - 1 }
}

function levelOf(status: number, path: string, aborted: boolean): Level {
  // 501 is an answer to what a client asked, not a fault of the service.
  if (status >= 500 && status !== 501) return 'error'
  if (status >= 400 || aborted) return 'warn'
  return path.startsWith('/health/') ? 'debug' : 'info'
}
