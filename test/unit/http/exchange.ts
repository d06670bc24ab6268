import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { afterEach } from 'vitest'
import { createHttpServer, type HttpServer, type ServerExtras } from '../../../src/http/server.js'

export interface Answer {
  readonly status: number
  /** Headers by name in lower case. Repeated headers are joined. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const servers: HttpServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map(server => server.close()))
})

/** A server on a free port, closed after the test. */
export async function serve(
  app: RequestListener,
  settings: Partial<Record<'maxHeaderBytes' | 'shutdownDrainMs' | 'shutdownTimeoutMs', number>> = {},
  extras: ServerExtras = {},
) {
  const server = createHttpServer(
    app,
    {
      host: '127.0.0.1',
      port: 0,
      maxHeaderBytes: 65_536,
      shutdownDrainMs: 0,
      shutdownTimeoutMs: 200,
      ...settings,
    },
    extras,
  )
  servers.push(server)
  return { server, port: (await server.listen()).port }
}

/** Sends bytes unchanged and returns everything received until the connection ends. */
export function sendRaw(port: number, ...parts: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1').on('data', text => {
      received += text
    })
    socket.on('error', error => (received === '' ? reject(error) : resolve(received)))
    socket.on('close', () => resolve(received))
    for (const part of parts) socket.write(part)
  })
}

/** Returns the first response in the received bytes. */
export function readAnswer(text: string): Answer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const headers: Record<string, string> = {}
  for (const field of fields) {
    const [name = '', value = ''] = field.split(/: ?(.*)/s)
    headers[name.toLowerCase()] =
      name.toLowerCase() in headers ? `${headers[name.toLowerCase()]}, ${value}` : value
  }
  const body = rest.join('\r\n\r\n')
  return {
    status: Number(line.split(' ')[1]),
    headers,
    body: headers['transfer-encoding'] === 'chunked' ? joinChunks(body) : body,
  }
}

function joinChunks(text: string): string {
  const [size = '0'] = text.split('\r\n', 1)
  const [start, length] = [size.length + 2, Number.parseInt(size, 16)]
  return length === 0 ? '' : text.slice(start, start + length) + joinChunks(text.slice(start + length + 2))
}

/** Renders one request, after which the connection closes. */
export async function request(
  port: number,
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  body: string | Buffer = '',
): Promise<Answer> {
  const length = body.length > 0 ? { 'Content-Length': String(Buffer.byteLength(body)) } : {}
  const fields = Object.entries({ Host: 'localhost', Connection: 'close', ...length, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return readAnswer(await sendRaw(port, `${method} ${target} HTTP/1.1\r\n${fields.join('')}\r\n`, body))
}
