import { rowsOf, type SourceRow } from './copy.js'
import { DeletionGuard } from './deletions.js'
import { failSource } from './failure.js'
import { literalOf, queryOf, type Replication } from './replication.js'
import type { SourceSet } from './source-model.js'

const PAGE = 1000
const TIME = 'ModificationTimestamp'

/** True if polling can find the changes of a set. */
export const hasTime = ({ fields }: SourceSet): boolean => fields.some(({ name }) => name === TIME)

/**
 * Reads the records after the last one in the order of time and key, until a page is empty. Needs no
 * nextLink, and allows any page size of the server. Returns the number of records.
 */
export async function followTime(replication: Replication): Promise<number> {
  let count = 0
  for (const set of replication.sets.filter(hasTime))
    for (;;) {
      const rows = await readPage(replication, set)
      if (rows.length === 0) break
      await storePage(replication, set, rows)
      count += rows.length
      replication.onProgress(`Reading ${set.name}`, count, undefined)
    }
  return count
}

async function readPage(replication: Replication, set: SourceSet): Promise<readonly SourceRow[]> {
  const last = replication.state.times[set.name]
  const after = last
    ? [`(${TIME} gt ${last.time} or (${TIME} eq ${last.time} and ${set.key} gt ${literalOf(last.key)}))`]
    : []
  const order = [`$orderby=${TIME},${set.key}`, `$top=${PAGE}`]
  const rows = rowsOf(await replication.source.readJson(queryOf(replication, set, after, order)))
  checkOrder(set, rows, last?.time)
  // A server that truncates timestamps in responses returns the last record again.
  const isRepeated =
    rows.length > 0 &&
    rows.every(row => row[TIME] === last?.time && String(row[set.key]) <= (last?.key ?? ''))
  return isRepeated ? [] : rows
}

/** A server that ignores $orderby would make the copy incomplete. */
function checkOrder(set: SourceSet, rows: readonly SourceRow[], start: string | undefined): void {
  let before = start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(start)
  for (const row of rows) {
    const time = row[TIME] === null ? Number.NEGATIVE_INFINITY : Date.parse(String(row[TIME]))
    if (time < before) failSource(`${set.name} does not come in the order of $orderby=${TIME},${set.key}.`)
    before = time
  }
}

async function storePage(
  replication: Replication,
  set: SourceSet,
  rows: readonly SourceRow[],
): Promise<void> {
  const last = rows.at(-1)
  const times =
    last && last[TIME] !== null
      ? { ...replication.state.times, [set.name]: { time: String(last[TIME]), key: String(last[set.key]) } }
      : replication.state.times
  const state = { ...replication.state, times }
  await replication.target.write([{ set, lines: rows.map(row => JSON.stringify(row)), removed: [] }], state)
  replication.state = state
}

/** Reads all keys of the source, and removes the records that it no longer has. Returns their number. */
export async function sweepKeys(replication: Replication): Promise<number> {
  const guard = new DeletionGuard(replication)
  let count = 0
  for (const set of replication.sets) {
    const keys = await readSourceKeys(replication, set)
    const removed = [...(await replication.target.readKeys(set, undefined)).keys()].filter(
      key => !keys.has(key),
    )
    await guard.check(set, removed.length)
    if (removed.length > 0) await replication.target.write([{ set, lines: [], removed }], replication.state)
    count += removed.length
  }
  const state = { ...replication.state, sweptAt: new Date().toISOString() }
  await replication.target.write([], state)
  replication.state = state
  return count
}

/** Reads all keys in their order, until a page is empty. */
async function readSourceKeys(replication: Replication, set: SourceSet): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  for (let last: string | undefined; ; ) {
    const after: readonly string[] = last === undefined ? [] : [`${set.key} gt ${literalOf(last)}`]
    const page = await replication.source.readJson(
      queryOf(replication, set, after, [`$select=${set.key}`, `$orderby=${set.key}`, `$top=${PAGE}`]),
    )
    const rows = rowsOf(page)
    if (rows.length === 0) return keys
    const before = keys.size
    for (const row of rows) keys.add(String(row[set.key]))
    if (keys.size === before) failSource(`${set.name} cannot be read in the order of ${set.key}.`)
    last = String(rows.at(-1)?.[set.key])
  }
}
