/** Lets so many in at a time, the others in the order in which they came. */
export class Semaphore {
  readonly #permits: number
  readonly #waiters = new Set<() => void>()
  #acquired = 0

  constructor(permits: number) {
    this.#permits = permits
  }

  /**
   * Whether there was a place, after `waitMs` at the latest (0: whenever it is). Who came in leaves again.
   */
  acquire(timeoutMs = 0): boolean | Promise<boolean> {
    if (this.#acquired >= this.#permits) return this.#waitForPermit(timeoutMs)
    this.#acquired += 1
    return true
  }

  /** The place is handed on, not given back: whoever comes now stands behind those that wait. */
  release(): void {
    const [next] = this.#waiters
    if (next) next()
    else this.#acquired -= 1
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.acquire()
    try {
      return await work()
    } finally {
      this.release()
    }
  }

  #waitForPermit(timeoutMs: number): Promise<boolean> {
    return new Promise(resolve => {
      const settle = (isAcquired: boolean) => {
        clearTimeout(timer)
        this.#waiters.delete(grant)
        resolve(isAcquired)
      }
      const grant = () => settle(true)
      const timer = timeoutMs > 0 ? setTimeout(() => settle(false), timeoutMs) : undefined
      this.#waiters.add(grant)
    })
  }
}
