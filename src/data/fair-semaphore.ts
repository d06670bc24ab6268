import type { AbortListener, RequestScope } from '../domain/request-scope.js'

/** The result of waiting for a permit. */
export type AcquireOutcome = 'acquired' | 'timeout' | 'aborted'

/** The use of a permit. A write may wait for locks while it holds its permit. */
export type PermitUse = 'read' | 'write'

/** The permits of a client for one use. */
interface ClientState {
  readonly id: string
  readonly use: PermitUse
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
  /** Maximum number of permits that writes hold. Defaults to `permits`. */
  readonly maxWrites?: number
}

/**
 * A counting semaphore that is fair between clients. A client may hold all permits that no other client waits
 * for, except the reserved ones. Waiting clients are served round robin. The reads and the writes of a client
 * count as two clients, so that it can read while its writes wait for a lock.
 */
export class FairSemaphore {
  readonly #reserved: number
  readonly #maxWrites: number
  /** Clients that hold or wait for permits. */
  readonly #clients: Readonly<Record<PermitUse, Map<string, ClientState>>> = {
    read: new Map(),
    write: new Map(),
  }
  /** Clients that wait, in the order in which they are served. */
  readonly #queue = new Set<ClientState>()
  readonly #leave = (waiter: Waiter, outcome: AcquireOutcome): void => {
    this.#remove(waiter)
    waiter.settle(outcome)
    this.#forgetIfIdle(waiter.client)
  }
  readonly #waiting: Record<PermitUse, number> = { read: 0, write: 0 }
  #permits: number
  #free: number
  #writes = 0

  constructor({ permits, reserved, maxWrites = permits }: FairSemaphoreOptions) {
    this.#permits = permits
    this.#free = permits
    this.#reserved = reserved
    this.#maxWrites = maxWrites
  }

  /** The number of waiting requests. */
  get waitingCount(): number {
    return this.#waiting.read + this.#waiting.write
  }

  /** The number of waiting reads. */
  get waitingReadCount(): number {
    return this.#waiting.read
  }

  /** Returns true if the client would get a permit without waiting. */
  isAvailable(clientId: string, use: PermitUse = 'read'): boolean {
    return this.#mayAcquire(use, this.#clients[use].get(clientId)?.acquired)
  }

  /** Acquires a permit if one is available to the client now. */
  tryAcquire(clientId: string, use: PermitUse = 'read'): boolean {
    if (!this.isAvailable(clientId, use)) return false
    this.#give(this.#clientOf(clientId, use))
    return true
  }

  /** Changes the number of permits. Permits that are held beyond it are not replaced when they are released. */
  resize(permits: number): void {
    this.#free += permits - this.#permits
    this.#permits = permits
    this.#serveQueue()
  }

  /** Waits for a permit until the request is aborted, and for at most `timeoutMs` if it is set. */
  acquire(scope: RequestScope, timeoutMs?: number, use: PermitUse = 'read'): Promise<AcquireOutcome> {
    if (scope.isAborted) return Promise.resolve('aborted')
    const client = this.#clientOf(scope.clientId, use)
    const waiter = new Waiter(client, scope, this.#leave)
    this.#waiting[use] += 1
    client.waiters.add(waiter)
    this.#queue.add(client)
    return waiter.start(timeoutMs)
  }

  release(clientId: string, use: PermitUse = 'read'): void {
    const client = this.#clientOf(clientId, use)
    client.acquired -= 1
    this.#free += 1
    if (use === 'write') this.#writes -= 1
    if (this.waitingCount > 0) this.#serveQueue()
    this.#forgetIfIdle(client)
  }

  #serveQueue(): void {
    while (this.#free > 0) {
      const next = this.#nextClient()
      const [waiter] = next?.waiters ?? []
      if (!next || !waiter) return
      this.#give(next)
      this.#remove(waiter)
      // A client with more waiting requests moves to the end of the queue.
      if (this.#queue.delete(next)) this.#queue.add(next)
      waiter.settle('acquired')
    }
  }

  /** Returns the first client in the queue that may take a free permit. */
  #nextClient(): ClientState | undefined {
    for (const client of this.#queue) if (this.#mayAcquire(client.use, client.acquired)) return client
    return undefined
  }

  #mayAcquire(use: PermitUse, acquired = 0): boolean {
    if (use === 'write' && this.#writes >= this.#maxWrites) return false
    return this.#free > (acquired > 0 ? this.#reserved : 0)
  }

  #give(client: ClientState): void {
    this.#free -= 1
    client.acquired += 1
    if (client.use === 'write') this.#writes += 1
  }

  #remove(waiter: Waiter): void {
    const { client } = waiter
    this.#waiting[client.use] -= 1
    client.waiters.delete(waiter)
    if (client.waiters.size === 0) this.#queue.delete(client)
  }

  #clientOf(id: string, use: PermitUse): ClientState {
    const known = this.#clients[use].get(id)
    if (known) return known
    const client: ClientState = { id, use, acquired: 0, waiters: new Set() }
    this.#clients[use].set(id, client)
    return client
  }

  #forgetIfIdle(client: ClientState): void {
    if (client.acquired === 0 && client.waiters.size === 0) this.#clients[client.use].delete(client.id)
  }
}
