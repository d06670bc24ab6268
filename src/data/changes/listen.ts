import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import type { Database } from '../database.js'

/** Delays before a lost connection is reopened, doubled each time, in ms. */
const MIN_RECONNECT_DELAY_MS = 100
const MAX_RECONNECT_DELAY_MS = 10_000
const CONNECT_TIMEOUT_MS = 5000

/**
 * Listens to a channel on a separate connection until the signal aborts. `onNotification` is called for every notification, and
 * after each reconnection, because notifications in between are lost. Never rejects.
 */
export async function listenForNotifications(
  database: Pick<Database, 'clientConfig'>,
  channel: string,
  onNotification: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (
    let delayMs = MIN_RECONNECT_DELAY_MS;
    !signal.aborted;
    delayMs = Math.min(2 * delayMs, MAX_RECONNECT_DELAY_MS)
  ) {
    const wasConnected = await listenUntilDisconnected(database, channel, onNotification, signal)
    if (wasConnected) delayMs = MIN_RECONNECT_DELAY_MS
    await wait(delayMs, undefined, { ref: false, signal }).catch(() => undefined)
  }
}

/** Listens until the connection is lost. Resolves to false if it was never established. */
async function listenUntilDisconnected(
  { clientConfig }: Pick<Database, 'clientConfig'>,
  channel: string,
  onNotification: () => void,
  signal: AbortSignal,
): Promise<boolean> {
  const client = new Client({
    ...clientConfig,
    application_name: 'listing-service changes',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  })
  let resolveDisconnected = (): void => undefined
  const disconnected = new Promise<void>(resolve => {
    resolveDisconnected = resolve
  })
  signal.addEventListener('abort', resolveDisconnected)
  client.once('end', resolveDisconnected)
  // Registered for each connection, because an error event without a listener would end the process.
  client.on('error', resolveDisconnected)
  client.on('notification', onNotification)
  try {
    await client.connect()
    await client.query(`listen ${channel}`)
    onNotification()
    await disconnected
    return true
  } catch {
    return false
  } finally {
    signal.removeEventListener('abort', resolveDisconnected)
    void client.end().catch(() => undefined)
  }
}
