import { addUsage } from '../../data/clients/client-usage.js'
import type { Database } from '../../data/database.js'

/** Interval between two writes. A crash loses the counts of this time at most. */
const WRITE_INTERVAL_MS = 10_000

/**
 * Counts the requests of clients of the database by day, and records when clients and secrets were last used. The
 * counts of a process are written together. While the database is away they stay in memory.
 */
export class UsageRecorder {
  readonly #database: Pick<Database, 'queryControl'>
  readonly #intervalMs: number
  #counts = new Map<string, { requests: number; refused: number }>()
  #secretIds = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(database: Pick<Database, 'queryControl'>, intervalMs = WRITE_INTERVAL_MS) {
    this.#database = database
    this.#intervalMs = intervalMs
  }

  /** Counts one request. */
  countRequest(clientId: string, isRefused: boolean): void {
    this.#add(clientId, isRefused ? 0 : 1, isRefused ? 1 : 0)
    this.#schedule()
  }

  /** Records that a client has authenticated with a secret. */
  noteSecret(secretId: string): void {
    this.#secretIds.add(secretId)
    this.#schedule()
  }

  /**
   * Writes the remaining counts. Errors of the database are ignored, so that they do not prevent the service
   * from stopping.
   */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#write()
    clearTimeout(this.#timer)
  }

  #add(clientId: string, requests: number, refused: number): void {
    const count = this.#counts.get(clientId) ?? { requests: 0, refused: 0 }
    count.requests += requests
    count.refused += refused
    this.#counts.set(clientId, count)
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#write()
    }, this.#intervalMs).unref()
  }

  async #write(): Promise<void> {
    const counts = [...this.#counts].map(([clientId, count]) => ({ clientId, ...count }))
    const secretIds = [...this.#secretIds]
    if (counts.length === 0 && secretIds.length === 0) return
    this.#counts = new Map()
    this.#secretIds = new Set()
    try {
      await addUsage(this.#database, counts, secretIds)
    } catch {
      for (const { clientId, requests, refused } of counts) this.#add(clientId, requests, refused)
      for (const secretId of secretIds) this.#secretIds.add(secretId)
      this.#schedule()
    }
  }
}
