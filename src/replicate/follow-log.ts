import { setTimeout as wait } from 'node:timers/promises'
import { readLastSequence, rowsOf, type SourceRow } from './copy.js'
import { DeletionGuard } from './deletions.js'
import { InterruptedResponseError } from './failure.js'
import { keyOfLine, literalOf, queryOf, type Replication, toKeyLists } from './replication.js'
import type { SourceSet } from './source-model.js'
import type { SetChange } from './target.js'

const EVENTS = 500

/** Applies the events after the position, page by page, until there are none. Returns their number. */
export async function followLog(replication: Replication): Promise<number> {
  const guard = new DeletionGuard(replication)
  const end = Number(await readLastSequence(replication))
  const start = Number(replication.state.position)
  let count = 0
  for (;;) {
    const { position } = replication.state
    const filter = encodeURIComponent(`EntityEventSequence gt ${position}`)
    const page = await replication.source.readJson(
      `EntityEvent?$filter=${filter}&$orderby=EntityEventSequence&$top=${EVENTS}`,
    )
    const events = rowsOf(page)
    if (events.length === 0) break
    await applyEvents(replication, guard, events)
    count += events.length
    if (end > start)
      replication.onProgress(
        'Following',
        Math.min(Number(replication.state.position), end) - start,
        end - start,
      )
  }
  await replication.target.settle(replication.state)
  return count
}

async function applyEvents(
  replication: Replication,
  guard: DeletionGuard,
  events: readonly SourceRow[],
): Promise<void> {
  const changes: SetChange[] = []
  for (const set of replication.sets) {
    const own = events.filter(event => event['ResourceName'] === set.name)
    const keys = [...new Set(own.map(event => String(event['ResourceRecordKey'])))]
    if (keys.length > 0) changes.push(await fetchRecords(replication, set, keys))
  }
  for (const { set, removed } of changes) await guard.check(set, removed.length)
  const state = { ...replication.state, position: String(events.at(-1)?.['EntityEventSequence']) }
  await replication.target.write(changes, state)
  replication.state = state
}

/**
 * Reads records by their keys. A key that is missing from a complete response was deleted or is no longer
 * visible.
 */
export async function fetchRecords(
  replication: Replication,
  set: SourceSet,
  keys: readonly string[],
): Promise<SetChange> {
  const lines: string[] = []
  const missing = new Set(keys)
  for (const list of toKeyLists(keys)) {
    const condition = `${set.key} in (${list.map(literalOf).join(',')})`
    for (const line of await readWholeExport(replication, queryOf(replication, set, [condition]))) {
      lines.push(line)
      missing.delete(keyOfLine(line, set))
    }
  }
  return { set, lines, removed: [...missing] }
}

/** Reads an export, and repeats it until it is complete. */
export async function readWholeExport(
  { source, signal, log }: Replication,
  target: string,
): Promise<readonly string[]> {
  for (;;) {
    try {
      return await source.readExport(target)
    } catch (error) {
      if (!(error instanceof InterruptedResponseError)) throw error
      log(`${error.message}; reading it again`)
      await wait(1000, undefined, { signal })
    }
  }
}
