import { Counter, Gauge, type Registry } from 'prom-client'
import { withDatabaseTimeout } from './database-timeout.js'

/** The changes of all imports of an entity set. */
export interface ImportUse {
  readonly entity: string
  readonly created: number
  readonly updated: number
  readonly removed: number
  /** Time of the last change, in seconds since 1970. */
  readonly lastChangeAt: number
}

const CHANGES = ['created', 'updated', 'removed'] as const

/**
 * Adds the metrics of imports. If the database does not answer, they are absent. All processes read the same
 * rows, so they aggregate by maximum.
 * @param read returns one item for each entity set that was imported
 */
export function addImportMetrics(registry: Registry, read: () => Promise<readonly ImportUse[]>): void {
  const registers = [registry]
  const lastChange = new Gauge({
    name: 'listing_import_last_change_timestamp_seconds',
    help: 'Time of the last change by an import.',
    labelNames: ['entity'],
    aggregator: 'max',
    registers,
  })
  new Counter({
    name: 'listing_import_records_total',
    help: 'Records that imports have changed.',
    labelNames: ['entity', 'change'],
    aggregator: 'max',
    registers,
    async collect() {
      const uses = await withDatabaseTimeout(read())
      this.reset()
      lastChange.reset()
      for (const use of uses ?? []) {
        for (const change of CHANGES) this.inc({ entity: use.entity, change }, use[change])
        lastChange.set({ entity: use.entity }, use.lastChangeAt)
      }
    },
  })
}
