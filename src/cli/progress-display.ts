import { startProgressBar } from './progress.js'

/** Progress of the steps of a replication, each with a bar of its own. */
export class ProgressDisplay {
  #step = ''
  #bar: ReturnType<typeof startProgressBar> | undefined

  /** Shows the progress of a step, if its total is known. */
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

  /** Ends the current bar before `print` writes other output. */
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
