import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from './config/config.js'
import type { Database, DatabaseListeners } from './data/database.js'
import { readMigrations } from './data/migrate.js'
import { createReadinessCheck } from './data/readiness.js'
import { ProblemError } from './errors/problem.js'
import { authenticateRequest } from './http/auth/authenticate-request.js'
import type { TokenVerifier } from './http/auth/bearer.js'
import { serveHealth } from './http/health.js'
import { requestId, setFailureReason } from './http/log.js'
import type { ServiceMetrics } from './http/metrics/service-metrics.js'
import { createSlowQueryListener } from './service/statement-log.js'

/** Creates the listeners that log sessions that block requests, and log and measure statements. */
export const createDatabaseListeners = (
  { slowQueryMs }: Pick<Config, 'slowQueryMs'>,
  logger: Logger,
  metrics?: ServiceMetrics,
): DatabaseListeners => {
  const logSlowQuery =
    slowQueryMs > 0
      ? createSlowQueryListener(slowQueryMs, query => logger.warn(query, 'slow query'))
      : undefined
  return {
    onBlocked: session => logger.warn(session, 'a database session blocks requests'),
    onStatement: statement => {
      metrics?.observeStatement(statement)
      logSlowQuery?.(statement)
    },
  }
}

/** Creates the function that logs an error and returns the id of its log entry. */
export const createErrorReporter =
  (logger: Logger, metrics?: ServiceMetrics) =>
  (error: unknown, req: IncomingMessage): string => {
    if (error instanceof ProblemError) {
      setFailureReason(req, error)
      metrics?.addTimeouts(error.problems)
    } else logger.error({ id: requestId(req), err: error }, 'fault')
    return requestId(req)
  }

/** Dependencies of the health handler. */
export interface HealthHandlerDependencies {
  readonly config: Config
  readonly database: Database
  readonly verifier: TokenVerifier
  readonly logger: Logger
  readonly isDraining: () => boolean
  readonly metrics?: ServiceMetrics | undefined
}

type HealthHandler = (req: IncomingMessage, res: ServerResponse, next: () => void) => void

/** Creates the handler of /health. A token with the scope `admin` receives the reasons why the service is not ready. */
export function createHealthHandler({
  config,
  database,
  verifier,
  logger,
  isDraining,
  metrics,
}: HealthHandlerDependencies): HealthHandler {
  // Read once: migrations that are added while the process runs apply at its next start.
  const check = readMigrations().then(migrations => createReadinessCheck(database, migrations))
  let wasUnready = false
  return serveHealth({
    checkDatabase: async () => (await check)(),
    isDraining,
    onReadiness: (isReady, reasons) => {
      metrics?.setReady(isReady)
      if (!isReady) logger.warn({ reasons }, 'not ready')
      else if (wasUnready) logger.info('ready again')
      wasUnready = !isReady
    },
    onClockAhead: aheadMs =>
      logger.warn(
        { aheadSeconds: Math.round(aheadMs / 1000) },
        'change timestamps are ahead of the system clock',
      ),
    isOperator: async req => {
      try {
        return (await authenticateRequest(req, verifier, config)).actor.scopes.has('admin')
      } catch {
        return false
      }
    },
  })
}
