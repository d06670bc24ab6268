import cluster from 'node:cluster'
import type { Logger } from 'pino'
import type { RunningServer } from './app.js'
import { runWorkers } from './cluster.js'
import { type Config, readConfig } from './config/config.js'
import { signToken } from './http/auth/sign-token.js'
import { createLogger } from './http/log.js'
import { renderStartBanner, START_GRANT } from './http/start-banner.js'
import {
  createStepReporter,
  describeStart,
  isDeveloperConsole,
  type ReportStep,
} from './http/start-progress.js'
import { isStartedByNpm, onParentExit, onStopSignal } from './process/stop.js'

/** Runs the service until a signal stops it. */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  const logger = createLogger(config)
  if (config.workers > 1 && cluster.isPrimary) {
    reportSettingsFile(createStepReporter(config, logger))
    if (isStartedByNpm('start')) onParentExit(() => process.kill(process.pid, 'SIGTERM'))
    if (config.metricsPort !== undefined) await serveClusterMetrics(config, logger)
    return runWorkers(config.workers, logger)
  }
  const reportStep = createStepReporter(config, logger)
  reportSettingsFile(reportStep)
  reportStep(describeStart(config))
  // Loading the rest of the service takes seconds, so the first step is reported before.
  const { startServer } = await import('./app.js')
  const server = await startServer(config, logger, reportStep)
  stopOnSignals(server, logger)
  const { port, metricsPort } = server
  logger.info({ host: config.host, ...(metricsPort !== undefined && { metricsPort }), port }, 'listening')
  // The log of a production service must not contain a valid token.
  if (!isDeveloperConsole(config) || !config.jwtSecret) return
  process.stdout.write(
    renderStartBanner(signToken(START_GRANT, config.jwtSecret, config), config, server.port),
  )
}

/** Reports the file that src/env-file.mjs has read. A worker has the environment of its supervisor. */
function reportSettingsFile(reportStep: ReportStep): void {
  const { ENV_FILE: file = 'none' } = process.env
  if (cluster.isPrimary && file !== 'none') reportStep(`Settings were read from ${file}`)
}

/** Serves the metrics of all workers together. */
async function serveClusterMetrics(config: Config, logger: Logger): Promise<void> {
  const { createClusterReader, startMetricsServer } = await import('./http/metrics/metrics-server.js')
  const { port } = await startMetricsServer(config, createClusterReader())
  logger.info({ host: config.metricsHost, port }, 'metrics')
}

/** Lets running requests finish after a signal, and when the parent process has ended. */
function stopOnSignals(server: RunningServer, logger: Logger): void {
  let isStopping = false
  const stop = (signal: string): void => {
    if (isStopping) return
    isStopping = true
    logger.info({ signal }, 'stopping')
    server.close().then(
      () => {
        logger.info('stopped')
        process.exit(0)
      },
      (error: unknown) => createCrashHandler(logger)(error),
    )
  }
  onStopSignal(stop)
  // Nothing else would stop a worker whose supervisor has ended.
  process.once('disconnect', () => stop('end of the supervisor'))
  if (isStartedByNpm('start')) onParentExit(() => stop('end of npm'))
  process.on('uncaughtException', createCrashHandler(logger))
  process.on('unhandledRejection', createCrashHandler(logger))
}

/** Ends the process after an unhandled error, because its state is then unknown. */
const createCrashHandler =
  (logger: Logger) =>
  (error: unknown): never => {
    logger.fatal({ err: error }, 'crash')
    process.exit(1)
  }

/** Describes an error for the console. Some network errors have a code and no message. */
function describeStartupError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code }: NodeJS.ErrnoException = error
  if (code === 'EADDRINUSE') return 'HOST and PORT are in use by another program.'
  return error.message || code || error.name
}

main().catch((error: unknown) => {
  process.stderr.write(`The service cannot start. ${describeStartupError(error)}\n`)
  process.exit(1)
})
