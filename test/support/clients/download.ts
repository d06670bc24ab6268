import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'

export const NDJSON = 'application/x-ndjson'
export const CSV = 'text/csv'

export interface HttpForm {
  readonly version?: '1.0' | '1.1'
  readonly encoding?: 'gzip' | 'identity'
}

export interface RawResponse {
  readonly head: string
  readonly body: Buffer
  /** The code of the error that the connection ended with. */
  readonly error: string | undefined
}

interface DownloadOptions extends HttpForm {
  readonly authorization: string
  readonly accept: string
}

/** A response that is read until its connection ends. */
export class Download {
  readonly #chunks: Buffer[] = []
  readonly #closed: Promise<RawResponse>
  readonly #socket: Socket
  #error: string | undefined

  constructor(
    base: string,
    target: string,
    { authorization, accept, version = '1.1', encoding = 'identity' }: DownloadOptions,
  ) {
    const { hostname, port } = new URL(base)
    const socket = connect(Number(port), hostname)
    this.#socket = socket
    socket.on('data', chunk => this.#chunks.push(chunk))
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      this.#error = code
    })
    this.#closed = new Promise(resolve => socket.once('close', () => resolve(this.#response())))
    socket.write(
      `GET ${encodeURI(target)} HTTP/${version}\r\nHost: ${hostname}\r\nConnection: close\r\n` +
        `Authorization: ${authorization}\r\nAccept: ${accept}\r\nAccept-Encoding: ${encoding}\r\n\r\n`,
    )
  }

  #response(): RawResponse {
    const received = Buffer.concat(this.#chunks)
    const end = received.indexOf('\r\n\r\n') + 4
    return { head: received.subarray(0, end).toString(), body: received.subarray(end), error: this.#error }
  }

  /** Waits for the first bytes. */
  async begin(): Promise<void> {
    await new Promise(resolve => this.#socket.once('data', resolve))
  }

  /** Waits for the first bytes, and reads nothing more. */
  async pause(): Promise<void> {
    await this.begin()
    this.#socket.pause()
  }

  /** Reads the rest. */
  finish(): Promise<RawResponse> {
    this.#socket.resume()
    return this.#closed
  }
}

/** Checks that no client mistakes the response for a complete one. */
export function checkBrokenOff({ head, body, error }: RawResponse, accept: string, http: HttpForm): void {
  const text = body.toString('latin1')
  expect(head).toMatch(/^HTTP\/1\.1 200 /)
  expect(text).not.toMatch(/"error"|@odata\.count/)
  if (http.version === '1.0') expect(error).toBe('ECONNRESET')
  else {
    expect(head).toMatch(/^Transfer-Encoding: chunked/im)
    expect(text.endsWith('\r\n0\r\n\r\n')).toBe(false)
  }
  if (http.encoding === 'gzip')
    expect(() => gunzipSync(Buffer.concat(readChunks(body)))).toThrow('unexpected end of file')
  // The compressor may hold the text of the first chunk.
  else expect(text).toMatch(accept === CSV ? /^(?:[0-9a-f]+\r\n)?ListingKey,/ : /"ListingKey":"[HL]1/)
}

/** The complete chunks of a chunked body. */
function readChunks(body: Buffer): readonly Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.subarray(at, end).toString(), 16)
    chunks.push(body.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
  return chunks
}
