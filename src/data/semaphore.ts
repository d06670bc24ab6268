/** Lets so many in at a time, the others in the order in which they came. */
export class Gate {
  readonly #most: number
  readonly #waiting = new Set<() => void>()
  #inside = 0

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Whether there was a place, after `waitMs` at the latest (0: whenever it is). Who came in leaves again.
   */
  enter(waitMs = 0): boolean | Promise<boolean> {
    if (this.#inside >= this.#most) return this.#wait(waitMs)
    this.#inside += 1
    return true
  }

  /** The place is handed on, not given back: whoever comes now stands behind those that wait. */
  leave(): void {
    const [next] = this.#waiting
    if (next) next()
    else this.#inside -= 1
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.enter()
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  #wait(waitMs: number): Promise<boolean> {
    return new Promise(resolve => {
      const end = (isIn: boolean) => {
        clearTimeout(timer)
        this.#waiting.delete(enter)
        resolve(isIn)
      }
      const enter = () => end(true)
      const timer = waitMs > 0 ? setTimeout(() => end(false), waitMs) : undefined
      this.#waiting.add(enter)
    })
  }
}
