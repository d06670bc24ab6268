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

/** The database was not released in time. */
class BackendBusyError extends Error {}

/** The client canceled a statement that waited for its turn. */
class StatementCanceledError extends Error {}

/** State that all sessions of a database share. */
export interface Backend {
  readonly pglite: PGliteThread
  /** Permit for the one backend, held for a transaction. */
  readonly semaphore: FairSemaphore
  /** Server parameters that clients get when they connect. */
  readonly parameters: Readonly<Record<string, string>>
  /** Maximum wait of a session for the others, in ms. */
  readonly acquireTimeoutMs: number
  readonly onBlocked: BlockingSessionListener
  /** The session whose settings and temporary objects are in the engine. */
  activeSession: Session | undefined
}

/**
 * Resets everything that a session can leave except its prepared statements, as DISCARD ALL does (PostgreSQL
 * documentation, DISCARD).
 */
const RESET_SQL =
  'CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES'
const RESET_SESSION = toQueryMessage(RESET_SQL)
/** The reset for a client that requested read-only transactions at startup, as Prisma Studio does. */
const RESET_TO_READ_ONLY = toQueryMessage(`${RESET_SQL}; SET default_transaction_read_only = on`)
const SYNC = toMessage('S')
const ROLLBACK = Buffer.concat([SYNC, toQueryMessage('ROLLBACK')])
const toCloseMessage = (statement: string) => toMessage('C', `S${statement}`)

/**
 * Maximum pause in a transaction, unless the client sets another one. It is limited because other sessions
 * wait.
 */
const DEFAULT_IDLE_TIMEOUT_MS = 60_000
/** Wait after which a session reports an idle transaction that blocks it. */
const REPORT_AFTER_MS = 1000
/**
 * Time in which a canceled statement may still end. Then the engine is stopped and restarted, because others wait.
 */
const CANCEL_GRACE_MS = 1000
/** Maximum interval of a timer in Node. */
const MAX_TIMER_MS = 2 ** 31 - 1

class SessionEndedError extends Error {}

type MessageBatch = Extract<FrontendRequest, { kind: 'batch' }>

/**
 * A client of the embedded database. PGlite has one backend, so sessions take turns. A session holds the
 * backend from its first message until no transaction is open. Settings of a session do not affect others.
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
  #isRunning = false
  #cancelTimer: NodeJS.Timeout | undefined
  /** The current wait for the backend. */
  #wait: RequestScope | undefined

  /** @param cancelSession called when the client requests to cancel the statement of another session */
  constructor(backend: Backend, socket: Socket, key: BackendKey, cancelSession: (key: BackendKey) => void) {
    this.#backend = backend
    this.#socket = socket
    this.#key = key
    this.#cancelSession = cancelSession
    this.#statementPrefix = `s${key.processId}:`
  }

  /** Serves the client until it disconnects. Never rejects. */
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

  /**
   * Cancels a statement that waits for its turn, or one that is running. A running one can only be stopped with
   * the engine.
   */
  cancel(): void {
    this.#wait?.abort()
    if (this.#isRunning)
      this.#cancelTimer ??= setTimeout(() => this.#backend.pglite.cancel(), CANCEL_GRACE_MS)
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
    const output = await this.#run(input)
    if (lastType !== 'H' && readTransactionStatus(output) === 'I') this.#releaseBackend()
    else this.#idleTimer = setTimeout(() => this.#socket.destroy(), this.#idleTimeoutMs)
    this.#socket.write(output)
  }

  async #run(input: Buffer): Promise<Uint8Array> {
    this.#isRunning = true
    try {
      return await this.#backend.pglite.run(input, this.#statementTimeoutMs)
    } finally {
      this.#isRunning = false
      clearTimeout(this.#cancelTimer)
      this.#cancelTimer = undefined
    }
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

  /** Reports an idle transaction that blocks this session. */
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

  /** Rolls back and resets the state of the session, so that it does not affect the next one. */
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
  const isCanceled =
    error instanceof StatementCanceledError ||
    (error instanceof PGliteStoppedError && error.reason === 'canceled')
  if (isCanceled) return toErrorResponseMessage('FATAL', '57014', 'canceling statement due to user request')
  if (!(error instanceof PGliteStoppedError)) return Buffer.alloc(0)
  return error.reason === 'timeout'
    ? toErrorResponseMessage('FATAL', '57014', 'canceling statement due to statement timeout')
    : toErrorResponseMessage('FATAL', '57P02', error.message)
}
