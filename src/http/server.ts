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
import type { Config } from '../config/config.js'
import type { Problem } from '../errors/problem.js'
import { renderFailure } from './errors.js'
import type { MessageClasses } from './express-prototypes.js'
import { rawHeaderValues } from './headers.js'
import { RequestPipeline, requestSize, type WaitingBytes } from './pipeline.js'

/** The part of a request that Node reads before anyone else: times in milliseconds. */
const TIMEOUTS = {
  /** A slow client may not hold a connection with a request that never ends. */
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  /** Longer than the usual 60 s of proxies, or they would send into a connection that closes. */
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
} as const

const LINGER_MS = 1000

/** Headers of a request that offer another protocol, as `Connection` names them too. */
const UPGRADE_HEADERS: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

type ServerSettings = Pick<Config, 'host' | 'port' | 'maxHeaderBytes' | 'shutdownTimeoutMs'>

/** What holds connections for longer than a request takes. */
export interface LongLivedConnections {
  /** Takes over a connection that asks to become a WebSocket. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Ends all that it holds, and takes nothing more. */
  close(): void
}

/** What an application brings along, beside what serves its requests. */
export interface ServerExtras {
  readonly longLived?: LongLivedConnections
  readonly messages?: MessageClasses
}

export const createHttpServer = (
  app: RequestListener,
  config: ServerSettings,
  extras: ServerExtras = {},
): HttpServer => new HttpServer(app, config, extras)

/**
 * The server around an application. What Node refuses by itself is answered in the form of every other error.
 */
export class HttpServer {
  readonly #config: ServerSettings
  readonly #server: Server
  readonly #connections = new Set<RequestPipeline>()
  readonly #waitingBytes: WaitingBytes = { total: 0 }
  readonly #longLived: LongLivedConnections | undefined
  #draining = false

  constructor(app: RequestListener, config: ServerSettings, { longLived, messages }: ServerExtras) {
    this.#config = config
    this.#longLived = longLived
    const serve: RequestListener = (req, res) =>
      this.#pipelineOf(req.socket).add(req, () => this.#handle(app, req, res))
    // Node answers a missing Host with an empty body, so that check is ours.
    this.#server = createServer(
      { ...TIMEOUTS, ...messages, maxHeaderSize: config.maxHeaderBytes, requireHostHeader: false },
      serve,
    )
    // An expectation that is unknown may be ignored (RFC 9110, 10.1.1); Node would answer 417 without a body.
    this.#server.on('checkExpectation', serve)
    this.#server.on('connect', (_req: IncomingMessage, socket: Duplex) =>
      this.#closeAfterPipeline(socket, { kind: 'BadRequest', reason: 'CONNECT is not possible here' }),
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

  /** Starts to listen on HOST and PORT. Rejects if the port is taken. */
  listen(): Promise<AddressInfo> {
    const { host, port } = this.#config
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        // A server that listens on host and port has an address of this form.
        resolve(this.#server.address() as AddressInfo)
      })
    })
  }

  /** True from the first call of `close` on. */
  isDraining(): boolean {
    return this.#draining
  }

  /**
   * Takes no new connection, ends those that are held, closes idle ones, lets running requests finish, and
   * cuts what is left after SHUTDOWN_TIMEOUT_MS.
   */
  close(): Promise<void> {
    this.#draining = true
    this.#longLived?.close()
    return new Promise(resolve => {
      const force = setTimeout(() => this.#server.closeAllConnections(), this.#config.shutdownTimeoutMs)
      this.#server.close(() => {
        clearTimeout(force)
        resolve()
      })
      this.#server.closeIdleConnections()
      for (const { current } of this.#connections)
        if (current && !current.headersSent) current.setHeader('Connection', 'close')
    })
  }

  /** A connection that was handed back after an upgrade comes here again. */
  #track(socket: Duplex): void {
    const pipeline = this.#pipelineOf(socket)
    this.#connections.add(pipeline)
    socket.once('close', () => this.#connections.delete(pipeline))
  }

  #pipelineOf(socket: Duplex): RequestPipeline {
    return RequestPipeline.of(socket, this.#waitingBytes)
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
      if (this.#draining) setImmediate(() => this.#server.closeIdleConnections())
    })
    // Of two hosts a proxy may believe one and this service the other (RFC 9112, 3.2).
    const hosts = rawHeaderValues(req, 'host')
    if (hosts.length > 1 || (hosts.length === 0 && req.httpVersion === '1.1'))
      sendProblem(res, { kind: 'BadHeader', header: 'Host', found: hosts.join(', ') })
    else app(req, res)
  }

  /**
   * An upgrade is an offer, which a server may leave aside (RFC 9110, 7.8): clients of HTTP/2 make one with
   * every request.
   */
  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.#longLived || req.headers.upgrade?.toLowerCase() !== 'websocket')
      this.#replayWithoutUpgrade(req, socket, head)
    else if (this.#draining) closeWithProblem(socket, { kind: 'Unavailable', reason: 'busy' })
    else this.#longLived.upgrade(req, socket, head)
  }

  /**
   * Node has given the connection up: it gets it back as a new one, with the request as if it had made no
   * offer.
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
   * Answers bytes that are no request, after the requests before them. A response that has begun to a request
   * that does not end as it should is cut.
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
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { kind: 'BadRequest', reason: 'it did not arrive in time' }
  return { kind: 'BadRequest', reason: 'it is no well-formed HTTP request' }
}

/** A line of the head of a request, as far as it is no offer of another protocol. */
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
 * Writes an answer where there is no response object, and ends the connection. It is destroyed a little
 * later, since a reset at once would take the answer from a client that is still sending, and one that never
 * closes would stay for ever.
 */
export function closeWithProblem(socket: Duplex, problem: Problem): void {
  const { status, headers, body } = renderFailure(problem)
  const lines = Object.entries({ ...headers, Date: new Date().toUTCString(), Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  // After CONNECT nobody else listens, and an error without a listener would end the process.
  socket.on('error', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
