import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Level, type Logger, pino } from 'pino'
import type { Config } from '../config/config.js'
import type { RequestDescription } from '../domain/request-scope.js'
import { messageOf, type ProblemError, type Wait } from '../errors/problem.js'
import { clientAddress } from './auth/client-address.js'

/**
 * Options of the log destination. Lines are buffered: a system call for each line took 5 % of the time of a
 * small request. The buffer is written at exit, and immediately after a fatal line. The package writes at most 16
 * KB at a time.
 */
const DESTINATION_OPTIONS = { dest: 1, sync: false, minLength: 15_000, periodicFlush: 100 } as const

/** Creates the log: one JSON line per event on standard output, at most a tenth of a second late. */
export const createLogger = ({ logLevel }: Pick<Config, 'logLevel'>): Logger =>
  pino({ level: logLevel, base: null }, pino.destination(DESTINATION_OPTIONS))

const DESCRIPTION = Symbol('description')

/** The part of a log line that does not come from measurements. */
interface LoggedDescription extends RequestDescription {
  /** The cause of an unavailable service. */
  reason?: string
  /** The wait that took too long. */
  wait?: Wait | undefined
  /** The registered client that a refused request names, not authenticated. */
  claimedClient?: string
}

interface LoggedRequest {
  [DESCRIPTION]?: LoggedDescription
}

/** Returns the description that the log line of a request will have. Callers set its members. */
export function descriptionOf(req: IncomingMessage & LoggedRequest): LoggedDescription {
  req[DESCRIPTION] ??= {}
  return req[DESCRIPTION]
}

/** Returns the id of a request, as in the log and in X-Request-Id of the response. */
export const requestId = (req: IncomingMessage): string => descriptionOf(req).id ?? 'unknown'

/** Sets why the service was unavailable, for the log line of the request. */
export function setFailureReason(req: IncomingMessage, { cause, problems: [problem] }: ProblemError): void {
  const description = descriptionOf(req)
  if (cause !== undefined) description.reason = messageOf(cause)
  if (problem.kind === 'Unavailable' && problem.wait) description.wait = problem.wait
}

/** Maximum length of a name that a client chose. */
const MAX_NAME_LENGTH = 100

/** Truncates a name that a client chose for the log. */
export const toLoggedName = (name: string): string => name.slice(0, MAX_NAME_LENGTH)

/** The ids that proxies send: UUIDs, ULIDs and trace ids. Other characters could forge log lines. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9._:+=@-]{8,128}$/
const MAX_PATH_LENGTH = 500

/** Assigns an id to a request, and records its address. */
function assignRequestId(req: IncomingMessage, config: Pick<Config, 'trustProxy'>): string {
  const sent = req.headers['x-request-id']
  const id = typeof sent === 'string' && REQUEST_ID_PATTERN.test(sent) ? sent : randomUUID()
  const description = descriptionOf(req)
  description.id = id
  description.address = clientAddress(req, config)
  return id
}

/** The part of a log line from which metrics are computed. */
export interface CompletedRequest {
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly bytes: number
}

/** Starts to measure the duration of a request in ms, and the bytes sent on its connection. */
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
 * Assigns an id to each request and logs one line when its response is complete or its client has
 * disconnected. Of the URL, only the path and the length of the query string are logged, because an option
 * can contain names, prices or misplaced tokens. Headers and bodies are never logged. Client and subject are
 * those of the verified token.
 */
export function logRequests(
  logger: Logger,
  config: Pick<Config, 'trustProxy'>,
  onComplete?: (request: CompletedRequest, req: IncomingMessage) => void,
): (req: IncomingMessage, res: ServerResponse, next: () => void) => void {
  return (req, res, next) => {
    const measurement = startMeasurement(req)
    const id = assignRequestId(req, config)
    res.setHeader('X-Request-Id', id)
    // Express rewrites `url` below a mount point, so the URL is read here.
    const { path, queryLength } = splitTarget(req.url ?? '')
    res.on('close', () => {
      const aborted = isAborted(res)
      const line = {
        id,
        method: req.method,
        path,
        queryLength,
        status: res.statusCode,
        ...measurement(),
        ...(aborted && { aborted }),
        ...descriptionOf(req),
      }
      onComplete?.(line, req)
      logger[levelOf(res.statusCode, path, aborted)](line, 'request')
    })
    next()
  }
}

/** Logs an upgrade request; see `logRequests`. The line is written when the connection ends. */
export function logUpgrade(logger: Logger, req: IncomingMessage, config: Pick<Config, 'trustProxy'>): void {
  const measurement = startMeasurement(req)
  const id = assignRequestId(req, config)
  const target = splitTarget(req.url ?? '')
  req.socket.once('close', () =>
    logger.info({ id, method: req.method, ...target, ...measurement(), ...descriptionOf(req) }, 'connection'),
  )
}

/** One request of a batch, or one operation on a WebSocket. */
export interface LoggedPart extends RequestDescription {
  readonly ms: number
}

/** Functions that log the parts of a connection or batch, under the id of its request. */
export interface PartLoggers {
  readonly logBatchRequest: (request: LoggedPart) => void
  readonly logOperation: (operation: LoggedPart) => void
}

export const createPartLoggers = (logger: Logger): PartLoggers => ({
  logBatchRequest: request => logger.info(request, 'batch request'),
  logOperation: operation => logger.info(operation, 'operation'),
})

/** Returns true if the client of a closed response has not received all of it. */
export const isAborted = (res: ServerResponse): boolean => !res.writableFinished && !isEventStream(res)

/** Returns true for an event stream. It normally ends when its client disconnects. */
const isEventStream = (res: ServerResponse): boolean =>
  String(res.getHeader('Content-Type') ?? '').startsWith('text/event-stream')

/** Returns the path of a request target, as the log shows it. */
export function splitTarget(url: string): { readonly path: string; readonly queryLength: number } {
  const end = url.indexOf('?')
  const whole = end < 0 ? url : url.slice(0, end)
  // A request in absolute form can have credentials before its host.
  const path = whole.startsWith('/') ? whole : whole.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
  return { path: path.slice(0, MAX_PATH_LENGTH), queryLength: end < 0 ? 0 : url.length - end - 1 }
}

function levelOf(status: number, path: string, aborted: boolean): Level {
  // 501 is a response to an unsupported request, not a fault of the service.
  if (status >= 500 && status !== 501) return 'error'
  if (status >= 400 || aborted) return 'warn'
  return path.startsWith('/health/') ? 'debug' : 'info'
}
