import type { Socket } from 'node:net'
import { RequestScope } from '../../domain/request-scope.js'
import { type BlockingSession, type BlockingSessionListener, describeSession } from '../blocking-session.js'
import type { FairSemaphore } from '../fair-semaphore.js'
import { PGliteStoppedError, type PGliteThread } from './pglite-thread.js'
import {
  type BackendKey,
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

/** The client took back a statement that waited for its turn. */
class StatementCanceledError extends Error {}

/** What all sessions of one database share. */
export interface Backend {
  readonly pglite: PGliteThread
  /** Who may use the one backend: for as long as a transaction lasts. */
  readonly semaphore: FairSemaphore
  /** What clients are told of the server when they connect. */
  readonly parameters: Readonly<Record<string, string>>
  /** How long a session waits for the others, in ms. */
  readonly acquireTimeoutMs: number
  readonly onBlocked: BlockingSessionListener
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

/** Longest pause within a transaction, unless the client asks for another one. Others wait for it. */
const DEFAULT_IDLE_TIMEOUT_MS = 60_000
/** A session that waits longer than this for an idle transaction reports it. */
const REPORT_AFTER_MS = 1000
/** The longest time that a timer of Node takes. */
const MAX_TIMER_MS = 2 ** 31 - 1

class SessionEndedError extends Error {}

type MessageBatch = Extract<FrontendRequest, { kind: 'batch' }>

/**
 * One client of the embedded database. PGlite has one backend, so a session takes turns with the others: it
 * holds the backend from its first message until the answer says that no transaction is open. What one
 * session sets never reaches another.
 */
export class Session {
  readonly #backend: Backend
  readonly #socket: Socket
  readonly #key: BackendKey
  readonly #cancelSession: (key: BackendKey) => void
  readonly #statementPrefix: string
  readonly #statements = new Set<string>()
  #application = ''
  #generation = 0
  #resetMessage = RESET_SESSION
  #acquiredAt: number | undefined
  #isReported = false
  #statementTimeoutMs = 0
  #idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS
  #idleTimer: NodeJS.Timeout | undefined
  /** The wait for the backend, while there is one. */
  #wait: RequestScope | undefined

  /** @param cancelSession is called for a request to cancel what another session waits for. */
  constructor(backend: Backend, socket: Socket, key: BackendKey, cancelSession: (key: BackendKey) => void) {
    this.#backend = backend
    this.#socket = socket
    this.#key = key
    this.#cancelSession = cancelSession
    this.#statementPrefix = `s${key.processId}:`
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

  /** Ends a statement that waits for its turn. One that runs can only be ended with the engine. */
  cancel(): void {
    this.#wait?.abort()
  }

  async #handle(request: FrontendRequest): Promise<void> {
    if (request.kind === 'encryption') this.#socket.write('N')
    else if (request.kind === 'startup') this.#handleStartup(request.parameters)
    else if (request.kind === 'batch') await this.#handleBatch(request)
    else {
      if (request.kind === 'cancel') this.#cancelSession(request.key)
      throw new SessionEndedError()
    }
  }

  #handleStartup(parameters: ReadonlyMap<string, string>): void {
    if (parameters.get('default_transaction_read_only') === 'on') this.#resetMessage = RESET_TO_READ_ONLY
    this.#application = parameters.get('application_name') ?? ''
    this.#statementTimeoutMs = Number(parameters.get('statement_timeout') ?? 0)
    this.#idleTimeoutMs = Number(
      parameters.get('idle_in_transaction_session_timeout') ?? DEFAULT_IDLE_TIMEOUT_MS,
    )
    this.#socket.write(toStartupResponse(this.#backend.parameters, this.#key))
  }

  async #handleBatch({ messages, lastType }: MessageBatch): Promise<void> {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
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
    if (this.#acquiredAt !== undefined) return
    await this.#waitForBackend(this.#backend.acquireTimeoutMs)
    const { pglite } = this.#backend
    await pglite.start()
    if (this.#generation !== pglite.generation && this.#statements.size > 0)
      throw new PGliteStoppedError('crash')
    this.#generation = pglite.generation
    if (this.#backend.activeSession !== this) await pglite.run(this.#resetMessage, 0)
    this.#backend.activeSession = this
  }

  async #waitForBackend(timeoutMs: number): Promise<void> {
    const { semaphore } = this.#backend
    const clientId = this.#statementPrefix
    if (!semaphore.tryAcquire(clientId)) {
      this.#wait = new RequestScope(clientId)
      const reportTimer = setTimeout(() => this.#reportIdleTransaction(), REPORT_AFTER_MS)
      const outcome = await semaphore.acquire(this.#wait, timeoutMs)
      clearTimeout(reportTimer)
      this.#wait = undefined
      if (outcome === 'aborted') throw new StatementCanceledError()
      if (outcome === 'timeout') throw new BackendBusyError(this.#describeWait(timeoutMs))
    }
    this.#acquiredAt = performance.now()
  }

  #describeWait(waitedMs: number): string {
    const blocking = this.#backend.activeSession?.toBlockingSession()
    return `waited ${waitedMs} ms for the embedded database, which ${blocking ? `is used by ${describeSession(blocking)}` : 'was busy'}`
  }

  /** Reports a transaction that does nothing and keeps this session waiting. */
  #reportIdleTransaction(): void {
    const { activeSession, semaphore, onBlocked } = this.#backend
    const blocking = activeSession?.toBlockingSession()
    if (!activeSession || !blocking || activeSession.#isReported || blocking.state === 'active') return
    activeSession.#isReported = true
    onBlocked({ ...blocking, waiting: semaphore.waitingCount })
  }

  /** Describes the session while it holds the backend. */
  toBlockingSession(): BlockingSession | undefined {
    if (this.#acquiredAt === undefined) return undefined
    return {
      pid: null,
      application: this.#application,
      state: this.#idleTimer ? 'idle in transaction' : 'active',
      transactionMs: Math.round(performance.now() - this.#acquiredAt),
    }
  }

  #releaseBackend(): void {
    this.#acquiredAt = undefined
    this.#isReported = false
    this.#backend.semaphore.release(this.#statementPrefix)
  }

  /** Ends what the client left open, so that the next one finds nothing of it. */
  async #cleanUp(): Promise<void> {
    if (this.#acquiredAt === undefined && this.#statements.size === 0) return
    if (this.#acquiredAt === undefined) await this.#waitForBackend(MAX_TIMER_MS)
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
  if (error instanceof BackendBusyError) return toErrorResponseMessage('FATAL', '53300', error.message)
  if (error instanceof StatementCanceledError)
    return toErrorResponseMessage('FATAL', '57014', 'canceling statement due to user request')
  if (!(error instanceof PGliteStoppedError)) return Buffer.alloc(0)
  return error.reason === 'timeout'
    ? toErrorResponseMessage('FATAL', '57014', 'canceling statement due to statement timeout')
    : toErrorResponseMessage('FATAL', '57P02', error.message)
}
