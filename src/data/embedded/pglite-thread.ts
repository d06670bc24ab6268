import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'

export interface PGliteThreadOptions {
  /** Folder of the database. Created if it does not exist. */
  readonly folder: string
  /** Server settings of every session. */
  readonly settings: Readonly<Record<string, string>>
}

export type PGliteThreadRequest =
  | { readonly kind: 'run'; readonly input: Uint8Array }
  | { readonly kind: 'close' }
export type PGliteThreadResponse =
  | { readonly kind: 'ready' }
  | { readonly kind: 'output'; readonly output: Uint8Array }

/** The reason for which the engine is stopped: a statement takes too long, or its client has canceled it. */
type StopReason = 'timeout' | 'canceled'

/**
 * The engine was stopped during a statement. The open transaction is lost. The next request restarts the
 * engine.
 */
export class PGliteStoppedError extends Error {
  constructor(
    readonly reason: StopReason | 'crash',
    cause?: unknown,
  ) {
    super(`The embedded database was stopped: ${reason}`, { cause })
  }
}

const WORKER_URL = new URL('./pglite-worker.mjs', import.meta.url)

/** The part of WebAssembly that the types of Node lack. */
const { WebAssembly: compiler } = globalThis as unknown as {
  readonly WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> }
}

/** Compiles the engine once for all threads. Compiling takes a quarter of a start. */
async function compileEngine(): Promise<WebAssembly.Module> {
  const packageFolder = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'))
  return compiler.compile(await readFile(join(packageFolder, 'pglite.wasm')))
}

interface PendingResponse {
  readonly resolve: (response: PGliteThreadResponse) => void
  readonly reject: (error: Error) => void
}

/**
 * PGlite in a worker thread that handles one request at a time. A statement that exceeds its limit or was
 * canceled is stopped by terminating the thread, and so is a thread that fails. PostgreSQL then recovers from
 * its log, as after a crash.
 */
export class PGliteThread {
  readonly #options: PGliteThreadOptions
  #engine: Promise<WebAssembly.Module> | undefined
  #worker: Worker | undefined
  #started: Promise<void> | undefined
  #pending: PendingResponse | undefined
  #generation = 0
  #stopReason: StopReason | undefined
  #isRunning = false
  #error: unknown
  #isClosed = false

  constructor(options: PGliteThreadOptions) {
    this.#options = options
  }

  /** Number of starts. Prepared statements of an earlier thread no longer exist. */
  get generation(): number {
    return this.#generation
  }

  /**
   * Starts the thread unless it is running. Rejects with the error of PGlite if the folder cannot be opened.
   */
  start(): Promise<void> {
    this.#started ??= this.#launch().catch(error => {
      this.#started = undefined
      throw error
    })
    return this.#started
  }

  /**
   * Sends messages of the frontend/backend protocol and returns the response. A `timeoutMs` of 0 means no
   * limit. Rejects with PGliteStoppedError.
   */
  async run(input: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    await this.start()
    const timer = timeoutMs > 0 ? setTimeout(() => this.#stop('timeout'), timeoutMs) : undefined
    this.#isRunning = true
    try {
      return await this.#send({ kind: 'run', input })
    } finally {
      this.#isRunning = false
      clearTimeout(timer)
    }
  }

  /** Stops the engine if a statement is running. It restarts immediately. */
  cancel(): void {
    if (this.#isRunning) this.#stop('canceled')
  }

  /** Stops the thread after a checkpoint. */
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

  #stop(reason: StopReason): void {
    this.#stopReason ??= reason
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

  /**
   * Two threads must never have the folder open at the same time, so the next thread starts only after this
   * event.
   */
  #handleExit(): void {
    const reason = this.#stopReason
    const stopped = new PGliteStoppedError(reason ?? 'crash', this.#error)
    this.#worker = undefined
    this.#started = undefined
    this.#stopReason = undefined
    this.#error = undefined
    this.#settlePending(pending => pending.reject(stopped))
    // Restarts immediately, because other sessions wait. An error of this start is reported to the next request.
    if (reason && !this.#isClosed) this.start().catch(() => undefined)
  }
}
