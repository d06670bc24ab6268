import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { withDatabaseTimeout } from './database-timeout.js'

/** The state of all webhook subscriptions at a scrape. */
export interface WebhookUse {
  /** Number of subscriptions by state. */
  readonly states: Readonly<Record<string, number>>
  /** The largest lags, by id of the subscription: the number of events after its position. */
  readonly lags: Readonly<Record<string, number>>
}

/** Counts one attempt. */
export type WebhookAttemptObserver = (isDelivered: boolean, durationMs: number) => void

const DURATION_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30]

/**
 * Adds the metrics of webhooks. If the database does not answer, the states and lags are absent, not 0. All
 * processes read the same rows, so they aggregate by maximum.
 * @param read returns a bounded number of lags
 */
export function addWebhookMetrics(
  registry: Registry,
  read: () => Promise<WebhookUse>,
): WebhookAttemptObserver {
  const registers = [registry]
  const lag = new Gauge({
    name: 'listing_webhook_lag_events',
    help: 'Events that an active webhook has not received, for the 100 largest lags.',
    labelNames: ['webhook'],
    aggregator: 'max',
    registers,
  })
  new Gauge({
    name: 'listing_webhooks',
    help: 'Webhooks by state.',
    labelNames: ['state'],
    aggregator: 'max',
    registers,
    async collect() {
      const use = await withDatabaseTimeout(read())
      this.reset()
      lag.reset()
      for (const [state, count] of Object.entries(use?.states ?? {})) this.set({ state }, count)
      for (const [webhook, events] of Object.entries(use?.lags ?? {})) lag.set({ webhook }, events)
    },
  })
  return createAttemptObserver(registers)
}

function createAttemptObserver(registers: Registry[]): WebhookAttemptObserver {
  const attempts = new Counter({
    name: 'listing_webhook_attempts_total',
    help: 'Attempts to deliver a message.',
    labelNames: ['result'],
    registers,
  })
  const duration = new Histogram({
    name: 'listing_webhook_attempt_duration_seconds',
    help: 'Time from name resolution to the response of the receiver.',
    buckets: DURATION_BUCKETS,
    registers,
  })
  for (const result of ['delivered', 'failed']) attempts.inc({ result }, 0)
  return (isDelivered, durationMs) => {
    attempts.inc({ result: isDelivered ? 'delivered' : 'failed' })
    duration.observe(durationMs / 1000)
  }
}
