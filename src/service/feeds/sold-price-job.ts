import { setTimeout as wait } from 'node:timers/promises'
import { type BackgroundLogger, logBackgroundError } from '../../data/background-error.js'
import type { Database } from '../../data/database.js'

/** Interval of the checks. A price appears at most this long after midnight UTC. */
const INTERVAL_MS = 60_000
/** Maximum number of listings in one transaction. */
const LISTINGS_PER_BATCH = 100

/**
 * Shows sold prices in the feeds that delay them, on the day when each is due, and writes an event for the
 * listing. Every process runs the job until `signal` aborts, but only one works at a time.
 */
export async function runSoldPriceJob(
  database: Pick<Database, 'queryControl'>,
  logger: BackgroundLogger,
  signal: AbortSignal,
  intervalMs = INTERVAL_MS,
): Promise<void> {
  while (await wait(intervalMs, true, { ref: false, signal }).catch(() => false))
    await showDueSoldPrices(database).catch((error: unknown) =>
      logBackgroundError(logger, error, 'sold prices of feeds could not be shown'),
    )
}

/** Shows the sold prices that are due. */
export async function showDueSoldPrices(database: Pick<Database, 'queryControl'>): Promise<void> {
  for (let count = LISTINGS_PER_BATCH; count === LISTINGS_PER_BATCH; ) {
    const [row] = await database.queryControl<{ readonly count: number }>({
      text: 'select "admin".show_due_sold_prices($1) as count',
      values: [LISTINGS_PER_BATCH],
    })
    count = row?.count ?? 0
  }
}
