import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'

export interface PGliteThreadOptions {
  /** The folder of the database; it is made when it is not there. */
  readonly folder: string
  /** Server settings, for every session. */
  readonly settings: Readonly<Record<string, string>>
}

export type PGliteThreadRequest =
  | { readonly kind: 'run'; readonly input: Uint8Array }
  | { readonly kind: 'close' }
export type PGliteThreadResponse =
  | { readonly kind: 'ready' }
  | { readonly kind: 'output'; readonly output: Uint8Array }

/**
 * The engine was stopped while it worked: nothing of the open transaction is kept. The next order starts it
 * again.
 */
export class PGliteStoppedError extends Error {
  constructor(
    readonly reason: 'timeout' | 'crash',
    cause?: unknown,
  ) {
    super(`The embedded database was stopped: ${reason}`, { cause })
  }
}

const WORKER_URL = new URL('./pglite-worker.mjs', import.meta.url)

/** The part of WebAssembly that the types of Node leave out. */
const { WebAssembly: compiler } = globalThis as unknown as {
  readonly WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> }
}

/** Compiles the engine, once for all threads: a quarter of what a start costs. */
async function compileEngine(): Promise<WebAssembly.Module> {
  const packageFolder = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'))
  return compiler.compile(await readFile(join(packageFolder, 'pglite.wasm')))
}

interface PendingResponse {
  readonly resolve: (response: PGliteThreadResponse) => void
  readonly reject: (error: Error) => void
}

/**
 * PGlite in a thread of its own, one order at a time. A statement that runs too long is ended with its
 * thread, and so is a thread that fails; PostgreSQL then recovers from its log at once, as it does after a
 * crash.
 */
export class PGliteThread {
  readonly #options: PGliteThreadOptions
  #engine: Promise<WebAssembly.Module> | undefined
  #worker: Worker | undefined
  #started: Promise<void> | undefined
  #pending: PendingResponse | undefined
  #generation = 0
  #isTimedOut = false
  #error: unknown
  #isClosed = false

  constructor(options: PGliteThreadOptions) {
    this.#options = options
  }

  /** Grows with each start: what sessions left in an earlier thread (prepared statements) is gone. */
  get generation(): number {
    return this.#generation
  }

  /** Starts the thread unless it runs. Rejects with what PGlite says when the folder cannot be opened. */
  start(): Promise<void> {
    this.#started ??= this.#launch().catch(error => {
      this.#started = undefined
      throw error
    })
    return this.#started
  }

  /**
   * Sends messages of the frontend/backend protocol and returns the answer. `timeoutMs` 0: no limit. Rejects
   * with PGliteStoppedError.
   */
  async run(input: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    await this.start()
    const timer = timeoutMs > 0 ? setTimeout(() => this.#interrupt(), timeoutMs) : undefined
    try {
      return await this.#send({ kind: 'run', input })
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the thread with a checkpoint. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#started?.catch(() => undefined)
    const worker = this.#worker
    if (!worker) return
    const exited = new Promise(resolve => worker.once('exit', resolve))
    worker.postMessage({ kind: 'close' } satisfies PGliteThreadRequest)
    await exited
  }

  async #launch(): Promise<void> {
    this.#engine ??= compileEngine()
    const pgliteWasmModule = await this.#engine
    if (this.#isClosed) throw new PGliteStoppedError('crash')
    const worker = new Worker(WORKER_URL, {
      workerData: { ...this.#options, pgliteWasmModule },
      execArgv: [],
    })
    this.#worker = worker
    this.#generation += 1
    worker.on('message', (response: PGliteThreadResponse) =>
      this.#settlePending(pending => pending.resolve(response)),
    )
    worker.on('error', error => {
      this.#error = error
    })
    worker.on('exit', () => this.#handleExit())
    await this.#nextResponse()
  }

  async #send(request: PGliteThreadRequest): Promise<Uint8Array> {
    this.#worker?.postMessage(request)
    const response = await this.#nextResponse()
    if (response.kind !== 'output') throw new Error('The engine answered out of turn')
    return response.output
  }

  #interrupt(): void {
    this.#isTimedOut = true
    void this.#worker?.terminate()
  }

  #nextResponse(): Promise<PGliteThreadResponse> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
    })
  }

  #settlePending(settle: (pending: PendingResponse) => void): void {
    const pending = this.#pending
    this.#pending = undefined
    if (pending) settle(pending)
  }

  /** The next thread starts only when this one is gone: two of them must never have the folder open. */
  #handleExit(): void {
    const stopped = new PGliteStoppedError(this.#isTimedOut ? 'timeout' : 'crash', this.#error)
    const wasTimedOut = this.#isTimedOut
    this.#worker = undefined
    this.#started = undefined
    this.#isTimedOut = false
    this.#error = undefined
    this.#settlePending(pending => pending.reject(stopped))
    // Others wait: the next statement should find the engine running. What is wrong is told to that one.
    if (wasTimedOut && !this.#isClosed) this.start().catch(() => undefined)
  }
}
