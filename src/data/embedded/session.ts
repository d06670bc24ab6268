import type { Socket } from 'node:net'
import type { Gate } from '../semaphore.js'
import { type Engine, EngineStopped } from './pglite-thread.js'
import {
  type Frame,
  FrameReader,
  readStatus,
  scopeStatement,
  toError,
  toMessage,
  toQuery,
  toWelcome,
} from './protocol.js'

/** Nobody gave the database free in time. */
class NoTurn extends Error {}

/** What all sessions of one database share. */
export interface Backend {
  readonly engine: Engine
  /** Who may use the one backend: for as long as a transaction lasts. */
  readonly turns: Gate
  /** What clients are told of the server when they connect. */
  readonly parameters: Readonly<Record<string, string>>
  /** How long a session waits for the others, in ms; 0: without end. */
  readonly waitMs: number
  /** Whose settings and temporary things the engine holds. */
  holder: Session | undefined
}

/**
 * All that a session can leave behind, except its prepared statements. It is what DISCARD ALL does
 * (PostgreSQL documentation, DISCARD).
 */
const FORGET = toQuery(
  'CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES',
)
const SYNC = toMessage('S')
const ROLLBACK = Buffer.concat([SYNC, toQuery('ROLLBACK')])
const toClose = (statement: string) => toMessage('C', `S${statement}`)

/** An open transaction stops everybody else: one that is forgotten is ended. In ms. */
const IDLE_IN_TRANSACTION_MS = 60_000

class Ended extends Error {}

type Batch = Extract<Frame, { kind: 'batch' }>

/**
 * One client of the embedded database. PGlite has one backend, so a session takes turns with the others: it
 * holds the backend from its first message until the answer says that no transaction is open. What one
 * session sets never reaches another.
 */
export class Session {
  static #count = 0

  readonly #backend: Backend
  readonly #socket: Socket
  readonly #name = `s${Session.#count++}:`
  readonly #statements = new Set<string>()
  #generation = 0
  #hasTurn = false
  #statementMs = 0
  #idleMs = IDLE_IN_TRANSACTION_MS
  #idleTimer: NodeJS.Timeout | undefined

  constructor(backend: Backend, socket: Socket) {
    this.#backend = backend
    this.#socket = socket
  }

  /** Serves the client until it leaves. Never rejects. */
  async serve(): Promise<void> {
    const reader = new FrameReader()
    try {
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false }))
        for (const frame of reader.read(chunk)) await this.#handle(frame)
    } catch (error) {
      this.#socket.end(toFarewell(error))
    } finally {
      clearTimeout(this.#idleTimer)
      this.#socket.destroySoon()
      await this.#leave().catch(() => undefined)
    }
  }

  async #handle(frame: Frame): Promise<void> {
    if (frame.kind === 'encryption') this.#socket.write('N')
    else if (frame.kind === 'startup') this.#welcome(frame.parameters)
    else if (frame.kind === 'batch') await this.#answer(frame)
    else throw new Ended()
  }

  #welcome(parameters: ReadonlyMap<string, string>): void {
    this.#statementMs = Number(parameters.get('statement_timeout') ?? 0)
    this.#idleMs = Number(parameters.get('idle_in_transaction_session_timeout') ?? IDLE_IN_TRANSACTION_MS)
    this.#socket.write(toWelcome(this.#backend.parameters))
  }

  async #answer({ messages, ending }: Batch): Promise<void> {
    clearTimeout(this.#idleTimer)
    await this.#takeTurn()
    const input = Buffer.concat(messages.map(message => this.#scope(message)))
    const output = await this.#backend.engine.run(input, this.#statementMs)
    if (ending !== 'H' && readStatus(output) === 'I') this.#giveTurn()
    else this.#idleTimer = setTimeout(() => this.#socket.destroy(), this.#idleMs)
    this.#socket.write(output)
  }

  #scope(original: Buffer): Buffer {
    const { message, declared } = scopeStatement(original, this.#name)
    if (declared) this.#statements.add(declared)
    return message
  }

  async #takeTurn(): Promise<void> {
    if (this.#hasTurn) return
    const { engine, turns, waitMs } = this.#backend
    if (!(await turns.enter(waitMs))) throw new NoTurn()
    this.#hasTurn = true
    await engine.start()
    if (this.#generation !== engine.generation && this.#statements.size > 0) throw new EngineStopped('crash')
    this.#generation = engine.generation
    if (this.#backend.holder !== this) await engine.run(FORGET, 0)
    this.#backend.holder = this
  }

  #giveTurn(): void {
    this.#hasTurn = false
    this.#backend.turns.leave()
  }

  /** Ends what the client left open, so that the next one finds nothing of it. */
  async #leave(): Promise<void> {
    if (!this.#hasTurn && this.#statements.size === 0) return
    if (!this.#hasTurn) await this.#backend.turns.enter()
    try {
      await this.#backend.engine.run(
        Buffer.concat([ROLLBACK, ...[...this.#statements].map(toClose), SYNC]),
        0,
      )
    } finally {
      this.#giveTurn()
    }
  }
}

function toFarewell(error: unknown): Buffer {
  if (error instanceof NoTurn)
    return toError('FATAL', '53300', 'the database is busy with another transaction')
  if (!(error instanceof EngineStopped)) return Buffer.alloc(0)
  return error.reason === 'timeout'
    ? toError('FATAL', '57014', 'canceling statement due to statement timeout')
    : toError('FATAL', '57P02', error.message)
}
