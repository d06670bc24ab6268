import type { Logger } from 'pino'
import type { Config } from './config/config.js'
import type { Database } from './data/database.js'
import { loadLookups } from './data/import/lookup-seed.js'
import { migrate } from './data/migrate.js'
import { findConnectionShortage } from './data/postgres/connection-limit.js'
import type { ReportStep } from './http/start-progress.js'
import { loadSampleIfEmpty } from './sample/fill.js'

/** Listings in the sample market. */
const SAMPLE_LISTING_COUNT = 500

/** Migrates the database, and adds the sample market if it is enabled and the database is empty. */
export async function prepareDatabase(
  database: Database,
  { sampleData, poolSize, workers }: Config,
  logger: Logger,
  reportStep: ReportStep,
): Promise<void> {
  await migrate(database, undefined, {
    onApply: (index, count) => reportStep(`Migrating the database: ${index} of ${count}`),
    onWarning: message => logger.warn(message),
  })
  const shortage = await findConnectionShortage(database, { poolSize, workers })
  if (shortage !== undefined) logger.warn(shortage)
  await loadLookups(database)
  if (!sampleData) return
  let loadedCount = 0
  await loadSampleIfEmpty(database, SAMPLE_LISTING_COUNT, count => {
    loadedCount += count
    reportStep(`Adding sample listings: ${loadedCount} of ${SAMPLE_LISTING_COUNT}`)
  })
}
