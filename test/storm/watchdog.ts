import { setTimeout as wait } from 'node:timers/promises'

/** Time in which at least one part must end after the storm is over, in ms. */
const STALL_MS = 180_000
const INTERVAL_MS = 1000

/** Names what a part does, such as `closes the database`. */
export type NoteStep = (step: string) => void

/** The parts of a run that have not ended. A run that hangs fails and names them. */
export class Watchdog {
  readonly #steps = new Map<string, { step: string; since: number }>()
  #lastProgress = performance.now()

  /** Runs a part. Its name is unique among those that run. */
  async run<T>(name: string, work: (note: NoteStep) => Promise<T>): Promise<T> {
    const note = (step: string): void => {
      this.#steps.set(name, { step, since: performance.now() })
    }
    note('runs')
    this.#lastProgress = performance.now()
    try {
      return await work(note)
    } finally {
      this.#steps.delete(name)
      this.#lastProgress = performance.now()
    }
  }

  /** Rejects when no part has begun or ended for `STALL_MS` after the storm. Otherwise never settles. */
  async watch(isOver: () => boolean, stallMs = STALL_MS): Promise<never> {
    let overAt: number | undefined
    for (;;) {
      await wait(Math.min(INTERVAL_MS, stallMs), undefined, { ref: false })
      overAt ??= isOver() ? performance.now() : undefined
      if (overAt === undefined || performance.now() - Math.max(overAt, this.#lastProgress) < stallMs) continue
      throw new Error(
        `nothing has ended for ${Math.round(stallMs / 1000)} s. These parts have not: ${this.#describe()}`,
      )
    }
  }

  #describe(): string {
    const parts = [...this.#steps].map(
      ([name, { step, since }]) =>
        `${name} (${step}, for ${Math.round((performance.now() - since) / 1000)} s)`,
    )
    return `${parts.join('; ') || 'none is known'}. Resources: ${process.getActiveResourcesInfo().join(', ')}`
  }
}
