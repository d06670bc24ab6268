import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import type { Database } from '../database.js'

/** The channel that the trigger of the change log speaks on; each database has its own. */
const CHANNEL = 'entity_event'
/** Before a connection that was lost is made again: twice as long each time, in ms. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 10_000
const CONNECT_MS = 5000

/**
 * Listens to a server on a connection of its own until the signal ends it. `heard` is called for every
 * notice, and whenever the connection stands again: what was said meanwhile is lost. Never rejects.
 */
export async function listenToServer(
  database: Pick<Database, 'target'>,
  heard: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_WAIT_MS; !signal.aborted; pause = Math.min(2 * pause, LONGEST_WAIT_MS)) {
    const listened = await listenOnce(database, heard, signal)
    if (listened) pause = FIRST_WAIT_MS
    await wait(pause, undefined, { ref: false, signal }).catch(() => undefined)
  }
}

/** Until the connection is lost. Whether it was made at all. */
async function listenOnce(
  { target }: Pick<Database, 'target'>,
  heard: () => void,
  signal: AbortSignal,
): Promise<boolean> {
  const client = new Client({
    ...target,
    application_name: 'listing-service changes',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  })
  let end = (): void => undefined
  const lost = new Promise<void>(resolve => {
    end = resolve
  })
  signal.addEventListener('abort', end)
  client.once('end', end)
  // Every time: an error that nobody hears would end the process.
  client.on('error', end)
  client.on('notification', heard)
  try {
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    heard()
    await lost
    return true
  } catch {
    return false
  } finally {
    signal.removeEventListener('abort', end)
    void client.end().catch(() => undefined)
  }
}
