import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'
import { onStopSignal } from './process/stop.js'

/**
 * Delay before a crashed worker is replaced, so that a worker that cannot start is not restarted in a loop.
 */
const RESTART_DELAY_MS = 1000

/**
 * Runs `count` processes that share one port, and restarts them until a signal stops them. The first one
 * starts alone, since it prepares the database. If it cannot start, the command fails.
 */
export async function runWorkers(count: number, logger: Logger): Promise<void> {
  const workerPool = new WorkerPool(logger)
  onStopSignal(() => workerPool.stop())
  const exitCode = await workerPool.startFirst()
  if (exitCode !== undefined) process.exit(exitCode)
  for (let workerCount = 1; workerCount < count; workerCount++) workerPool.startWorker()
}

/** The worker processes, as their supervisor sees them. */
class WorkerPool {
  readonly #logger: Logger
  #isStopping = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Starts the first worker. Resolves with its exit code if it ends before it listens. */
  startFirst(): Promise<number | undefined> {
    const worker = cluster.fork()
    return new Promise(resolve => {
      // A process without an exit code was ended by a signal. That counts as success only during shutdown.
      worker.once('exit', (code: number | null) => resolve(code ?? (this.#isStopping ? 0 : 1)))
      worker.once('listening', () => {
        worker.removeAllListeners('exit')
        this.#restartOnExit(worker)
        resolve(undefined)
      })
    })
  }

  /** Starts another worker, except during shutdown. */
  startWorker(): void {
    if (!this.#isStopping) this.#restartOnExit(cluster.fork())
  }

  /**
   * Stops the workers with SIGTERM. A terminal has already sent them SIGINT, and a second SIGINT would end
   * them immediately.
   */
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
