import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'

/** Reports a step of the start, in a few words: what is being done, and how far it has come. */
export type ReportStep = (step: string) => void

/**
 * True where a developer reads the console: the embedded database outside production. There the start prints
 * plain text and a token.
 */
export const isDeveloperConsole = ({
  embedded,
  production,
}: Pick<Config, 'embedded' | 'production'>): boolean => embedded && !production

/** Reports each step at once: as a line of text on a developer's console, as a line of the log elsewhere. */
export function createStepReporter(
  config: Pick<Config, 'embedded' | 'production'>,
  logger: Logger,
): ReportStep {
  if (isDeveloperConsole(config)) return step => process.stdout.write(`${step}\n`)
  return step => {
    logger.info(step)
    // The log is written on a timer, which cannot run while modules are loaded.
    logger.flush()
  }
}

/** The first step: what the start is about to do. Looks at DATA_DIR, which the first start creates. */
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
