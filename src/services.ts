import type { Config } from './config/config.js'
import { type ChangeFeed, createChangeFeed } from './data/changes/change-feed.js'
import type { Database } from './data/database.js'
import type { ServiceMetrics } from './http/metrics/service-metrics.js'
import { createCursorSeal } from './query/cursor.js'
import { PlanCache } from './query/plan-cache.js'
import { AdminService } from './service/admin/administration.js'
import { ChangeService } from './service/changes.js'
import { DeltaService } from './service/deltas.js'
import { DigestService } from './service/digest.js'
import { ExportService } from './service/export.js'
import { createMetricSources } from './service/metric-sources.js'
import { ReadService } from './service/reading.js'
import { createWebhookSettings } from './service/webhooks/webhook-settings.js'
import { WriteService } from './service/writing.js'

/** Maximum nesting of $expand. No path of the model is longer unless it returns to an entity. */
const MAX_EXPAND_DEPTH = 8

/** Creates the services that both adapters use. They share one database and one set of limits. */
export function createServices(
  config: Config,
  database: Database,
  metrics: ServiceMetrics | undefined,
): {
  readonly plans: PlanCache
  readonly reading: ReadService
  readonly deltas: DeltaService
  readonly exports: ExportService
  readonly digests: DigestService
  readonly writing: WriteService
  readonly administration: AdminService
  readonly changes: ChangeService
  readonly feed: ChangeFeed
} {
  const { pageSize, pageSizeMax, expandPageMax, topIsTotal, nonDisclosure, poolSize } = config
  const limits = { pageSize, pageSizeMax, expandPageMax, topIsTotal, expandDepth: MAX_EXPAND_DEPTH }
  const plans = new PlanCache()
  const dependencies = {
    database,
    plans,
    limits,
    policy: { nonDisclosure },
    seal: createCursorSeal(config.tokenKey),
    onRows: metrics && ((entity: string, count: number) => metrics.addRows(entity, count)),
  }
  const reading = new ReadService(dependencies)
  const feed = createChangeFeed(database)
  const changes = new ChangeService({ ...dependencies, feed, poolSize })
  metrics?.observe(createMetricSources(database, plans, changes))
  return {
    plans,
    reading,
    deltas: new DeltaService(dependencies),
    exports: new ExportService(dependencies),
    digests: new DigestService(dependencies),
    writing: new WriteService({ database, plans, reading, config }),
    administration: new AdminService({
      database,
      reading,
      feedLimits: { pageSizeMax },
      webhooks: createWebhookSettings(config),
    }),
    changes,
    feed,
  }
}
