import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Reading from a connection pauses at this number of waiting requests, or at this number of bytes. */
const PAUSE_AT = { requests: 8, bytes: 65_536 } as const
/**
 * What arrived in one piece with the request that paused the connection waits too, up to this number of
 * requests; beyond it the connection ends.
 */
const MAX_WAITING_REQUESTS = 100
/** Bytes that may wait on all connections together; the connection that exceeds them ends. */
const MAX_WAITING_BYTES = 33_554_432
/** Memory of a waiting request beside its bytes. */
const REQUEST_OVERHEAD_BYTES = 4096

/** The bytes that wait on all connections of a server. */
export interface WaitingBytes {
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
 * Requests that a client sends on one connection before it has the answers to earlier ones (RFC 9112, 9.3.2).
 * They are served one at a time, in their order. Few of them wait: further ones stay in the buffers of the
 * network until a response is complete.
 */
export class RequestPipeline {
  readonly #socket: Duplex
  readonly #waitingBytes: WaitingBytes
  #current: ServerResponse | undefined
  #waiting: WaitingRequest[] = []
  #bytes = 0
  #isPaused = false
  /** The current response does not end before the client closes the connection. */
  #isEndless = false
  /** Nothing more is accepted. */
  #isComplete = false

  private constructor(socket: Duplex, waitingBytes: WaitingBytes) {
    this.#socket = socket
    this.#waitingBytes = waitingBytes
    socket.on('resume', () => this.#keepPaused())
    socket.once('close', () => this.#clear())
  }

  /** The pipeline of a connection, made at its first use. */
  static of(socket: Duplex & WithPipeline, waitingBytes: WaitingBytes): RequestPipeline {
    socket[PIPELINE] ??= new RequestPipeline(socket, waitingBytes)
    return socket[PIPELINE]
  }

  /** The pipeline of a connection, if the connection has one. */
  static find(socket: Duplex & WithPipeline): RequestPipeline | undefined {
    return socket[PIPELINE]
  }

  /** The response that is being made. */
  get current(): ServerResponse | undefined {
    return this.#current
  }

  /** Starts a response. `next` must be called when it is complete. */
  start(res: ServerResponse): void {
    this.#current = res
  }

  /** Ends the current response and serves the request after it. */
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

  /** Serves a request, at once or after those before it. */
  add(req: IncomingMessage, serve: () => void): void {
    if (!this.#current) serve()
    else this.#wait({ bytes: REQUEST_OVERHEAD_BYTES + requestSize(req), req, serve })
  }

  /**
   * Serves what ends the connection's use for requests, at once or after those before it: an upgrade, or the
   * answer to bytes that are no request. Nothing after it is accepted.
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

  /** Takes requests again: an upgrade was left aside. */
  reopen(): void {
    this.#isComplete = false
  }

  /** Declares that the current response does not end: nothing can wait for it. */
  markEndless(): void {
    this.#isEndless = true
    if (this.#waiting.length > 0) this.#socket.destroy()
  }

  /** Drops the last request if nothing more of it arrives. */
  #dropIncomplete(): void {
    const last = this.#waiting.at(-1)
    if (last?.req === undefined || last.req.complete) return
    this.#waiting.pop()
    this.#addBytes(-last.bytes)
  }

  /** At an upgrade Node stops listening to the connection, on which a response may still be sent. */
  #listenInPlaceOfNode(): () => void {
    const onDrain = () => this.#current?.emit('drain')
    const onError = () => this.#socket.destroy()
    this.#socket.on('drain', onDrain).on('error', onError)
    return () => this.#socket.off('drain', onDrain).off('error', onError)
  }

  #wait(request: WaitingRequest): void {
    // Node reads the rest of a piece even if the connection was destroyed.
    if (this.#isComplete || this.#socket.destroyed) return
    this.#addBytes(request.bytes)
    this.#waiting.push(request)
    if (
      this.#isEndless ||
      this.#waiting.length > MAX_WAITING_REQUESTS ||
      this.#waitingBytes.total > MAX_WAITING_BYTES
    )
      this.#socket.destroy()
    else if (this.#mustPause()) this.#pause()
  }

  #mustPause(): boolean {
    return this.#waiting.length >= PAUSE_AT.requests || this.#bytes >= PAUSE_AT.bytes
  }

  /** At the end of the tick, since Node starts reading again at the end of every message. */
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
    this.#waitingBytes.total += bytes
  }

  #clear(): void {
    this.#addBytes(-this.#bytes)
    this.#current = undefined
    this.#waiting = []
    this.#isComplete = true
  }
}

/** Bytes that a request holds while it waits: its head, and as much of its content as Node reads ahead. */
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

/** Declares that a response does not end before the client closes: no request can wait behind it. */
export function markEndless({ socket }: ServerResponse): void {
  if (socket) RequestPipeline.find(socket)?.markEndless()
}
