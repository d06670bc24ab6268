import { randomUUID } from 'node:crypto'
import { countLimitProcesses, removeLimitProcess } from '../../data/clients/quota-store.js'
import type { Database } from '../../data/database.js'
import type { Client } from '../../domain/clients/client.js'
import type { ClientDirectory } from '../../domain/clients/directory.js'
import type { ClientAllowance, ClientLimiter } from '../../domain/clients/limiter.js'
import type { UsageRecorder } from '../clients/usage-recorder.js'
import { ClientLimitState, type LimitName } from './client-limits.js'

/** Interval of the checks for idle clients, in ms. */
const TICK_MS = 1000
/** Interval of the heartbeat of a process that serves clients with limits, in ticks. */
const HEARTBEAT_TICKS = 2
/** Time without a client with limits after which the heartbeat stops, in ms. */
const MAX_IDLE_MS = 60_000

/** Dependencies of the limits. */
export interface LimitServiceDependencies {
  readonly database: Pick<Database, 'queryControl'>
  readonly directory: Pick<ClientDirectory, 'find' | 'subscribe'>
  readonly usage: Pick<UsageRecorder, 'add'>
  /** Counts refused requests. */
  readonly onRefusal?: ((limit: LimitName, client: Client, count: number) => void) | undefined
}

/**
 * Limits the usage of registered clients across all processes. Each process counts in memory and takes
 * portions of the limits from the database.
 */
export class LimitService implements ClientLimiter {
  readonly #dependencies: LimitServiceDependencies
  readonly #processId = randomUUID()
  readonly #clients = new Map<string, ClientLimitState>()
  readonly #unsubscribe: () => void
  #processCount = 1
  #usedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #ticks = 0

  constructor(dependencies: LimitServiceDependencies) {
    this.#dependencies = dependencies
    this.#unsubscribe = dependencies.directory.subscribe(() => this.#updateClients())
  }

  allowanceOf(client: Client): ClientAllowance {
    const state = this.#clients.get(client.id) ?? this.#add(client)
    if (state.isLimited) this.#noteUse()
    return state
  }

  /** Returns the unused portions of the process. */
  async close(): Promise<void> {
    this.#unsubscribe()
    clearInterval(this.#timer)
    for (const state of this.#clients.values()) await state.close()
    if (this.#usedAt > 0)
      await removeLimitProcess(this.#dependencies.database, this.#processId).catch(() => undefined)
  }

  #add(client: Client): ClientLimitState {
    const { database, usage, onRefusal } = this.#dependencies
    const state = new ClientLimitState(client, {
      database,
      processId: this.#processId,
      countProcesses: () => this.#processCount,
      onProcessCount: count => this.#setProcessCount(count),
      usage,
      onRefusal: (ofClient, limit, count) => onRefusal?.(limit, ofClient, count),
    })
    this.#clients.set(client.id, state)
    return state
  }

  #noteUse(): void {
    this.#usedAt = performance.now()
    if (this.#timer) return
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
    this.#ticks = 0
    void this.#countProcesses()
  }

  #tick(): void {
    const now = performance.now()
    for (const state of this.#clients.values()) state.returnUnusedIfIdle(now)
    this.#ticks += 1
    if (now - this.#usedAt > MAX_IDLE_MS) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else if (this.#ticks % HEARTBEAT_TICKS === 0) void this.#countProcesses()
  }

  /** Updates the number of processes. While the database is unavailable, the last number remains. */
  async #countProcesses(): Promise<void> {
    const count = await countLimitProcesses(this.#dependencies.database, this.#processId).catch(
      () => this.#processCount,
    )
    this.#setProcessCount(count)
  }

  #setProcessCount(count: number): void {
    if (count === this.#processCount) return
    this.#processCount = count
    for (const state of this.#clients.values()) state.divideStatements()
  }

  #updateClients(): void {
    for (const [id, state] of this.#clients) {
      const client = this.#find(id)
      if (client) state.setClient(client)
    }
  }

  #find(id: string): Client | undefined {
    try {
      return this.#dependencies.directory.find(id)
    } catch {
      // The directory is outdated, so its clients are refused anyway.
      return undefined
    }
  }
}
