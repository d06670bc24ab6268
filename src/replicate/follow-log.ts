import { readLastSequence, rowsOf, type SourceRow } from './copy.js'
import { DeletionGuard } from './deletions.js'
import { keyOfLine, literalOf, queryOf, type Replication, toKeyLists } from './replication.js'
import type { SourceSet } from './source-model.js'
import type { SetChange } from './target.js'

const EVENTS = 500

/**
 * Applies the events after the position, page by page, up to the end that the log has now. Later ones follow in the
 * next run: beside writers the log would have no end. Returns the number of events.
 */
export async function followLog(replication: Replication): Promise<number> {
  const guard = new DeletionGuard(replication)
  const end = Number(await readLastSequence(replication))
  const start = Number(replication.state.position)
  let count = 0
  // An end before the position can be that of another log. The source answers 410 then.
  for (let isDone = start === end; !isDone; ) {
    const events = await readEvents(replication)
    if (events.length > 0) await applyEvents(replication, guard, events)
    count += events.length
    const reached = Number(replication.state.position)
    isDone = events.length === 0 || reached >= end
    if (end > start) replication.onProgress('Following', Math.min(reached, end) - start, end - start)
  }
  await forgetDeletions(replication)
  await replication.target.compact(replication.state)
  return count
}

async function readEvents({ source, state }: Replication): Promise<readonly SourceRow[]> {
  const filter = encodeURIComponent(`EntityEventSequence gt ${state.position}`)
  return rowsOf(
    await source.readJson(`EntityEvent?$filter=${filter}&$orderby=EntityEventSequence&$top=${EVENTS}`),
  )
}

/** Resets the counts of deletions, since the copy is up to date. */
async function forgetDeletions(replication: Replication): Promise<void> {
  if (replication.state.deletions === undefined) return
  const state = { ...replication.state, deletions: undefined }
  await replication.target.write([], state)
  replication.state = state
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
  const position = String(events.at(-1)?.['EntityEventSequence'])
  const deletions = Object.keys(guard.counts).length > 0 ? guard.counts : undefined
  const state = { ...replication.state, position, deletions }
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
    for (const line of await replication.source.readExport(queryOf(replication, set, [condition]))) {
      lines.push(line)
      missing.delete(keyOfLine(line, set))
    }
  }
  return { set, lines, removed: [...missing] }
}
