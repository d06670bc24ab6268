import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../database.js'
import { listenForNotifications } from './listen.js'

/** Notifies waiting readers that the change log has grown, without the new events. */
export interface ChangeFeed {
  /**
   * Calls `listener` when there may be new events. It may also be called when there are none. Returns a
   * function that unsubscribes.
   */
  subscribe(listener: () => void): () => void
}

/** The channel that the trigger of the change log notifies. */
const CHANNEL = 'entity_event'

/**
 * Interval at which the end of the log is read, in ms. Sessions of the embedded database share one backend
 * and cannot listen, so polling is the only source there. On a server, polling covers lost notifications, for
 * example with a pooler that changes connections.
 */
const POLL_INTERVAL_MS = { embedded: 250, server: 5000 } as const

/**
 * Follows the change log of a database, also for changes of other processes. It polls only while there are
 * listeners.
 */
export function createChangeFeed(database: Database): ChangeFeed {
  const listeners = new Set<() => void>()
  let activeController: AbortController | undefined
  const notifyAll = () => {
    for (const listener of listeners) listener()
  }
  const startWatching = (): AbortController => {
    const controller = new AbortController()
    void poll(database, notifyAll, controller.signal)
    if (database.kind === 'server')
      void listenForNotifications(database, CHANNEL, notifyAll, controller.signal)
    return controller
  }
  return {
    subscribe(listener) {
      // Two subscribers may pass the same function.
      const subscription = () => listener()
      listeners.add(subscription)
      activeController ??= startWatching()
      return () => {
        listeners.delete(subscription)
        if (listeners.size > 0) return
        activeController?.abort()
        activeController = undefined
      }
    },
  }
}

async function poll(database: Database, onChange: () => void, signal: AbortSignal): Promise<void> {
  // Changes written before the first read may not have been announced.
  let lastSequence: bigint | undefined
  while (await delayUnlessAborted(POLL_INTERVAL_MS[database.kind], signal)) {
    const sequence = await readLastSequence(database)
    if (sequence !== undefined && sequence !== lastSequence) onChange()
    lastSequence = sequence ?? lastSequence
  }
}

const delayUnlessAborted = (ms: number, signal: AbortSignal): Promise<boolean> =>
  wait(ms, true, { ref: false, signal }).catch(() => false)

/**
 * Returns undefined while the database is unreachable. The next successful poll finds the events in between.
 */
const readLastSequence = async ({ prisma }: Database): Promise<bigint | undefined> => {
  const newest = await prisma.entityEvent
    .findFirst({ orderBy: { EntityEventSequence: 'desc' }, select: { EntityEventSequence: true } })
    .catch(() => undefined)
  return newest === undefined ? undefined : (newest?.EntityEventSequence ?? 0n)
}
