import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ExecutionArgs, GraphQLError, type GraphQLSchema } from 'graphql'
import { CloseCode, type Context, handleProtocols, makeServer } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Config } from '../config.js'
import { toFailure } from '../errors/catalog.js'
import { fail, type Problem, ProblemError } from '../errors/problem.js'
import type { Verifier } from '../http/bearer.js'
import type { RateMeter } from '../http/ratelimit.js'
import { watchToken } from '../http/token-watch.js'
import { toJson } from '../http/body.js'
import type { GraphQLContext } from './context.js'
import { levelsOf } from './http.js'
import type { Live, Prepared } from './live.js'

type Refuse = (socket: Duplex, problem: Problem) => void

/** What WebSockets are made of. */
export interface SocketParts {
  readonly schema: GraphQLSchema
  readonly live: Live
  readonly verifier: Verifier
  readonly meter: RateMeter
  readonly config: Pick<Config, 'maxSockets' | 'maxSocketOperations' | 'maxBodyBytes' | 'maxDepth' | 'keepAliveMs'>
  /** Logs a fault of the service and gives the id under which it stands in the log. */
  readonly report: (error: unknown, req: IncomingMessage) => string
  /** Answers a request that becomes no WebSocket. */
  readonly refuse: Refuse
}

/** One WebSocket, and who is at the other end once it has said so. */
interface Peer {
  readonly socket: WebSocket
  readonly req: IncomingMessage
  authorization?: string | undefined
  context?: GraphQLContext
  endWatch?: () => void
}

type Params = Readonly<Record<string, unknown>>
type PeerContext = Context<Params, Peer>

/** What is on its way to a client, in bytes: above it nothing more is read from that client. */
const BACKLOG_BYTES = 1_048_576
/** Time for a client to say who it is, and to answer a close, in ms. */
const INIT_MS = 5000
const CLOSE_MS = 1000
/** What the reason of a close may hold (RFC 6455, 5.5), in bytes. */
const REASON_BYTES = 123

/**
 * GraphQL over WebSocket, by the protocol graphql-transport-ws. The token comes in the payload of `connection_init` (`authorization`, in any case), since
 * browsers send no header with a WebSocket, or in the header of the request. Its end is the end of the connection.
 */
export class SocketServer {
  readonly #parts: SocketParts
  readonly #server: WebSocketServer
  readonly #protocol: ReturnType<typeof makeServer<Params, Peer>>

  constructor(parts: SocketParts) {
    this.#parts = parts
    this.#server = new WebSocketServer({ noServer: true, maxPayload: parts.config.maxBodyBytes, handleProtocols })
    this.#server.on('wsClientError', (error, socket) => parts.refuse(socket, { kind: 'BadRequest', reason: `it is no WebSocket handshake: ${error.message}` }))
    this.#protocol = createProtocol(parts)
  }

  /** Makes a WebSocket of a request. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { refuse, config } = this.#parts
    if (this.#server.clients.size >= config.maxSockets) refuse(socket, { kind: 'Unavailable', reason: 'busy' })
    else this.#server.handleUpgrade(req, socket, head, webSocket => this.#open(webSocket, req))
  }

  /** Tells every client that the service goes away; it may come back to another. */
  close(): void {
    for (const socket of this.#server.clients) closeSoon(socket, 1001, 'Going away')
  }

  #open(socket: WebSocket, req: IncomingMessage): void {
    const { config } = this.#parts
    const peer: Peer = { socket, req }
    // A client that breaks the rules of WebSocket is closed by the package, one that goes away needs no answer.
    socket.on('error', () => undefined)
    const endBeat = keepAlive(socket, config.keepAliveMs)
    const closed = this.#protocol.opened(
      {
        protocol: socket.protocol,
        send: text => send(socket, text),
        close: (code, reason) => closeSoon(socket, code, reason),
        onMessage: handle => socket.on('message', data => this.#receive(peer, String(data), handle)),
      },
      peer,
    )
    socket.once('close', (code, reason) => {
      endBeat()
      peer.endWatch?.()
      void closed(code, String(reason))
    })
  }

  #receive(peer: Peer, text: string, handle: (text: string) => Promise<void>): void {
    const { socket, req } = peer
    if (socket.bufferedAmount > BACKLOG_BYTES) socket.pause()
    if (!isShallow(text, levelsOf(this.#parts.config))) return closeSoon(socket, CloseCode.BadRequest, 'The message is no JSON, or too deep.')
    handle(text).catch((error: unknown) => closeSoon(socket, CloseCode.InternalServerError, describe(error, () => this.#parts.report(error, req))))
  }
}

function createProtocol(parts: SocketParts): ReturnType<typeof makeServer<Params, Peer>> {
  const { schema, live } = parts
  // Both are given what `onSubscribe` has prepared.
  const start = ({ contextValue }: ExecutionArgs) => {
    const { prepared, context } = contextValue as Starting
    return live.start(prepared, context)
  }
  return makeServer<Params, Peer>({
    connectionInitWaitTimeout: INIT_MS,
    onConnect: context => admit(context, parts),
    onSubscribe: (context, _id, payload) => {
      const found = prepare(context, payload, parts)
      return 'prepared' in found ? { schema, document: found.prepared.document, operationName: payload.operationName, contextValue: found } : found
    },
    subscribe: start,
    execute: start,
  })
}

interface Starting {
  readonly prepared: Prepared
  readonly context: GraphQLContext
}
