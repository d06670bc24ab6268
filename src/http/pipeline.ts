import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** The service stops reading from a connection with this number of waiting requests, or of their bytes. */
const PAUSE_AT = { requests: 8, bytes: 65_536 } as const
/**
 * Maximum number of waiting requests. Requests that arrive in the same packet as the one that paused the
 * connection wait too. A connection that exceeds this is closed.
 */
const MAX_WAITING_REQUESTS = 100
/** Maximum number of bytes of queued requests on all connections. A connection that exceeds this is closed. */
const MAX_WAITING_BYTES = 33_554_432
/** Estimated memory of a waiting request in addition to its bytes. */
const REQUEST_OVERHEAD_BYTES = 4096

/**
 * Destroys the connection of a response that cannot be completed. A response without chunks (HTTP/1.0)
 * regularly ends with the connection, so this connection is reset instead.
 */
export function abortResponse({ socket, headersSent, chunkedEncoding }: ServerResponse): void {
  if (headersSent && !chunkedEncoding) socket?.resetAndDestroy()
  else socket?.destroy()
}

/** The number of bytes of queued requests on all connections of a server. */
export interface QueuedBytes {
  total: number
}

interface WaitingRequest {
  readonly bytes: number
  readonly req?: IncomingMessage
  readonly serve: () => void
}

const PIPELINE = Symbol('pipeline')
interface WithPipeline {
  [PIPELINE]?: RequestPipeline
}

/**
 * The pipelined requests of a connection: those that arrive before earlier ones are answered (RFC 9112,
 * 9.3.2). They are served one at a time, in order. Only a few wait in memory. Others remain in the network
 * buffers until a response is complete.
 */
export class RequestPipeline {
  readonly #socket: Duplex
  readonly #queuedBytes: QueuedBytes
  #current: ServerResponse | undefined
  #waiting: WaitingRequest[] = []
  #bytes = 0
  #isPaused = false
  /** True if the current response does not end until the client closes the connection. */
  #isEndless = false
  /** True if no further requests are accepted. */
  #isComplete = false

  private constructor(socket: Duplex, queuedBytes: QueuedBytes) {
    this.#socket = socket
    this.#queuedBytes = queuedBytes
    socket.on('resume', () => this.#keepPaused())
    socket.once('close', () => this.#clear())
  }

  /** Returns the pipeline of a connection, and creates it at the first use. */
  static of(socket: Duplex & WithPipeline, queuedBytes: QueuedBytes): RequestPipeline {
    socket[PIPELINE] ??= new RequestPipeline(socket, queuedBytes)
    return socket[PIPELINE]
  }

  /** Returns the pipeline of a connection, if it has one. */
  static find(socket: Duplex & WithPipeline): RequestPipeline | undefined {
    return socket[PIPELINE]
  }

  /** The response in progress. */
  get current(): ServerResponse | undefined {
    return this.#current
  }

  /** Starts a response. `next` must be called when it is complete. */
  start(res: ServerResponse): void {
    this.#current = res
  }

  /** Ends the current response and serves the next request. */
  next(): void {
    this.#current = undefined
    this.#isEndless = false
    if (this.#socket.destroyed) return
    const request = this.#waiting.shift()
    if (!request) return
    this.#addBytes(-request.bytes)
    if (!this.#mustPause()) this.#resume()
    request.serve()
  }

  /** Serves a request, now or after earlier ones. */
  add(req: IncomingMessage, serve: () => void): void {
    if (!this.#current) serve()
    else this.#wait({ bytes: REQUEST_OVERHEAD_BYTES + requestSize(req), req, serve })
  }

  /**
   * Serves the last request of a connection, now or after earlier ones: an upgrade, or the response to
   * malformed bytes. No further requests are accepted.
   */
  addLast(serve: () => void, bytes = 0): void {
    if (this.#isComplete) return
    this.#dropIncomplete()
    if (this.#current) {
      const stopListening = this.#listenInPlaceOfNode()
      this.#wait({
        bytes,
        serve() {
          stopListening()
          serve()
        },
      })
      this.#isComplete = true
    } else {
      this.#isComplete = true
      serve()
    }
  }

  /** Accepts requests again, after an upgrade was ignored. */
  reopen(): void {
    this.#isComplete = false
  }

  /** Marks the current response as endless. No request can wait for its end. */
  markEndless(): void {
    this.#isEndless = true
    if (this.#waiting.length > 0) this.#socket.destroy()
  }

  /** Drops the last request if the rest of it will not arrive. */
  #dropIncomplete(): void {
    const last = this.#waiting.at(-1)
    if (last?.req === undefined || last.req.complete) return
    this.#waiting.pop()
    this.#addBytes(-last.bytes)
  }

  /**
   * Handles socket events after an upgrade, when Node has removed its listeners but a response can still be
   * in progress.
   */
  #listenInPlaceOfNode(): () => void {
    const onDrain = () => this.#current?.emit('drain')
    const onError = () => this.#socket.destroy()
    this.#socket.on('drain', onDrain).on('error', onError)
    return () => this.#socket.off('drain', onDrain).off('error', onError)
  }

  #wait(request: WaitingRequest): void {
    // Node parses the rest of a packet even if the connection was destroyed.
    if (this.#isComplete || this.#socket.destroyed) return
    this.#addBytes(request.bytes)
    this.#waiting.push(request)
    if (
      this.#isEndless ||
      this.#waiting.length > MAX_WAITING_REQUESTS ||
      this.#queuedBytes.total > MAX_WAITING_BYTES
    )
      this.#socket.destroy()
    else if (this.#mustPause()) this.#pause()
  }

  #mustPause(): boolean {
    return this.#waiting.length >= PAUSE_AT.requests || this.#bytes >= PAUSE_AT.bytes
  }

  /** Pauses at the end of the tick, because Node resumes reading at the end of every message. */
  #pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    process.nextTick(() => {
      if (this.#isPaused) this.#socket.pause()
    })
  }

  #resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket.resume()
  }

  /** Pauses again when Node resumes. A stream that does not flow pauses only after another `resume`. */
  #keepPaused(): void {
    if (!this.#isPaused) return
    if (this.#socket.readableFlowing) this.#socket.pause()
    else this.#socket.resume()
  }

  #addBytes(bytes: number): void {
    this.#bytes += bytes
    this.#queuedBytes.total += bytes
  }

  #clear(): void {
    this.#addBytes(-this.#bytes)
    this.#current = undefined
    this.#waiting = []
    this.#isComplete = true
  }
}

/**
 * Returns the bytes that a waiting request holds: its head, and the part of its body that Node reads ahead.
 */
export function requestSize({
  url = '',
  rawHeaders,
  headers,
  readableHighWaterMark,
}: IncomingMessage): number {
  const head = rawHeaders.reduce((sum, text) => sum + text.length, url.length)
  const content =
    headers['transfer-encoding'] === undefined
      ? Number(headers['content-length'] ?? 0)
      : readableHighWaterMark
  return head + Math.min(content, readableHighWaterMark)
}

/** Marks a response as endless, so that no request waits for its end. */
export function markEndless({ socket }: ServerResponse): void {
  if (socket) RequestPipeline.find(socket)?.markEndless()
}
