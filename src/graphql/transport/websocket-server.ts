import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode, handleProtocols, MessageType, type Server } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Config } from '../../config/config.js'
import { isObject, type JsonValue } from '../../domain/json.js'
import type { Problem } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { parseJson } from '../../http/parse-json.js'
import { maxJsonDepthOf } from './http.js'
import {
  createWebSocketProtocol,
  ResultPlaceholders,
  toCloseReason,
  truncateCloseReason,
  type WebSocketPeer,
  type WebSocketProtocolDependencies,
} from './websocket-protocol.js'

/** Dependencies of the WebSocket server. */
export interface WebSocketServerDependencies extends WebSocketProtocolDependencies {
  readonly config: WebSocketProtocolDependencies['config'] &
    Pick<Config, 'maxSockets' | 'maxBodyBytes' | 'maxDepth' | 'keepAliveMs'>
  /** Rejects a request to upgrade. */
  readonly rejectUpgrade: (socket: Duplex, problem: Problem) => void
}

/** Maximum number of bytes queued for a client. Above it, the service stops reading from that client. */
const MAX_BUFFERED_BYTES = 1_048_576
/** Maximum wait for a client to confirm a close, in ms. */
const CLOSE_TIMEOUT_MS = 1000

/**
 * GraphQL over WebSocket with the protocol graphql-transport-ws. The token is in the payload of
 * `connection_init` (`authorization`, in any case), because browsers send no header with a WebSocket, or in
 * the header of the request. The connection closes when the token expires.
 */
export class GraphQLWebSocketServer {
  readonly #dependencies: WebSocketServerDependencies
  readonly #server: WebSocketServer
  readonly #protocol: Server<WebSocketPeer>

  constructor(dependencies: WebSocketServerDependencies) {
    this.#dependencies = dependencies
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: dependencies.config.maxBodyBytes,
      handleProtocols,
    })
    this.#server.on('wsClientError', (error, socket) =>
      dependencies.rejectUpgrade(socket, {
        kind: 'BadRequest',
        reason: REASONS.notWebSocket(error.message),
      }),
    )
    this.#protocol = createWebSocketProtocol(dependencies)
  }

  /** Upgrades a request to a WebSocket. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { rejectUpgrade, config } = this.#dependencies
    if (this.#server.clients.size >= config.maxSockets)
      rejectUpgrade(socket, { kind: 'Unavailable', reason: 'busy' })
    else this.#server.handleUpgrade(req, socket, head, webSocket => this.#openConnection(webSocket, req))
  }

  /** Closes every connection because the service stops. Clients may reconnect. */
  close(): void {
    for (const socket of this.#server.clients) closeWithTimeout(socket, 1001, 'Going away')
  }

  #openConnection(socket: WebSocket, req: IncomingMessage): void {
    const { config } = this.#dependencies
    const close = (code: number, reason: string) => closeWithTimeout(socket, code, reason)
    const peer: WebSocketPeer = {
      socket,
      req,
      close,
      resultPlaceholders: new ResultPlaceholders(),
      running: new Map(),
    }
    // The package closes a connection that violates the WebSocket protocol. A lost connection needs no
    // response.
    socket.on('error', () => undefined)
    const stopKeepAlive = startKeepAlive(socket, config.keepAliveMs)
    const closed = this.#protocol.opened(
      {
        protocol: socket.protocol,
        send: text => sendMessage(socket, peer.resultPlaceholders.substitute(text)),
        close: (code, reason) => close(code ?? 1000, reason ?? ''),
        onMessage: handle => socket.on('message', data => this.#receiveMessage(peer, String(data), handle)),
      },
      peer,
    )
    socket.once('close', (code, reason) => {
      stopKeepAlive()
      void closed(code, String(reason))
    })
  }

  #receiveMessage(
    { socket, req, running }: WebSocketPeer,
    text: string,
    handle: (text: string) => Promise<void>,
  ): void {
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.pause()
    const message = tryParseJson(text, maxJsonDepthOf(this.#dependencies.config))
    if (message === undefined)
      closeWithTimeout(socket, CloseCode.BadRequest, 'The message is not valid JSON, or is nested too deeply')
    // The package would treat such a message as a fault of the service.
    else if (isServerMessage(message))
      closeWithTimeout(socket, CloseCode.BadRequest, 'Only a server may send messages of this type')
    else {
      // The package ends subscriptions. For an operation with one result it only discards the result.
      if (isObject(message) && message['type'] === MessageType.Complete)
        running.get(String(message['id']))?.scope.abort()
      handle(text).catch((error: unknown) =>
        closeWithTimeout(
          socket,
          CloseCode.InternalServerError,
          toCloseReason(error, fault => this.#dependencies.report(fault, req)),
        ),
      )
    }
  }
}

function tryParseJson(text: string, maxDepth: number): JsonValue | undefined {
  try {
    return parseJson(text, maxDepth)
  } catch {
    return undefined
  }
}

const SERVER_MESSAGE_TYPES: ReadonlySet<unknown> = new Set([
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
])

const isServerMessage = (message: JsonValue): boolean =>
  isObject(message) && SERVER_MESSAGE_TYPES.has(message['type'])

/**
 * Sends a message. Resolves when the operating system has accepted it, so that no further result is produced
 * for a client that does not read.
 */
const sendMessage = (socket: WebSocket, text: string): Promise<void> =>
  new Promise(resolve => {
    if (socket.readyState !== socket.OPEN) return resolve()
    socket.send(text, () => {
      if (socket.isPaused && socket.bufferedAmount <= MAX_BUFFERED_BYTES) socket.resume()
      // A message that could not be sent is lost with the connection. The close event reports that.
      resolve()
    })
  })

/** Closes a connection, and terminates it if the client does not confirm in time. */
function closeWithTimeout(socket: WebSocket, code: number, reason: string): void {
  socket.resume()
  // A reason of the package may contain client input of any length.
  socket.close(code, truncateCloseReason(reason))
  setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref()
}

/** Sends a ping at every interval. Terminates a connection that has not answered the previous ping. */
function startKeepAlive(socket: WebSocket, intervalMs: number): () => void {
  let isAlive = true
  socket.on('pong', () => {
    isAlive = true
  })
  const timer = setInterval(() => {
    if (!isAlive) return socket.terminate()
    isAlive = false
    socket.ping()
  }, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
