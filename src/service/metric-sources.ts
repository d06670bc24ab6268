import { readLatestSequence } from '../data/changes/latest-sequence.js'
import type { Database } from '../data/database.js'
import { readImportCounts } from '../data/import/import-counts.js'
import type { PlanCache } from '../query/plan-cache.js'
import type { ChangeService } from './changes.js'

/** Returns the sources of the metrics. The end of the log is read on the connection of health probes. */
export const createMetricSources = (database: Database, plans: PlanCache, changes: ChangeService) => ({
  pools: () => database.poolStatistics(),
  planCache: () => plans.statistics(),
  logPosition: async () => Number(await readLatestSequence({ query: database.queryControl })),
  subscriptionPositions: () => changes.subscriptionPositions(),
  imports: () => readImportCounts({ query: database.queryControl }),
})
