import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'

/** Reports a step of the start and its progress. */
export type ReportStep = (step: string) => void

/**
 * True if a developer reads the console: with the embedded database, outside production. The start then
 * prints plain text and a token.
 */
export const isDeveloperConsole = ({
  embedded,
  production,
}: Pick<Config, 'embedded' | 'production'>): boolean => embedded && !production

/**
 * Creates a reporter that writes each step immediately: as plain text on a developer's console, otherwise as
 * a log line.
 */
export function createStepReporter(
  config: Pick<Config, 'embedded' | 'production'>,
  logger: Logger,
): ReportStep {
  if (isDeveloperConsole(config)) return step => process.stdout.write(`${step}\n`)
  return step => {
    logger.info(step)
    // The log is flushed by a timer, which cannot fire while modules load.
    logger.flush()
  }
}

/** Returns the first step. An empty DATA_DIR means that a database will be created. */
export function describeStart({
  embedded,
  dataDir,
  sampleData,
}: Pick<Config, 'embedded' | 'dataDir' | 'sampleData'>): string {
  if (!embedded) return 'Starting, with the database of DATABASE_URL'
  if (existsSync(join(dataDir, 'postgres'))) return `Starting, with the database in ${dataDir}`
  const contents = sampleData ? ', with a sample market' : ''
  return `First start: creating a database in ${dataDir}${contents}. This takes up to a minute.`
}
