import { Worker } from 'node:worker_threads'

export interface EngineSetup {
  /** The folder of the database; it is made when it is not there. */
  readonly folder: string
  /** Server settings, for every session. */
  readonly settings: Readonly<Record<string, string>>
}

export type EngineOrder = { readonly kind: 'run'; readonly input: Uint8Array } | { readonly kind: 'close' }
export type EngineAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'output'; readonly output: Uint8Array }

/**
 * The engine was stopped while it worked: nothing of the open transaction is kept. The next order starts it
 * again.
 */
export class EngineStopped extends Error {
  constructor(
    readonly reason: 'timeout' | 'crash',
    cause?: unknown,
  ) {
    super(`The embedded database was stopped: ${reason}`, { cause })
  }
}

const WORKER = new URL('./pglite-worker.mjs', import.meta.url)

interface Pending {
  readonly resolve: (answer: EngineAnswer) => void
  readonly reject: (error: Error) => void
}

/**
 * PGlite in a thread of its own, one order at a time. A statement that runs too long is ended with its
 * thread, and so is a thread that fails; PostgreSQL recovers from its log at the next order, as it does after
 * a crash.
 */
export class Engine {
  readonly #setup: EngineSetup
  #worker: Worker | undefined
  #pending: Pending | undefined
  #generation = 0
  #late = false
  #fault: unknown
  #closed = false

  constructor(setup: EngineSetup) {
    this.#setup = setup
  }

  /** Grows with each start: what sessions left in an earlier thread (prepared statements) is gone. */
  get generation(): number {
    return this.#generation
  }

  /** Starts the thread unless it runs. Rejects with what PGlite says when the folder cannot be opened. */
  async start(): Promise<void> {
    if (this.#worker) return
    if (this.#closed) throw new EngineStopped('crash')
    const worker = new Worker(WORKER, { workerData: this.#setup, execArgv: [] })
    this.#worker = worker
    this.#generation += 1
    worker.on('message', (answer: EngineAnswer) => this.#settle(pending => pending.resolve(answer)))
    worker.on('error', error => {
      this.#fault = error
    })
    worker.on('exit', () => this.#ended())
    await this.#answer()
  }

  /**
   * Sends messages of the frontend/backend protocol and returns the answer. `timeoutMs` 0: no limit. Rejects
   * with EngineStopped.
   */
  async run(input: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    await this.start()
    const timer = timeoutMs > 0 ? setTimeout(() => this.#interrupt(), timeoutMs) : undefined
    try {
      return await this.#order({ kind: 'run', input })
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the thread with a checkpoint. */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    if (!worker) return
    const gone = new Promise(resolve => worker.once('exit', resolve))
    worker.postMessage({ kind: 'close' } satisfies EngineOrder)
    await gone
  }

  async #order(order: EngineOrder): Promise<Uint8Array> {
    await this.start()
    this.#worker?.postMessage(order)
    const answer = await this.#answer()
    if (answer.kind !== 'output') throw new Error('The engine answered out of turn')
    return answer.output
  }

  #interrupt(): void {
    this.#late = true
    void this.#worker?.terminate()
  }

  #answer(): Promise<EngineAnswer> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
    })
  }

  #settle(act: (pending: Pending) => void): void {
    const pending = this.#pending
    this.#pending = undefined
    if (pending) act(pending)
  }

  /** The next thread starts only when this one is gone: two of them must never have the folder open. */
  #ended(): void {
    const stopped = new EngineStopped(this.#late ? 'timeout' : 'crash', this.#fault)
    this.#worker = undefined
    this.#late = false
    this.#fault = undefined
    this.#settle(pending => pending.reject(stopped))
  }
}
