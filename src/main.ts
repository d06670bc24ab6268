import cluster from 'node:cluster'
import type { Logger } from 'pino'
import type { RunningServer } from './app.js'
import { runWorkers } from './cluster.js'
import { readConfig } from './config/config.js'
import { signToken } from './http/auth/token.js'
import { createLogger } from './http/log.js'
import { renderStartBanner, START_GRANT } from './http/start-banner.js'
import { createStepReporter, describeStart, isDeveloperConsole } from './http/start-progress.js'
import { isStartedByNpm, onParentExit, onStopSignal } from './process/stop.js'

/** Runs the service until it is told to stop. */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  const logger = createLogger(config)
  if (config.workers > 1 && cluster.isPrimary) {
    if (isStartedByNpm('start')) onParentExit(() => process.kill(process.pid, 'SIGTERM'))
    return runWorkers(config.workers, logger)
  }
  const reportStep = createStepReporter(config, logger)
  reportStep(describeStart(config))
  // Loading the rest of the service takes seconds: the first step is reported before that.
  const { startServer } = await import('./app.js')
  const server = await startServer(config, logger, reportStep)
  stopOnSignals(server, logger)
  logger.info({ host: config.host, port: server.port }, 'listening')
  // The log of a production service must not hold a key to it.
  if (!isDeveloperConsole(config) || !config.jwtSecret) return
  process.stdout.write(
    renderStartBanner(signToken(START_GRANT, config.jwtSecret, config), config, server.port),
  )
}

/** Lets running requests finish at a signal, and at the end of the process that has started this one. */
function stopOnSignals(server: RunningServer, logger: Logger): void {
  let isStopping = false
  const stop = (signal: string): void => {
    if (isStopping) return
    isStopping = true
    logger.info({ signal }, 'stopping')
    server.close().then(
      () => process.exit(0),
      (error: unknown) => createCrashHandler(logger)(error),
    )
  }
  onStopSignal(stop)
  // A worker whose supervisor is gone has nobody to stop it.
  process.once('disconnect', () => stop('end of the supervisor'))
  if (isStartedByNpm('start')) onParentExit(() => stop('end of npm'))
  process.on('uncaughtException', createCrashHandler(logger))
  process.on('unhandledRejection', createCrashHandler(logger))
}

/** After an error that nobody handled nothing is known of the state: better to start again. */
const createCrashHandler =
  (logger: Logger) =>
  (error: unknown): never => {
    logger.fatal({ err: error }, 'crash')
    process.exit(1)
  }

/** A sentence for the person at the console; some faults of the network have a code and no message. */
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
