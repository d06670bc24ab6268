/** Nobody gave the database free in time. */
export class NoTurn extends Error {}

interface Waiting {
  readonly grant: () => void
  readonly timer: NodeJS.Timeout | undefined
}

/** Who may use the one backend: in the order of asking, for as long as a transaction lasts. */
export class Turns {
  readonly #waiting: Waiting[] = []
  #taken = false

  /** Waits for a turn; `give` it back. After `waitMs` (0: never) it rejects with NoTurn. */
  async take(waitMs: number): Promise<void> {
    if (!this.#taken) {
      this.#taken = true
      return
    }
    await new Promise<void>((grant, reject) => {
      const timer = waitMs > 0 ? setTimeout(() => this.#leave(waiting, reject), waitMs) : undefined
      const waiting = { grant, timer }
      this.#waiting.push(waiting)
    })
  }

  give(): void {
    const next = this.#waiting.shift()
    this.#taken = next !== undefined
    clearTimeout(next?.timer)
    next?.grant()
  }

  #leave(waiting: Waiting, reject: (error: Error) => void): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
    reject(new NoTurn())
  }
}
