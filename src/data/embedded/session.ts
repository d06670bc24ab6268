import type { Socket } from 'node:net'
import type { Semaphore } from '../semaphore.js'
import { PGliteStoppedError, type PGliteThread } from './pglite-thread.js'
import {
  type FrontendRequest,
  FrontendRequestReader,
  prefixStatementName,
  readTransactionStatus,
  toErrorResponseMessage,
  toMessage,
  toQueryMessage,
  toStartupResponse,
} from './protocol.js'

/** Nobody gave the database free in time. */
class BackendBusyError extends Error {}

/** What all sessions of one database share. */
export interface Backend {
  readonly pglite: PGliteThread
  /** Who may use the one backend: for as long as a transaction lasts. */
  readonly semaphore: Semaphore
  /** What clients are told of the server when they connect. */
  readonly parameters: Readonly<Record<string, string>>
  /** How long a session waits for the others, in ms; 0: without end. */
  readonly acquireTimeoutMs: number
  /** Whose settings and temporary things the engine holds. */
  activeSession: Session | undefined
}

/**
 * All that a session can leave behind, except its prepared statements. It is what DISCARD ALL does
 * (PostgreSQL documentation, DISCARD).
 */
const RESET_SQL =
  'CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES'
const RESET_SESSION = toQueryMessage(RESET_SQL)
/** The same for a client that has asked for read-only transactions at its start, as Prisma Studio does. */
const RESET_TO_READ_ONLY = toQueryMessage(`${RESET_SQL}; SET default_transaction_read_only = on`)
const SYNC = toMessage('S')
const ROLLBACK = Buffer.concat([SYNC, toQueryMessage('ROLLBACK')])
const toCloseMessage = (statement: string) => toMessage('C', `S${statement}`)

/** An open transaction stops everybody else: one that is forgotten is ended. In ms. */
const DEFAULT_IDLE_TIMEOUT_MS = 60_000

class SessionEndedError extends Error {}

type MessageBatch = Extract<FrontendRequest, { kind: 'batch' }>

/**
 * One client of the embedded database. PGlite has one backend, so a session takes turns with the others: it
 * holds the backend from its first message until the answer says that no transaction is open. What one
 * session sets never reaches another.
 */
export class Session {
  static #count = 0

  readonly #backend: Backend
  readonly #socket: Socket
  readonly #statementPrefix = `s${Session.#count++}:`
  readonly #statements = new Set<string>()
  #generation = 0
  #hasBackend = false
  #resetMessage = RESET_SESSION
  #statementTimeoutMs = 0
  #idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS
  #idleTimer: NodeJS.Timeout | undefined

  constructor(backend: Backend, socket: Socket) {
    this.#backend = backend
    this.#socket = socket
  }

  /** Serves the client until it leaves. Never rejects. */
  async serve(): Promise<void> {
    const reader = new FrontendRequestReader()
    try {
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false }))
        for (const request of reader.read(chunk)) await this.#handle(request)
    } catch (error) {
      this.#socket.end(toFatalError(error))
    } finally {
      clearTimeout(this.#idleTimer)
      this.#socket.destroySoon()
      await this.#cleanUp().catch(() => undefined)
    }
  }

  async #handle(request: FrontendRequest): Promise<void> {
    if (request.kind === 'encryption') this.#socket.write('N')
    else if (request.kind === 'startup') this.#handleStartup(request.parameters)
    else if (request.kind === 'batch') await this.#handleBatch(request)
    else throw new SessionEndedError()
  }

  #handleStartup(parameters: ReadonlyMap<string, string>): void {
    if (parameters.get('default_transaction_read_only') === 'on') this.#resetMessage = RESET_TO_READ_ONLY
    this.#statementTimeoutMs = Number(parameters.get('statement_timeout') ?? 0)
    this.#idleTimeoutMs = Number(
      parameters.get('idle_in_transaction_session_timeout') ?? DEFAULT_IDLE_TIMEOUT_MS,
    )
    this.#socket.write(toStartupResponse(this.#backend.parameters))
  }

  async #handleBatch({ messages, lastType }: MessageBatch): Promise<void> {
    clearTimeout(this.#idleTimer)
    await this.#acquireBackend()
    const input = Buffer.concat(messages.map(message => this.#prefixStatementName(message)))
    const output = await this.#backend.pglite.run(input, this.#statementTimeoutMs)
    if (lastType !== 'H' && readTransactionStatus(output) === 'I') this.#releaseBackend()
    else this.#idleTimer = setTimeout(() => this.#socket.destroy(), this.#idleTimeoutMs)
    this.#socket.write(output)
  }

  #prefixStatementName(original: Buffer): Buffer {
    const { message, declared } = prefixStatementName(original, this.#statementPrefix)
    if (declared) this.#statements.add(declared)
    return message
  }

  async #acquireBackend(): Promise<void> {
    if (this.#hasBackend) return
    const { pglite, semaphore, acquireTimeoutMs } = this.#backend
    if (!(await semaphore.acquire(acquireTimeoutMs))) throw new BackendBusyError()
    this.#hasBackend = true
    await pglite.start()
    if (this.#generation !== pglite.generation && this.#statements.size > 0)
      throw new PGliteStoppedError('crash')
    this.#generation = pglite.generation
    if (this.#backend.activeSession !== this) await pglite.run(this.#resetMessage, 0)
    this.#backend.activeSession = this
  }

  #releaseBackend(): void {
    this.#hasBackend = false
    this.#backend.semaphore.release()
  }

  /** Ends what the client left open, so that the next one finds nothing of it. */
  async #cleanUp(): Promise<void> {
    if (!this.#hasBackend && this.#statements.size === 0) return
    if (!this.#hasBackend) await this.#backend.semaphore.acquire()
    try {
      await this.#backend.pglite.run(
        Buffer.concat([ROLLBACK, ...[...this.#statements].map(toCloseMessage), SYNC]),
        0,
      )
    } finally {
      this.#releaseBackend()
    }
  }
}

function toFatalError(error: unknown): Buffer {
  if (error instanceof BackendBusyError)
    return toErrorResponseMessage('FATAL', '53300', 'the database is busy with another transaction')
  if (!(error instanceof PGliteStoppedError)) return Buffer.alloc(0)
  return error.reason === 'timeout'
    ? toErrorResponseMessage('FATAL', '57014', 'canceling statement due to statement timeout')
    : toErrorResponseMessage('FATAL', '57P02', error.message)
}
