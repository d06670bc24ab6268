import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Level, type Logger, pino } from 'pino'
import type { Config } from '../config/config.js'
import { messageOf, type ProblemError } from '../errors/problem.js'

/**
 * Options of the log destination. Lines are written together, because one system call for each took a
 * twentieth of a small request. The remaining lines are written at exit, and fatal ones at once. The package
 * writes at most 16 KB at a time.
 */
const DESTINATION_OPTIONS = { dest: 1, sync: false, minLength: 15_000, periodicFlush: 100 } as const

/** Creates the log: one JSON line per event on standard output, at most a tenth of a second late. */
export const createLogger = ({ logLevel }: Pick<Config, 'logLevel'>): Logger =>
  pino({ level: logLevel, base: null }, pino.destination(DESTINATION_OPTIONS))

const REQUEST_ID = Symbol('id')
const FAILURE_REASON = Symbol('reason')
const CLIENT = Symbol('client')
const OPERATION = Symbol('operation')

interface LoggedRequest {
  [REQUEST_ID]?: string
  [FAILURE_REASON]?: string
  [CLIENT]?: string
  [OPERATION]?: string
}

/** Returns the id of a request, as in the log and in X-Request-Id of the response. */
export const requestId = (req: IncomingMessage & LoggedRequest): string => req[REQUEST_ID] ?? 'unknown'

/** Sets the cause of an unavailable service, if there is one, for the log line of the request. */
export function setFailureReason(req: IncomingMessage & LoggedRequest, { cause }: ProblemError): void {
  if (cause !== undefined) req[FAILURE_REASON] = messageOf(cause)
}

/** Maximum length of a name that a client chose. */
const MAX_NAME_LENGTH = 100

/** Sets the client of a request, by its verified token, for the log line. */
export function setLoggedClient(req: IncomingMessage & LoggedRequest, clientId: string): void {
  req[CLIENT] = clientId.slice(0, MAX_NAME_LENGTH)
}

/** Sets the name of the GraphQL operation of a request for the log line. */
export function setLoggedOperation(req: IncomingMessage & LoggedRequest, name: string): void {
  req[OPERATION] = name.slice(0, MAX_NAME_LENGTH)
}

/** The ids that proxies send: UUIDs, ULIDs and trace ids. Other characters could forge log lines. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9._:+=@-]{8,128}$/
const MAX_PATH_LENGTH = 500

/** Assigns an id to a request. */
function assignRequestId(req: IncomingMessage & LoggedRequest): string {
  const sent = req.headers['x-request-id']
  const id = typeof sent === 'string' && REQUEST_ID_PATTERN.test(sent) ? sent : randomUUID()
  req[REQUEST_ID] = id
  return id
}

/** The part of a log line that metrics are made of. */
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
 * can contain names, prices or misplaced tokens. Headers and bodies are never logged. The client is that of the
 * verified token. The address is that of the connection, which a proxy may have opened.
 */
export function logRequests(
  logger: Logger,
  onComplete?: (request: CompletedRequest) => void,
): (req: IncomingMessage & LoggedRequest, res: ServerResponse, next: () => void) => void {
  return (req, res, next) => {
    const measurement = startMeasurement(req)
    const id = assignRequestId(req)
    res.setHeader('X-Request-Id', id)
    // Express rewrites `url` below a mount point, so the URL is read here.
    const { path, queryLength } = splitTarget(req.url ?? '')
    const address = req.socket.remoteAddress
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
        client: req[CLIENT],
        operation: req[OPERATION],
        address,
      }
      onComplete?.(line)
      logger[levelOf(res.statusCode, path, aborted)](line, 'request')
    })
    next()
  }
}

/** Logs an upgrade request; see `logRequests`. The line is written when the connection ends. */
export function logUpgrade(logger: Logger, req: IncomingMessage): void {
  const measurement = startMeasurement(req)
  const id = assignRequestId(req)
  const target = splitTarget(req.url ?? '')
  req.socket.once('close', () =>
    logger.info({ id, method: req.method, ...target, ...measurement() }, 'connection'),
  )
}

/** Returns true for an event stream. It normally ends when its client disconnects. */
const isEventStream = (res: ServerResponse): boolean =>
  String(res.getHeader('Content-Type') ?? '').startsWith('text/event-stream')

function splitTarget(url: string): { readonly path: string; readonly queryLength: number } {
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
