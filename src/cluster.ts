import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'

/**
 * A worker that ends by itself is replaced after this time: one that cannot run at all must not be started
 * without a pause.
 */
const PAUSE_MS = 1000

/**
 * Runs the program in so many processes that share its port, and keeps them running until a signal tells them
 * to stop. The first one is started alone, since it prepares the database; if it cannot start, nothing does.
 */
export async function runWorkers(count: number, logger: Logger): Promise<void> {
  const crew = new Crew(logger)
  process.once('SIGTERM', signal => crew.stop(signal))
  process.once('SIGINT', signal => crew.stop(signal))
  const exitCode = await crew.first()
  if (exitCode !== undefined) process.exit(exitCode)
  for (let started = 1; started < count; started++) crew.add()
}

/** The processes that serve, as the one that started them sees them. */
class Crew {
  readonly #logger: Logger
  #isStopping = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Starts the first worker; gives its exit code if it ends before it serves. */
  first(): Promise<number | undefined> {
    const worker = cluster.fork()
    return new Promise(resolve => {
      // Without a code it was ended by a signal: that is no success, unless it was ours.
      worker.once('exit', (code: number | null) => resolve(code ?? (this.#isStopping ? 0 : 1)))
      worker.once('listening', () => {
        worker.removeAllListeners('exit')
        this.#keep(worker)
        resolve(undefined)
      })
    })
  }

  /** Starts one more worker, but none that nobody would stop. */
  add(): void {
    if (!this.#isStopping) this.#keep(cluster.fork())
  }

  stop(signal: NodeJS.Signals): void {
    this.#isStopping = true
    for (const worker of this.#workers) worker.process.kill(signal)
    this.#endWithLast()
  }

  get #workers(): readonly Worker[] {
    return Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
  }

  #keep(worker: Worker): void {
    worker.once('exit', (code, signal) => {
      if (this.#isStopping) return this.#endWithLast()
      this.#logger.error({ worker: worker.process.pid, code, signal }, 'worker ended')
      setTimeout(() => this.add(), PAUSE_MS)
    })
  }

  #endWithLast(): void {
    if (this.#workers.every(worker => worker.isDead())) process.exit(0)
  }
}
