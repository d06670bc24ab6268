import { rowsOf, type SourceRow } from './copy.js'
import { checkDeletions } from './deletions.js'
import { failSource } from './failure.js'
import { literalOf, queryOf, type Replication, toKeyLists } from './replication.js'
import type { SourceSet } from './source-model.js'
import type { TimePosition } from './state.js'

const PAGE = 1000
const TIME = 'ModificationTimestamp'
/** Before every record. Records without a time do not match, wherever the source sorts them. */
const START: TimePosition = { time: '1900-01-01T00:00:00Z', key: '' }
/** Keys of one request. Some servers accept few conditions. */
const KEYS = 40

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
  const { time, key } = replication.state.times[set.name] ?? START
  const after = [`(${TIME} gt ${time} or (${TIME} eq ${time} and ${set.key} gt ${literalOf(key)}))`]
  const order = [`$orderby=${TIME},${set.key}`, `$top=${PAGE}`]
  const rows = rowsOf(await replication.source.readJson(queryOf(replication, set, after, order)))
  checkOrder(set, rows, time)
  // A server that truncates timestamps in responses returns the last record again.
  const isRepeated = rows.length > 0 && rows.every(row => row[TIME] === time && String(row[set.key]) <= key)
  return isRepeated ? [] : rows
}

/** A server that ignores $orderby would make the copy incomplete. */
function checkOrder(set: SourceSet, rows: readonly SourceRow[], start: string): void {
  let before = Date.parse(start)
  for (const row of rows) {
    const time = Date.parse(String(row[TIME]))
    if (!(time >= before))
      failSource(`${set.name} is not returned in the order of $orderby=${TIME},${set.key}.`)
    before = time
  }
}

async function storePage(
  replication: Replication,
  set: SourceSet,
  rows: readonly SourceRow[],
): Promise<void> {
  const last = rows.at(-1)
  const position = last && { time: String(last[TIME]), key: String(last[set.key]) }
  const times = { ...replication.state.times, ...(position && { [set.name]: position }) }
  const state = { ...replication.state, times }
  await replication.target.write([{ set, lines: toLines(set, rows), removed: [] }], state)
  replication.state = state
}

/** Returns a line for each key: a server can repeat a record on a page. */
const toLines = (set: SourceSet, rows: readonly SourceRow[]): readonly string[] => [
  ...new Map(rows.map(row => [String(row[set.key]), JSON.stringify(row)])).values(),
]

/** Numbers of records that a sweep found. */
interface SweepResult {
  readonly added: number
  readonly removed: number
}

/**
 * Compares the keys, reads the records that the copy does not have, and removes those that a complete sweep has not
 * shown. The end of a new copy removes them itself.
 */
export async function sweepKeys(replication: Replication): Promise<SweepResult> {
  const { target, options, state: start } = replication
  const generation = start.phase === 'copy' ? start.generation : undefined
  let [added, removed] = [0, 0]
  for (const set of replication.sets) {
    const missing = await readSourceKeys(replication, set)
    const gone: string[] = []
    const own = await target.readKeys(set, { generation })
    for (const key of own.keys()) if (!missing.delete(key) && generation === undefined) gone.push(key)
    if (!options.allowDeletions) checkDeletions(set, gone.length, own.size)
    const lines = await readByKeys(replication, set, [...missing])
    if (lines.length + gone.length > 0) await target.write([{ set, lines, removed: gone }], replication.state)
    added += lines.length
    removed += gone.length
  }
  const state = { ...replication.state, sweptAt: new Date().toISOString() }
  await target.write([], state)
  replication.state = state
  return { added, removed }
}

async function readByKeys(
  replication: Replication,
  set: SourceSet,
  keys: readonly string[],
): Promise<readonly string[]> {
  const lines: string[] = []
  for (const list of toKeyLists(keys, KEYS)) {
    const condition = list.map(key => `${set.key} eq ${literalOf(key)}`).join(' or ')
    const page = await replication.source.readJson(queryOf(replication, set, [`(${condition})`]))
    lines.push(...toLines(set, rowsOf(page)))
  }
  return lines
}

/** Reads all keys in their order, until a page is empty. */
async function readSourceKeys(replication: Replication, set: SourceSet): Promise<Set<string>> {
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
