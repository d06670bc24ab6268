import { addUsage, type UsageNumbers } from '../../data/clients/client-usage.js'
import type { Database } from '../../data/database.js'

/** Interval between two writes. A crash loses at most the counts of this interval. */
const WRITE_INTERVAL_MS = 10_000

/**
 * Counts the requests and rows of registered clients by day, and records the last use of clients and secrets.
 * The counts of a process are written together. While the database is unavailable they stay in memory.
 */
export class UsageRecorder {
  readonly #database: Pick<Database, 'queryControl'>
  readonly #intervalMs: number
  #counts = new Map<string, { requests: number; refused: number; rows: number }>()
  #secretIds = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(database: Pick<Database, 'queryControl'>, intervalMs = WRITE_INTERVAL_MS) {
    this.#database = database
    this.#intervalMs = intervalMs
  }

  /** Adds to the usage of a client. */
  add(clientId: string, { requests = 0, refused = 0, rows = 0 }: Partial<UsageNumbers>): void {
    const count = this.#counts.get(clientId) ?? { requests: 0, refused: 0, rows: 0 }
    count.requests += requests
    count.refused += refused
    count.rows += rows
    this.#counts.set(clientId, count)
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
      for (const { clientId, ...numbers } of counts) this.add(clientId, numbers)
      for (const secretId of secretIds) this.#secretIds.add(secretId)
      this.#schedule()
    }
  }
}
