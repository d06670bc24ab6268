import { type Portion, type PortionRequest, takePortions } from '../../data/clients/quota-store.js'
import type { Database } from '../../data/database.js'
import { type ProblemError, withCause } from '../../errors/problem.js'
import { type Quota, STATEMENT_INTERVAL_MS } from './quota.js'

/** Dependencies of a portion source. */
export interface PortionSourceDependencies {
  readonly database: Pick<Database, 'queryControl'>
  readonly processId: string
  readonly clientId: string
  /** Returns the amount of a quota that waiting requests need. */
  readonly neededOf: (quota: Quota) => number
  /** Called after each statement, with its error if it failed. */
  readonly onTaken: (error?: ProblemError) => void
  readonly onProcessCount: (count: number) => void
}

/** Takes portions of the quotas of one client, with one statement for all quotas and at most one a second. */
export class PortionSource {
  readonly #dependencies: PortionSourceDependencies
  #quotas: readonly Quota[] = []
  #sentAt = Number.NEGATIVE_INFINITY
  #isRunning = false
  #timer: NodeJS.Timeout | undefined

  constructor(dependencies: PortionSourceDependencies) {
    this.#dependencies = dependencies
  }

  setQuotas(quotas: readonly Quota[]): void {
    this.#quotas = quotas
  }

  /** Returns true if a statement may be run now. */
  isFree(now: number): boolean {
    return !this.#isRunning && now - this.#sentAt >= STATEMENT_INTERVAL_MS
  }

  /** Takes portions now, or as soon as a statement is allowed. */
  scheduleTake(now: number): void {
    if (this.#isRunning || this.#timer) return
    const delay = this.#sentAt + STATEMENT_INTERVAL_MS - now
    if (delay <= 0) void this.#take()
    else
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        void this.#take()
      }, delay)
  }

  /**
   * Returns all portions of the process. Errors are ignored: portions that are not returned are lost until
   * the window ends.
   */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    for (const quota of this.#quotas) quota.returnUnused(0)
    const now = performance.now()
    const requests = this.#quotas.map(quota => ({ ...quota.createRequest(0, now), wanted: 0 }))
    if (requests.some(({ window, adjustment }) => window !== null && adjustment !== 0))
      await this.#send(requests).catch(() => undefined)
  }

  async #take(): Promise<void> {
    const now = performance.now()
    const quotas = this.#quotas
    if (quotas.length === 0) return
    this.#isRunning = true
    this.#sentAt = now
    const requests = quotas.map(quota => quota.createRequest(this.#dependencies.neededOf(quota), now))
    let failure: ProblemError | undefined
    try {
      const portions = await this.#send(requests)
      const receivedAt = performance.now()
      if (portions[0]) this.#dependencies.onProcessCount(portions[0].processes)
      for (const [i, quota] of quotas.entries()) applyTo(quota, portions[i], requests[i], receivedAt)
    } catch (error) {
      failure = withCause({ kind: 'Unavailable', reason: 'clients' }, error)
      for (const [i, quota] of quotas.entries()) if (requests[i]) quota.restore(requests[i])
    }
    this.#isRunning = false
    this.#dependencies.onTaken(failure)
  }

  #send(requests: readonly PortionRequest[]): Promise<readonly Portion[]> {
    const { database, processId, clientId } = this.#dependencies
    return takePortions(database, processId, clientId, requests)
  }
}

function applyTo(
  quota: Quota,
  portion: Portion | undefined,
  request: PortionRequest | undefined,
  now: number,
): void {
  if (!portion || !request) throw new Error('A statement has returned too few portions')
  quota.apply(portion, request, now)
}
