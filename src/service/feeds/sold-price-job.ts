import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Database } from '../../data/database.js'

/** Interval between two looks at the clock. A price shows at most this much after midnight in UTC. */
const INTERVAL_MS = 60_000
/** Listings of one transaction. */
const LISTINGS_PER_BATCH = 100

/**
 * Shows sold prices in the feeds that delay them, on the day that each is due, and logs a change of the listing. Every
 * process runs the job until `signal` aborts, and one at a time does the work.
 */
export async function runSoldPriceJob(
  database: Pick<Database, 'queryControl'>,
  logger: Pick<Logger, 'error'>,
  signal: AbortSignal,
): Promise<void> {
  while (await wait(INTERVAL_MS, true, { ref: false, signal }).catch(() => false))
    await showDueSoldPrices(database).catch((error: unknown) =>
      logger.error({ err: error }, 'sold prices of feeds could not be shown'),
    )
}

/** Shows the sold prices whose day has come. */
export async function showDueSoldPrices(database: Pick<Database, 'queryControl'>): Promise<void> {
  for (let count = LISTINGS_PER_BATCH; count === LISTINGS_PER_BATCH; ) {
    const [row] = await database.queryControl<{ readonly count: number }>({
      text: 'select "admin".show_due_sold_prices($1) as count',
      values: [LISTINGS_PER_BATCH],
    })
    count = row?.count ?? 0
  }
}
