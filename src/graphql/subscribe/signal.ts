/**
 * What one side rings and the other waits for. Ringing while nobody waits is not forgotten, and ringing twice
 * is once.
 */
export class Signal {
  #isNotified = false
  #resume: (() => void) | undefined

  notify(): void {
    this.#isNotified = true
    this.#resume?.()
  }

  /** Until it has rung since the last waiting, for so many ms at most, or until the signal. */
  async wait(abortSignal: AbortSignal, timeoutMs?: number): Promise<void> {
    if (!this.#isNotified && !abortSignal.aborted) {
      let timer: NodeJS.Timeout | undefined
      const resumed = new Promise<void>(resolve => {
        this.#resume = resolve
        if (timeoutMs !== undefined) timer = setTimeout(resolve, timeoutMs)
      })
      const resume = () => this.#resume?.()
      abortSignal.addEventListener('abort', resume)
      await resumed
      abortSignal.removeEventListener('abort', resume)
      clearTimeout(timer)
      this.#resume = undefined
    }
    this.#isNotified = false
  }
}
