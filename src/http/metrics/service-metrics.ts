import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Config } from '../../config/config.js'
import type { Problem, Wait } from '../../errors/problem.js'
import type { VerifiedToken } from '../auth/bearer.js'
import type { CompletedRequest } from '../log.js'
import { addClientMetrics, type ClientMetrics } from './client-metrics.js'
import { withDatabaseTimeout } from './database-timeout.js'
import { addImportMetrics, type ImportUse } from './import-metrics.js'
import { createRouteReader, type EntitySetNames } from './route.js'

/** The use of a pool of database connections. */
interface PoolUse {
  readonly pool: string
  readonly size: number
  readonly open: number
  readonly used: number
  readonly waiting: number
  readonly running: number
  readonly waits: number
  readonly waitedMs: number
  readonly refusals: number
}

/** The use of one level of the plan cache. */
interface PlanCacheUse {
  readonly level: string
  readonly entries: number
  readonly kilobytes: number
  readonly hits: number
  readonly misses: number
  readonly evictions: number
}

/** The sources of the metrics that are read at each scrape. No source waits for a connection of requests. */
export interface MetricSources {
  readonly pools: () => readonly PoolUse[]
  readonly planCache: () => readonly PlanCacheUse[]
  /** The number of the newest event of the change log. Rejects if the database does not answer. */
  readonly logPosition: () => Promise<number>
  /**
   * The positions of the subscriptions of this process: the number of the last event that each has received.
   */
  readonly subscriptionPositions: () => readonly number[]
  /** The changes of all imports, by entity set. */
  readonly imports: () => Promise<readonly ImportUse[]>
}

const DURATION_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]
const SIZE_BUCKETS = [1000, 10_000, 100_000, 1_000_000, 10_000_000]
/**
 * Buckets of `listing_subscriptions_behind`, in events: the lag of subscriptions without a series for each.
 */
const LAG_BOUNDS = [1, 100, 10_000]
const WAITS: readonly Wait[] = ['connection', 'lock', 'statement', 'transaction']
/** Gauges of prom-client with names of counters, which promtool reports. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** The metrics of one process. The number of label values is bounded, since clients cannot choose them. */
export class ServiceMetrics {
  readonly registry = new Registry()
  readonly #ready = createReadyGauge(this.registry)
  readonly #duration: Histogram<'adapter' | 'entity' | 'route' | 'status'>
  readonly #size: Histogram<'adapter' | 'entity'>
  readonly #rows: Counter<'entity'>
  readonly #statements: Histogram
  readonly #lockWaits: Counter
  readonly #timeouts: Counter<'wait'>
  readonly #clients: ClientMetrics

  constructor({ metricsClients }: Pick<Config, 'metricsClients'>) {
    const registers = [this.registry]
    this.#clients = addClientMetrics(this.registry, metricsClients)
    this.#duration = new Histogram({
      name: 'listing_http_request_duration_seconds',
      help: 'Time from a request to the end of its response.',
      labelNames: ['adapter', 'entity', 'route', 'status'],
      buckets: DURATION_BUCKETS,
      registers,
    })
    this.#size = new Histogram({
      name: 'listing_http_response_size_bytes',
      help: 'Bytes sent for a response, as compressed.',
      labelNames: ['adapter', 'entity'],
      buckets: SIZE_BUCKETS,
      registers,
    })
    this.#rows = new Counter({
      name: 'listing_rows_total',
      help: 'Records read for responses, without related records.',
      labelNames: ['entity'],
      registers,
    })
    this.#statements = new Histogram({
      name: 'listing_statement_duration_seconds',
      help: 'Duration of SQL statements, including waits for locks.',
      buckets: DURATION_BUCKETS,
      registers,
    })
    this.#lockWaits = new Counter({
      name: 'listing_lock_wait_seconds_total',
      help: 'Time that statements waited for locks of other transactions.',
      registers,
    })
    this.#timeouts = new Counter({
      name: 'listing_timeouts_total',
      help: 'Requests that waited too long, by kind of wait.',
      labelNames: ['wait'],
      registers,
    })
    for (const wait of WAITS) this.#timeouts.inc({ wait }, 0)
    addProcessMetrics(this.registry)
  }

  /** Creates the observer of completed requests. Probes are left out. */
  createRequestObserver(
    entitySets: EntitySetNames,
  ): (request: CompletedRequest, token: VerifiedToken | undefined) => void {
    const readRoute = createRouteReader(entitySets)
    return ({ path, status, ms, bytes }, token) => {
      if (path.startsWith('/health/')) return
      const { adapter, entity, route } = readRoute(path)
      this.#duration.observe({ adapter, entity, route, status }, ms / 1000)
      this.#size.observe({ adapter, entity }, bytes)
      this.#clients.countRequest(token?.actor.audience, token?.client)
    }
  }

  /** Counts requests that a limit of their client has refused. */
  get countRefusal(): ClientMetrics['countRefusal'] {
    return this.#clients.countRefusal
  }

  setReady(isReady: boolean): void {
    this.#ready.set(isReady ? 1 : 0)
  }

  addRows(entity: string, count: number): void {
    if (count > 0) this.#rows.inc({ entity }, count)
  }

  observeStatement({ ms, lockWaitMs }: { readonly ms: number; readonly lockWaitMs: number }): void {
    this.#statements.observe(ms / 1000)
    if (lockWaitMs > 0) this.#lockWaits.inc(lockWaitMs / 1000)
  }

  /** Counts the problems that report a wait. */
  addTimeouts(problems: readonly Problem[]): void {
    for (const problem of problems)
      if (problem.kind === 'Unavailable' && problem.wait) this.#timeouts.inc({ wait: problem.wait })
  }

  /** Adds the metrics that are read at each scrape. */
  observe({ pools, planCache, logPosition, subscriptionPositions, imports }: MetricSources): void {
    this.#addPoolMetrics(pools)
    this.#addPlanCacheMetrics(planCache)
    this.#addLogMetrics(logPosition, subscriptionPositions)
    addImportMetrics(this.registry, imports)
  }

  #addPoolMetrics(pools: MetricSources['pools']): void {
    const gauge = (name: string, help: string, read: (use: PoolUse) => number) =>
      this.#addGauge(`listing_pool_${name}`, help, 'pool', () => pools().map(use => [use.pool, read(use)]))
    const counter = (name: string, help: string, read: (use: PoolUse) => number) =>
      this.#addCounter(`listing_pool_${name}`, help, 'pool', () => pools().map(use => [use.pool, read(use)]))
    gauge('size_connections', 'Maximum number of connections.', use => use.size)
    gauge('open_connections', 'Open connections.', use => use.open)
    gauge('used_connections', 'Connections in use by requests.', use => use.used)
    gauge('running_statements', 'Running statements.', use => use.running)
    gauge('waiting_requests', 'Requests that are waiting for a connection.', use => use.waiting)
    counter('waits_total', 'Requests that had to wait for a connection.', use => use.waits)
    counter(
      'wait_seconds_total',
      'Total time that requests waited for a connection.',
      use => use.waitedMs / 1000,
    )
    counter(
      'refusals_total',
      'Requests that did not get a connection within POOL_WAIT_MS.',
      use => use.refusals,
    )
  }

  #addPlanCacheMetrics(planCache: MetricSources['planCache']): void {
    const values = (read: (use: PlanCacheUse) => number) => () =>
      planCache().map(use => [use.level, read(use)] as const)
    this.#addGauge('listing_plan_cache_entries', 'Entries of the plan cache.', 'level', values(use => use.entries))
    this.#addGauge('listing_plan_cache_size_bytes', 'Estimated size of the plan cache.', 'level', values(use => use.kilobytes * 1024))
    this.#addCounter('listing_plan_cache_hits_total', 'Results found in the plan cache.', 'level', values(use => use.hits))
    this.#addCounter('listing_plan_cache_misses_total', 'Results not found in the plan cache.', 'level', values(use => use.misses))
    this.#addCounter('listing_plan_cache_evictions_total', 'Results dropped from the full plan cache.', 'level', values(use => use.evictions))
  } // biome-ignore format: one metric a line

  /** If the database does not answer, the position and the lag are absent, not 0. */
  #addLogMetrics(
    logPosition: MetricSources['logPosition'],
    positions: MetricSources['subscriptionPositions'],
  ): void {
    const registers = [this.registry]
    const behind = new Gauge({
      name: 'listing_subscriptions_behind',
      help: 'Open subscriptions with a lag of at least this number of events.',
      labelNames: ['events'],
      registers,
    })
    const lag = new Gauge({
      name: 'listing_subscription_lag_events',
      help: 'Events of the change log that the slowest subscription has not received.',
      aggregator: 'max',
      registers,
    })
    this.#addGauge('listing_subscriptions', 'Open subscriptions.', undefined, () => [
      ['', positions().length],
    ])
    new Gauge({
      name: 'listing_log_position',
      help: 'Number of the newest event of the change log.',
      aggregator: 'max',
      registers,
      async collect() {
        const newest = await withDatabaseTimeout(logPosition())
        this.remove()
        lag.remove()
        behind.reset()
        if (newest === undefined) return
        this.set(newest)
        const lags = positions().map(position => newest - position)
        lag.set(Math.max(0, ...lags))
        for (const events of LAG_BOUNDS)
          behind.set({ events }, lags.filter(missing => missing >= events).length)
      },
    })
  }

  #addGauge(
    name: string,
    help: string,
    label: string | undefined,
    read: () => readonly (readonly [string, number])[],
  ): void {
    new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [this.registry],
      collect() {
        for (const [key, value] of read()) this.set(label === undefined ? {} : { [label]: key }, value)
      },
    })
  }

  #addCounter(
    name: string,
    help: string,
    label: string,
    read: () => readonly (readonly [string, number])[],
  ): void {
    new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const [key, value] of read()) this.inc({ [label]: key }, value)
      },
    })
  }
}

function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
}

/** Creates the gauge of the last health check. It has no value before the first one. */
function createReadyGauge(registry: Registry): Gauge {
  const ready = new Gauge({
    name: 'listing_ready',
    help: '1 if the last health check found the database ready, else 0.',
    aggregator: 'min',
    registers: [registry],
  })
  ready.remove()
  return ready
}
