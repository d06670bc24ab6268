/**
 * What one side rings and the other waits for. Ringing while nobody waits is not forgotten, and ringing twice
 * is once.
 */
export class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** Until it has rung since the last waiting, for so many ms at most, or until the signal. */
  async wait(signal: AbortSignal, ms?: number): Promise<void> {
    if (!this.#isRung && !signal.aborted) {
      let timer: NodeJS.Timeout | undefined
      const wakened = new Promise<void>(resolve => {
        this.#wake = resolve
        if (ms !== undefined) timer = setTimeout(resolve, ms)
      })
      const wake = () => this.#wake?.()
      signal.addEventListener('abort', wake)
      await wakened
      signal.removeEventListener('abort', wake)
      clearTimeout(timer)
      this.#wake = undefined
    }
    this.#isRung = false
  }
}
