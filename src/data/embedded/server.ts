import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { BlockingSessionListener } from '../blocking-session.js'
import { FairSemaphore } from '../fair-semaphore.js'
import type { PGliteThread } from './pglite-thread.js'
import { type BackendKey, toQueryMessage } from './protocol.js'
import { type Backend, Session } from './session.js'

/** Parameters that PostgreSQL reports to every client at startup. Drivers choose their formats by them. */
const SERVER_PARAMETERS = {
  server_encoding: 'UTF8',
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  integer_datetimes: 'on',
  standard_conforming_strings: 'on',
} as const

export interface SessionServerOptions {
  /** Path of the socket. */
  readonly path: string
  readonly pglite: PGliteThread
  /** Maximum wait of a session for the others, in ms. */
  readonly acquireTimeoutMs: number
  readonly onBlocked: BlockingSessionListener
}

/** A connection, and its session with the key that cancels its statements. */
interface Connection {
  readonly session: Session
  readonly key: BackendKey
  readonly ended: Promise<void>
}

const MAX_SECRET_KEY = 2 ** 31 - 1

/** Serves one engine to several clients, one at a time. */
export class SessionServer {
  readonly #backend: Backend
  readonly #server: Server
  readonly #connections = new Map<Socket, Connection>()
  #sessionCount = 0

  private constructor(backend: Backend) {
    this.#backend = backend
    this.#server = createServer(socket => this.#accept(socket))
  }

  static async listen({
    path,
    pglite,
    acquireTimeoutMs,
    onBlocked,
  }: SessionServerOptions): Promise<SessionServer> {
    const parameters = { ...SERVER_PARAMETERS, server_version: await readServerVersion(pglite) }
    const server = new SessionServer({
      pglite,
      semaphore: new FairSemaphore({ permits: 1, reserved: 0 }),
      parameters,
      acquireTimeoutMs,
      onBlocked,
      activeSession: undefined,
    })
    server.#server.listen(path)
    await once(server.#server, 'listening')
    return server
  }

  /** Returns true while a session holds the engine. */
  isBusy(): boolean {
    return !this.#backend.semaphore.isAvailable('')
  }

  /** Ends all sessions after the running statement has finished. */
  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#connections.keys()) socket.destroy()
    await Promise.all([...this.#connections.values()].map(({ ended }) => ended))
  }

  #accept(socket: Socket): void {
    // A client may disconnect during a response. The session handles the end of the connection.
    socket.on('error', () => undefined)
    const key = { processId: ++this.#sessionCount, secretKey: randomInt(MAX_SECRET_KEY) }
    const session = new Session(this.#backend, socket, key, wanted => this.#cancel(wanted))
    const ended = session.serve().finally(() => this.#connections.delete(socket))
    this.#connections.set(socket, { session, key, ended })
  }

  #cancel({ processId, secretKey }: BackendKey): void {
    for (const { session, key } of this.#connections.values())
      if (key.processId === processId && key.secretKey === secretKey) session.cancel()
  }
}

/** Returns the version number in the form that drivers expect, without further text. */
async function readServerVersion(pglite: PGliteThread): Promise<string> {
  const output = Buffer.from(await pglite.run(toQueryMessage('show server_version'), 0)).toString('latin1')
  return /\d+\.\d+/.exec(output)?.[0] ?? '0'
}
