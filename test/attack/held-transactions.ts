import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'

/** The time for which a transaction was open (milliseconds of `performance.now`). */
export interface HeldTransaction {
  readonly from: number
  to: number
}

/** Time for which a transaction is open. */
export const HOLD_MS = 2000
const PAUSE_MS = 10_000

/**
 * Opens transactions of another program, which stop every writer while they are open, one after another until the
 * time is over. Adds each to `held`.
 */
export async function holdTransactions(
  databaseUrl: string,
  isOver: () => boolean,
  held: HeldTransaction[],
): Promise<void> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'forgotten session' })
  // A lost connection shows as a missing transaction.
  client.on('error', () => undefined)
  await client.connect()
  while (!isOver()) {
    await client.query('begin')
    const hold: HeldTransaction = { from: performance.now(), to: Number.POSITIVE_INFINITY }
    held.push(hold)
    await client.query(`insert into "Office" ("OfficeKey") values ('held')`)
    await wait(HOLD_MS)
    await client.query('rollback')
    hold.to = performance.now()
    for (const end = performance.now() + PAUSE_MS; !isOver() && performance.now() < end; ) await wait(100)
  }
  await client.end()
}
