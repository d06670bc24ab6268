/** Lets so many works run at a time, the others in the order in which they came. */
export class Gate {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(most: number) {
    this.#most = most
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) await new Promise<void>(enter => this.#waiting.push(enter))
    else this.#running += 1
    try {
      return await work()
    } finally {
      // The place is handed on, not given back: whoever comes now stands behind those that wait.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}
