/**
 * A notification flag that one consumer waits for. A notification without a waiting consumer is remembered.
 * Several notifications count as one.
 */
export class AutoResetEvent {
  #isNotified = false
  #resume: (() => void) | undefined

  notify(): void {
    this.#isNotified = true
    this.#resume?.()
  }

  /** Resolves when notified (also since the previous wait), after `timeoutMs`, or when the signal aborts. */
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
