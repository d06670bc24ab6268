import { startProgressBar } from './progress.js'

/** Progress of the steps of a replication, each with a bar of its own. */
export class ProgressDisplay {
  #step = ''
  #bar: ReturnType<typeof startProgressBar> | undefined

  /** Shows a step with a known end. */
  update(step: string, count: number, total: number | undefined): void {
    if (total === undefined) return
    if (step !== this.#step) {
      this.stop()
      this.#step = step
      this.#bar = startProgressBar({ step, total, unit: 'records' })
    }
    this.#bar?.update(count)
    if (count >= total) this.stop()
  }

  /** Prints a line that is not progress. */
  interrupt(print: () => void): void {
    this.stop()
    print()
  }

  stop(): void {
    this.#bar?.stop()
    this.#bar = undefined
    this.#step = ''
  }
}
