import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'
import { onStopSignal } from './process/stop.js'

/**
 * A worker that ends by itself is replaced after this time: one that cannot run at all must not be started
 * without a pause.
 */
const RESTART_DELAY_MS = 1000

/**
 * Runs the program in so many processes that share its port, and keeps them running until a signal tells them
 * to stop. The first one is started alone, since it prepares the database; if it cannot start, nothing does.
 */
export async function runWorkers(count: number, logger: Logger): Promise<void> {
  const workerPool = new WorkerPool(logger)
  onStopSignal(() => workerPool.stop())
  const exitCode = await workerPool.startFirst()
  if (exitCode !== undefined) process.exit(exitCode)
  for (let workerCount = 1; workerCount < count; workerCount++) workerPool.startWorker()
}

/** The processes that serve, as the one that started them sees them. */
class WorkerPool {
  readonly #logger: Logger
  #isStopping = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Starts the first worker; gives its exit code if it ends before it serves. */
  startFirst(): Promise<number | undefined> {
    const worker = cluster.fork()
    return new Promise(resolve => {
      // Without a code it was ended by a signal: that is no success, unless it was ours.
      worker.once('exit', (code: number | null) => resolve(code ?? (this.#isStopping ? 0 : 1)))
      worker.once('listening', () => {
        worker.removeAllListeners('exit')
        this.#restartOnExit(worker)
        resolve(undefined)
      })
    })
  }

  /** Starts one more worker, but none that nobody would stop. */
  startWorker(): void {
    if (!this.#isStopping) this.#restartOnExit(cluster.fork())
  }

  /** SIGTERM, since a terminal sends SIGINT to the workers as well: a second SIGINT would end them at once. */
  stop(): void {
    this.#isStopping = true
    for (const worker of this.#workers) worker.process.kill('SIGTERM')
    this.#exitAfterLastWorker()
  }

  get #workers(): readonly Worker[] {
    return Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
  }

  #restartOnExit(worker: Worker): void {
    worker.once('exit', (code, signal) => {
      if (this.#isStopping) return this.#exitAfterLastWorker()
      this.#logger.error({ worker: worker.process.pid, code, signal }, 'worker ended')
      setTimeout(() => this.startWorker(), RESTART_DELAY_MS)
    })
  }

  #exitAfterLastWorker(): void {
    if (this.#workers.every(worker => worker.isDead())) process.exit(0)
  }
}
