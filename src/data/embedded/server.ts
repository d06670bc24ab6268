import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { Semaphore } from '../semaphore.js'
import type { PGliteThread } from './pglite-thread.js'
import { toQueryMessage } from './protocol.js'
import { type Backend, Session } from './session.js'

/** What PostgreSQL tells every client when it connects; drivers choose their formats by it. */
const SERVER_PARAMETERS = {
  server_encoding: 'UTF8',
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  integer_datetimes: 'on',
  standard_conforming_strings: 'on',
} as const

/** Serves an engine to many clients, which take turns. */
export class SessionServer {
  readonly #server: Server
  readonly #sessions = new Map<Socket, Promise<void>>()

  private constructor(backend: Backend) {
    this.#server = createServer(socket => this.#accept(backend, socket))
  }

  static async listen(path: string, pglite: PGliteThread, acquireTimeoutMs: number): Promise<SessionServer> {
    const parameters = { ...SERVER_PARAMETERS, server_version: await readServerVersion(pglite) }
    const server = new SessionServer({
      pglite,
      semaphore: new Semaphore(1),
      parameters,
      acquireTimeoutMs,
      activeSession: undefined,
    })
    server.#server.listen(path)
    await once(server.#server, 'listening')
    return server
  }

  /** Ends all sessions; a statement that runs is finished first. */
  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sessions.keys()) socket.destroy()
    await Promise.all(this.#sessions.values())
  }

  #accept(backend: Backend, socket: Socket): void {
    // A client that goes away in the middle of an answer is no fault of ours; the session sees the end.
    socket.on('error', () => undefined)
    const session = new Session(backend, socket)
    this.#sessions.set(
      socket,
      session.serve().finally(() => this.#sessions.delete(socket)),
    )
  }
}

/** The version as drivers expect it: the first word. */
async function readServerVersion(pglite: PGliteThread): Promise<string> {
  const output = Buffer.from(await pglite.run(toQueryMessage('show server_version'), 0)).toString('latin1')
  return /\d+\.\d+/.exec(output)?.[0] ?? '0'
}
