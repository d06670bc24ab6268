/** A counting semaphore that serves waiters in order of arrival. */
export class Semaphore {
  readonly #permits: number
  readonly #waiters = new Set<() => void>()
  #acquired = 0

  constructor(permits: number) {
    this.#permits = permits
  }

  /**
   * Acquires a permit. Returns false if there was none within `timeoutMs` (0: no limit). The caller must
   * release an acquired permit.
   */
  acquire(timeoutMs = 0): boolean | Promise<boolean> {
    if (this.#acquired >= this.#permits) return this.#waitForPermit(timeoutMs)
    this.#acquired += 1
    return true
  }

  /** Passes the permit to the first waiter, so that a new caller cannot overtake the waiters. */
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
