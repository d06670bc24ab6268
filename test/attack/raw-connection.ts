import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** A connection whose bytes the attacker writes without a client library. */
export class RawConnection {
  readonly #socket: Socket
  #received = ''

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true)
    this.#socket.on('error', () => undefined)
    this.#socket.setEncoding('latin1').on('data', (text: string) => {
      this.#received += text
    })
  }

  /** Status codes of all responses so far. */
  get statuses(): readonly string[] {
    return [...this.#received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status)
  }

  /** Writes as fast as the service reads. Returns false if it has stopped reading or closed the connection. */
  async write(data: string | Buffer, maxWaitMs: number): Promise<boolean> {
    if (this.#socket.destroyed) return false
    if (this.#socket.write(data)) return true
    return await new Promise(resolve => {
      const settle = (isDrained: boolean) => {
        clearTimeout(timer)
        this.#socket.off('drain', onDrain).off('close', onClose)
        resolve(isDrained)
      }
      const onDrain = () => settle(true)
      const onClose = () => settle(false)
      const timer = setTimeout(() => settle(false), maxWaitMs)
      this.#socket.on('drain', onDrain).on('close', onClose)
    })
  }

  /** Waits until a condition holds, the connection closes or the time is over. */
  async waitUntil(holds: (received: string) => boolean, maxWaitMs: number): Promise<boolean> {
    for (const end = performance.now() + maxWaitMs; performance.now() < end; await wait(20)) {
      if (holds(this.#received)) return true
      if (this.#socket.destroyed) break
    }
    return holds(this.#received)
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
