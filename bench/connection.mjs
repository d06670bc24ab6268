import { connect } from 'node:net'

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const END_OF_LINE = Buffer.from('\r\n')
const LONGEST_WAIT_MS = 60_000

/**
 * A keep-alive HTTP/1.1 connection on a plain socket. It uses much less CPU than `fetch`, so that generator
 * and server fit on two cores.
 */
export class Connection {
  #socket
  #waiting
  #bytes = 0
  #pieces = []
  #answer

  static async open(port) {
    const connection = new Connection()
    await connection.#open(port)
    return connection
  }

  #open(port) {
    return new Promise((resolve, reject) => {
      this.#socket = connect(port, '127.0.0.1', resolve).setNoDelay(true)
      this.#socket.on('data', piece => this.#take(piece))
      this.#socket.on('error', error => {
        reject(error)
        this.#fail(error)
      })
      this.#socket.on('close', () => this.#fail(new Error('the connection was closed')))
    })
  }

  close() {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  /**
   * Sends an encoded request. Resolves with the status, the number of bytes of the body and, if `keep`, the
   * body.
   */
  send(request, keep = false) {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('the connection was closed'))
      const timer = setTimeout(() => this.#fail(new Error('no answer in 60 s')), LONGEST_WAIT_MS)
      this.#waiting = { resolve, reject, keep, timer }
      this.#answer = undefined
      this.#bytes = 0
      this.#pieces = []
      this.#socket.write(request)
    })
  }

  #fail(error) {
    const waiting = this.#waiting
    this.#waiting = undefined
    clearTimeout(waiting?.timer)
    waiting?.reject(error)
  }

  #take(piece) {
    if (!this.#waiting) return
    if (this.#answer) return this.#takeBody(piece)
    const head = this.#pieces.length > 0 ? Buffer.concat([...this.#pieces, piece]) : piece
    const end = head.indexOf(END_OF_HEAD)
    this.#pieces = end < 0 ? [head] : []
    if (end < 0) return
    this.#answer = readHead(head.latin1Slice(0, end))
    this.#takeBody(head.subarray(end + END_OF_HEAD.length))
  }

  #takeBody(piece) {
    const answer = this.#answer
    if (!answer.chunked) return this.#takeBytes(piece, answer.length)
    // Chunks are as large as the server's writes. The rest of one may arrive with the next packet.
    let rest = answer.rest ? Buffer.concat([answer.rest, piece]) : piece
    answer.rest = undefined
    for (;;) {
      const line = rest.indexOf(END_OF_LINE)
      const size = line < 0 ? Number.NaN : Number.parseInt(rest.latin1Slice(0, line), 16)
      const end = line + END_OF_LINE.length + size + END_OF_LINE.length
      if (line < 0 || end > rest.length) {
        answer.rest = rest
        return
      }
      if (size === 0) return this.#finish()
      this.#keep(rest.subarray(line + END_OF_LINE.length, end - END_OF_LINE.length))
      rest = rest.subarray(end)
    }
  }

  #takeBytes(piece, length) {
    this.#keep(piece)
    if (this.#bytes >= length) this.#finish()
  }

  #keep(piece) {
    this.#bytes += piece.length
    if (this.#waiting.keep) this.#pieces.push(piece)
    // A failed GraphQL response has status 200 and begins with its errors.
    else if (this.#bytes === piece.length) this.#answer.failed = piece.latin1Slice(0, 20).includes('"errors"')
  }

  #finish() {
    const { resolve, keep, timer } = this.#waiting
    this.#waiting = undefined
    clearTimeout(timer)
    const { status, failed = false } = this.#answer
    resolve({ status, failed, bytes: this.#bytes, ...(keep && { body: Buffer.concat(this.#pieces) }) })
  }
}

function readHead(head) {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  return {
    status: Number(head.slice(9, 12)),
    length: Number(length ?? 0),
    chunked: length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head),
  }
}

/** Encodes a request. */
export function toRequest(base, { method = 'GET', path, headers, body = '' }, common = {}) {
  const all = {
    Host: new URL(base).host,
    Accept: 'application/json',
    ...common,
    ...headers,
    ...(body && { 'Content-Length': Buffer.byteLength(body) }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
