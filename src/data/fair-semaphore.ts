import type { AbortListener, RequestScope } from '../domain/request-scope.js'

/** The result of waiting for a permit. */
export type AcquireOutcome = 'acquired' | 'timeout' | 'aborted'

interface ClientState {
  readonly id: string
  /** Permits that the client holds. */
  acquired: number
  /** Waiting requests of the client, in order of arrival. */
  readonly waiters: Set<Waiter>
}

/**
 * A waiting request. It is an object without closures, because closures cost more than the rest of a wait.
 */
class Waiter implements AbortListener {
  #timer: NodeJS.Timeout | undefined
  #resolve: ((outcome: AcquireOutcome) => void) | undefined

  constructor(
    readonly client: ClientState,
    private readonly scope: RequestScope,
    private readonly leave: (waiter: Waiter, outcome: AcquireOutcome) => void,
  ) {}

  start(timeoutMs: number | undefined): Promise<AcquireOutcome> {
    if (timeoutMs !== undefined) this.#timer = setTimeout(this.leave, timeoutMs, this, 'timeout')
    this.scope.startWait()
    this.scope.add(this)
    return new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  abort(): void {
    this.leave(this, 'aborted')
  }

  settle(outcome: AcquireOutcome): void {
    clearTimeout(this.#timer)
    this.scope.delete(this)
    this.scope.endWait()
    this.#resolve?.(outcome)
  }
}

export interface FairSemaphoreOptions {
  readonly permits: number
  /** Number of permits reserved for clients that hold none. */
  readonly reserved: number
}

/**
 * A counting semaphore that is fair between clients. A client may hold all permits that no other client waits
 * for, except the reserved ones. Waiting clients are served round robin.
 */
export class FairSemaphore {
  readonly #reserved: number
  /** Clients that hold or wait for permits. */
  readonly #clients = new Map<string, ClientState>()
  /** Clients that wait, in the order in which they are served. */
  readonly #queue = new Set<ClientState>()
  readonly #leave = (waiter: Waiter, outcome: AcquireOutcome): void => {
    this.#remove(waiter)
    waiter.settle(outcome)
    this.#forgetIfIdle(waiter.client)
  }
  #permits: number
  #free: number
  #waitingCount = 0

  constructor({ permits, reserved }: FairSemaphoreOptions) {
    this.#permits = permits
    this.#free = permits
    this.#reserved = reserved
  }

  /** The number of waiting requests. */
  get waitingCount(): number {
    return this.#waitingCount
  }

  /** Returns true if the client would get a permit without waiting. */
  isAvailable(clientId: string): boolean {
    return this.#free > (this.#clients.get(clientId)?.acquired ? this.#reserved : 0)
  }

  /** Acquires a permit if one is available to the client now. */
  tryAcquire(clientId: string): boolean {
    if (!this.isAvailable(clientId)) return false
    this.#free -= 1
    this.#clientOf(clientId).acquired += 1
    return true
  }

  /** Changes the number of permits. Permits that are held beyond it are not replaced when they are released. */
  resize(permits: number): void {
    this.#free += permits - this.#permits
    this.#permits = permits
    this.#serveQueue()
  }

  /** Waits for a permit until the request is aborted, and for at most `timeoutMs` if it is set. */
  acquire(scope: RequestScope, timeoutMs?: number): Promise<AcquireOutcome> {
    if (scope.isAborted) return Promise.resolve('aborted')
    const client = this.#clientOf(scope.clientId)
    const waiter = new Waiter(client, scope, this.#leave)
    this.#waitingCount += 1
    client.waiters.add(waiter)
    this.#queue.add(client)
    return waiter.start(timeoutMs)
  }

  release(clientId: string): void {
    const client = this.#clientOf(clientId)
    client.acquired -= 1
    this.#free += 1
    if (this.#waitingCount > 0) this.#serveQueue()
    this.#forgetIfIdle(client)
  }

  #serveQueue(): void {
    while (this.#free > 0) {
      const next = this.#nextClient()
      const [waiter] = next?.waiters ?? []
      if (!next || !waiter) return
      this.#free -= 1
      next.acquired += 1
      this.#remove(waiter)
      // A client with more waiting requests moves to the end of the queue.
      if (this.#queue.delete(next)) this.#queue.add(next)
      waiter.settle('acquired')
    }
  }

  /** Returns the first client in the queue that may take a free permit. */
  #nextClient(): ClientState | undefined {
    for (const client of this.#queue) if (client.acquired === 0 || this.#free > this.#reserved) return client
    return undefined
  }

  #remove(waiter: Waiter): void {
    const { client } = waiter
    this.#waitingCount -= 1
    client.waiters.delete(waiter)
    if (client.waiters.size === 0) this.#queue.delete(client)
  }

  #clientOf(id: string): ClientState {
    const known = this.#clients.get(id)
    if (known) return known
    const client: ClientState = { id, acquired: 0, waiters: new Set() }
    this.#clients.set(id, client)
    return client
  }

  #forgetIfIdle(client: ClientState): void {
    if (client.acquired === 0 && client.waiters.size === 0) this.#clients.delete(client.id)
  }
}
