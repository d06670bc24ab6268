import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from './config/config.js'
import { logBackgroundError } from './data/background-error.js'
import type { ChangeFeed } from './data/changes/change-feed.js'
import type { Database } from './data/database.js'
import { readWebhookUse } from './data/webhooks/webhook-store.js'
import type { ClientDirectory } from './domain/clients/directory.js'
import { hostOf } from './domain/webhooks/address.js'
import { toClientActor } from './http/auth/access-token.js'
import { addWebhookMetrics } from './http/metrics/webhook-metrics.js'
import type { Tracing } from './http/tracing/tracing.js'
import { DEFAULT_PARSE_LIMITS } from './language/parse-limits.js'
import { parseExpression } from './language/parser.js'
import { createSelectionDependencies } from './service/webhooks/selection.js'
import { WebhookSender } from './service/webhooks/sender.js'
import type { AttemptReport } from './service/webhooks/webhook-delivery.js'

/** Dependencies of the sender of webhooks. */
export interface WebhookSenderDependencies {
  readonly config: Config
  readonly database: Database
  readonly logger: Logger
  readonly directory: ClientDirectory
  readonly feed: ChangeFeed
  /** The metrics of METRICS_PORT. */
  readonly metrics?: { readonly registry: Registry } | undefined
  readonly tracing?: Tracing | undefined
}

/** Creates the sender of webhooks of this process. */
export function createWebhookSender({
  config,
  database,
  logger,
  directory,
  feed,
  metrics,
  tracing,
}: WebhookSenderDependencies): WebhookSender {
  const observeAttempt = metrics && addWebhookMetrics(metrics.registry, () => readWebhookUse(database))
  const context = { limits: DEFAULT_PARSE_LIMITS, aliases: new Map<string, string>() }
  return new WebhookSender({
    ...createSelectionDependencies(config, filter => parseExpression(filter, context, '$filter')),
    database,
    feed,
    directory,
    poolSize: config.poolSize,
    policy: { nonDisclosure: config.nonDisclosure },
    toActor: client => toClientActor(client, directory),
    encryptionKey: config.webhookEncryption,
    settings: {
      allowsPrivate: config.webhookPrivateAddresses,
      timeoutMs: config.webhookTimeoutMs,
      retrySeconds: config.webhookRetryHours * 3600,
    },
    logDays: config.webhookLogDays,
    onAttempt: report => {
      logAttempt(logger, report, tracing && traceAttempt(tracing, report))
      observeAttempt?.(report.isDelivered, report.durationMs)
    },
    onFault: (error, webhook) => {
      const names = webhook && { webhook: webhook.lease.webhookId, client: webhook.clientId }
      logBackgroundError(logger, error, 'webhooks were not sent', names)
    },
  })
}

/** Logs an attempt. The address is named by its host: its path and query may hold a secret. */
function logAttempt(
  logger: Logger,
  { webhook, feed, durationMs, reason, state, ...rest }: AttemptReport,
  traceId: string | undefined,
): void {
  const line = {
    webhook: webhook.lease.webhookId,
    client: webhook.clientId,
    ...(feed !== undefined && { feed }),
    operation: `${webhook.resourceName ?? 'all'} events`,
    host: hostOf(new URL(webhook.url)),
    ...(traceId !== undefined && { trace_id: traceId }),
    ...rest,
    ms: Math.round(durationMs),
    ...(reason !== undefined && { reason }),
    ...(state !== 'active' && { state: state ?? 'taken over' }),
  }
  if (rest.isDelivered) logger.info(line, 'webhook')
  else logger.warn(line, 'webhook failed')
}

/** Adds the trace of an attempt. Returns its id. */
const traceAttempt = (tracing: Tracing, { webhook, ...attempt }: AttemptReport): string =>
  tracing.addDelivery({
    ...attempt,
    webhookId: webhook.lease.webhookId,
    clientId: webhook.clientId,
    host: hostOf(new URL(webhook.url)),
  })
