import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import { EXPECTED_HEADER } from '../errors/phrases.js'
import type { Problem } from '../errors/problem.js'
import { REASONS } from '../errors/reasons.js'
import { rawHeaderValues } from './auth/header-values.js'
import { renderFailure } from './errors.js'
import type { RequestResponseClasses } from './express-prototypes.js'
import { abortResponse, type QueuedBytes, RequestPipeline, requestSize } from './pipeline.js'

/** Timeouts of the HTTP server, in ms. */
const TIMEOUTS = {
  /** A slow client must not hold a connection with an incomplete request. */
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  /**
   * Longer than the usual 60 s of proxies. Otherwise a proxy could send into a connection that is being
   * closed.
   */
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
} as const

const LINGER_MS = 1000

/** Request headers that offer another protocol. `Connection` names them too. */
const UPGRADE_HEADERS: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

type ServerSettings = Pick<
  Config,
  'host' | 'port' | 'maxHeaderBytes' | 'shutdownDrainMs' | 'shutdownTimeoutMs'
>

/** A handler of connections that outlive a request. */
export interface LongLivedConnections {
  /** Takes over a connection that becomes a WebSocket. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes all its connections and accepts no new ones. */
  close(): void
}

/** Optional parts of a server. */
export interface ServerExtras {
  readonly longLived?: LongLivedConnections
  readonly messages?: RequestResponseClasses
}

export const createHttpServer = (
  app: RequestListener,
  config: ServerSettings,
  extras: ServerExtras = {},
): HttpServer => new HttpServer(app, config, extras)

/** The HTTP server of an application. Requests that Node rejects are answered like all other errors. */
export class HttpServer {
  readonly #config: ServerSettings
  readonly #server: Server
  readonly #connections = new Set<RequestPipeline>()
  readonly #queuedBytes: QueuedBytes = { total: 0 }
  readonly #longLived: LongLivedConnections | undefined
  #draining = false

  constructor(app: RequestListener, config: ServerSettings, { longLived, messages }: ServerExtras) {
    this.#config = config
    this.#longLived = longLived
    const serve: RequestListener = (req, res) =>
      this.#pipelineOf(req.socket).add(req, () => this.#handle(app, req, res))
    // Node answers a missing Host with an empty body, so the check is ours.
    this.#server = createServer(
      { ...TIMEOUTS, ...messages, maxHeaderSize: config.maxHeaderBytes, requireHostHeader: false },
      serve,
    )
    // An unknown expectation may be ignored (RFC 9110, 10.1.1). Node would answer 417 without a body.
    this.#server.on('checkExpectation', serve)
    this.#server.on('connect', (_req: IncomingMessage, socket: Duplex) =>
      this.#closeAfterPipeline(socket, { kind: 'BadRequest', reason: REASONS.connectNotSupported }),
    )
    this.#server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#pipelineOf(socket).addLast(
        () => this.#upgrade(req, socket, head),
        requestSize(req) + head.length,
      ),
    )
    this.#server.on('connection', (socket: Duplex) => this.#track(socket))
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
      this.#handleClientError(error.code, socket),
    )
  }

  /** Listens on HOST and PORT. Rejects if the port is in use. */
  listen(): Promise<AddressInfo> {
    const { host, port } = this.#config
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        // The address of a TCP server is an object.
        resolve(this.#server.address() as AddressInfo)
      })
    })
  }

  /** True from the first call of `close`. */
  isDraining(): boolean {
    return this.#draining
  }

  /**
   * Keeps serving for SHUTDOWN_DRAIN_MS with `Connection: close`, so that load balancers notice that the
   * service is not ready. Then stops listening, closes long-lived and idle connections, lets running requests
   * finish, and destroys the remaining connections after SHUTDOWN_TIMEOUT_MS.
   */
  async close(): Promise<void> {
    this.#draining = true
    this.#closeAfterResponses()
    if (this.#config.shutdownDrainMs > 0) await wait(this.#config.shutdownDrainMs)
    this.#longLived?.close()
    await new Promise<void>(resolve => {
      const force = setTimeout(() => this.#destroyConnections(), this.#config.shutdownTimeoutMs)
      this.#server.close(() => {
        clearTimeout(force)
        resolve()
      })
      this.#server.closeIdleConnections()
      this.#closeAfterResponses()
    })
  }

  /** Ends the connections of running requests after their responses. */
  #closeAfterResponses(): void {
    for (const { current } of this.#connections)
      if (current && !current.headersSent) current.setHeader('Connection', 'close')
  }

  /** Destroys all connections, so that no client mistakes a truncated response for a complete one. */
  #destroyConnections(): void {
    for (const { current } of this.#connections) if (current) abortResponse(current)
    this.#server.closeAllConnections()
  }

  /** A connection that was returned to Node after an ignored upgrade is tracked again. */
  #track(socket: Duplex): void {
    const pipeline = this.#pipelineOf(socket)
    this.#connections.add(pipeline)
    socket.once('close', () => this.#connections.delete(pipeline))
  }

  #pipelineOf(socket: Duplex): RequestPipeline {
    return RequestPipeline.of(socket, this.#queuedBytes)
  }

  #handle(
    app: RequestListener,
    req: IncomingMessage,
    res: ServerResponse<IncomingMessage> & { req: IncomingMessage },
  ): void {
    const pipeline = this.#pipelineOf(req.socket)
    pipeline.start(res)
    if (this.#draining) res.setHeader('Connection', 'close')
    res.on('close', () => {
      pipeline.next()
      // The socket is idle only after this event.
      if (!this.#server.listening) setImmediate(() => this.#server.closeIdleConnections())
    })
    // If there are several hosts, a proxy may use another one than this service (RFC 9112, 3.2).
    const hosts = rawHeaderValues(req, 'host')
    if (hosts.length > 1 || (hosts.length === 0 && req.httpVersion === '1.1'))
      sendProblem(res, {
        kind: 'BadHeader',
        header: 'Host',
        expected: EXPECTED_HEADER.host,
        found: hosts.join(', '),
      })
    else app(req, res)
  }

  /**
   * Handles an upgrade request. A server may ignore it (RFC 9110, 7.8), and HTTP/2 clients send one with
   * every request.
   */
  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.#longLived || req.headers.upgrade?.toLowerCase() !== 'websocket')
      this.#replayWithoutUpgrade(req, socket, head)
    else if (!this.#server.listening) closeWithProblem(socket, { kind: 'Unavailable', reason: 'busy' })
    else this.#longLived.upgrade(req, socket, head)
  }

  /**
   * Returns a connection to Node, which has released it. To Node, it is a new connection that sends the same
   * request without the upgrade.
   */
  #replayWithoutUpgrade(
    { method, url, httpVersion, rawHeaders }: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    const lines = rawHeaders.flatMap((name, i) =>
      i % 2 === 0 ? withoutUpgrade(name, rawHeaders[i + 1] ?? '') : [],
    )
    socket.unshift(
      Buffer.concat([
        Buffer.from(`${method} ${url} HTTP/${httpVersion}\r\n${lines.join('')}\r\n`, 'latin1'),
        head,
      ]),
    )
    this.#pipelineOf(socket).reopen()
    this.#server.emit('connection', socket)
  }

  /**
   * Answers malformed bytes, after the requests before them. If they belong to a request whose response has
   * begun, that response is cut off.
   */
  #handleClientError(code: string | undefined, socket: Duplex): void {
    const { current } = this.#pipelineOf(socket)
    const problem = clientErrorProblem(code)
    if (!socket.writable || code === 'ECONNRESET') socket.destroy()
    else if (!current || current.req.complete) this.#closeAfterPipeline(socket, problem)
    else if (current.headersSent) socket.destroy()
    else closeWithProblem(socket, problem)
  }

  #closeAfterPipeline(socket: Duplex, problem: Problem): void {
    this.#pipelineOf(socket).addLast(() => closeWithProblem(socket, problem))
  }
}

function clientErrorProblem(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return { kind: 'HeadersTooLarge' }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { kind: 'BadRequest', reason: REASONS.requestTimeout }
  return { kind: 'BadRequest', reason: REASONS.notHttp }
}

/** Returns a header line without offers of another protocol. */
function withoutUpgrade(name: string, value: string): readonly string[] {
  const isConnection = name.toLowerCase() === 'connection'
  const options = isConnection ? value.split(',').map(option => option.trim()) : [value]
  const remaining = isConnection
    ? options.filter(option => !UPGRADE_HEADERS.has(option.toLowerCase()))
    : options
  return UPGRADE_HEADERS.has(name.toLowerCase()) || remaining.length === 0
    ? []
    : [`${name}: ${remaining.join(', ')}\r\n`]
}

function sendProblem(res: ServerResponse, problem: Problem): void {
  const { status, headers, body } = renderFailure(problem)
  res.writeHead(status, { ...headers, Connection: 'close' }).end(body)
}

/**
 * Sends an error response without a response object, and ends the connection. The socket is destroyed after a
 * delay: an immediate reset could discard the response while the client still sends, and a client that never
 * closes would hold the socket forever.
 */
export function closeWithProblem(socket: Duplex, problem: Problem): void {
  const { status, headers, body } = renderFailure(problem)
  const lines = Object.entries({ ...headers, Date: new Date().toUTCString(), Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  // After CONNECT the socket has no other listener, and an unhandled error would end the process.
  socket.on('error', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
