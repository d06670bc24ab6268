import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../database.js'
import { listenToServer } from './listen.js'

/** Tells that the change log has grown, to whoever waits for it: that, and not by what. */
export interface ChangeFeed {
  /**
   * Calls `wake` whenever there may be something new, now and then without any reason. Returns what ends it.
   */
  follow(wake: () => void): () => void
}

/**
 * How often the end of the log is looked at. The sessions of the embedded database share one backend, so that
 * none of them can listen: there it is the only way. Beside the notices of a server it is for those that
 * never come, such as behind a pooler that changes connections.
 */
const LOOK_MS = { embedded: 250, server: 5000 } as const

/**
 * Follows the change log of a database, by all processes that write it. It works only while somebody waits.
 */
export function createChangeFeed(database: Database): ChangeFeed {
  const wakes = new Set<() => void>()
  let stop: AbortController | undefined
  const wakeAll = () => {
    for (const wake of wakes) wake()
  }
  const start = (): AbortController => {
    const controller = new AbortController()
    void look(database, wakeAll, controller.signal)
    if (database.kind === 'server') void listenToServer(database, wakeAll, controller.signal)
    return controller
  }
  return {
    follow(wake) {
      // Two may bring the same function.
      const own = () => wake()
      wakes.add(own)
      stop ??= start()
      return () => {
        wakes.delete(own)
        if (wakes.size > 0) return
        stop?.abort()
        stop = undefined
      }
    },
  }
}

async function look(database: Database, wakeAll: () => void, signal: AbortSignal): Promise<void> {
  // What was written before the first look is not known to have been told.
  let seen: bigint | undefined
  while (await passes(LOOK_MS[database.kind], signal)) {
    const end = await readEnd(database)
    if (end !== undefined && end !== seen) wakeAll()
    seen = end ?? seen
  }
}

const passes = (ms: number, signal: AbortSignal): Promise<boolean> =>
  wait(ms, true, { ref: false, signal }).catch(() => false)

/**
 * Undefined while the database is away: then there is nothing to tell, and the next look finds what has
 * happened.
 */
const readEnd = async ({ prisma }: Database): Promise<bigint | undefined> => {
  const newest = await prisma.entityEvent
    .findFirst({ orderBy: { EntityEventSequence: 'desc' }, select: { EntityEventSequence: true } })
    .catch(() => undefined)
  return newest === undefined ? undefined : (newest?.EntityEventSequence ?? 0n)
}
