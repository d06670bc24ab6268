import { checkDeletions } from './deletions.js'
import { failSource, InterruptedResponseError } from './failure.js'
import { pause } from './pause.js'
import { BATCH_RECORDS, keyOfLine, literalOf, queryOf, type Replication } from './replication.js'
import type { SourceSet } from './source-model.js'
import type { ReplicaState } from './state.js'

const MAX_BATCH_BYTES = 4_000_000
const RETRY_MS = 1000

/** Returns the number of the last event that the token can see. */
export async function readLastSequence({ source }: Pick<Replication, 'source'>): Promise<string> {
  const page = await source.readJson(
    'EntityEvent?$orderby=EntityEventSequence desc&$top=1&$select=EntityEventSequence',
  )
  return rowsOf(page)[0]?.['EntityEventSequence']?.toString() ?? '0'
}

export type SourceRow = Readonly<Record<string, unknown>>

/** Returns the records of a page. */
export function rowsOf(page: unknown): readonly SourceRow[] {
  const value = typeof page === 'object' && page && 'value' in page ? page.value : undefined
  if (!Array.isArray(value)) return failSource('the response is not a collection.')
  return value as readonly SourceRow[] // collections hold objects
}

/** Begins a full copy. The present records remain until it is complete. */
export async function beginCopy(replication: Replication, state: ReplicaState): Promise<void> {
  const position = state.method === 'log' ? await readLastSequence(replication) : '0'
  replication.state = {
    ...state,
    generation: state.generation + 1,
    phase: 'copy',
    position,
    copied: {},
    times: {},
    sweptAt: undefined,
    deletions: undefined,
  }
  await replication.target.beginCopy(replication.sets, replication.state)
}

/** Copies all sets by NDJSON exports in the order of the key, and continues after the last stored record. */
export async function copyByExport(replication: Replication): Promise<void> {
  for (const set of replication.sets) await copyWholeSet(replication, set)
  await finishCopy(replication)
}

/** Continues an export that was interrupted, unless no record has arrived during the maximum wait. */
async function copyWholeSet(replication: Replication, set: SourceSet): Promise<void> {
  const progressOf = () => replication.state.copied[set.name]
  let [lastKey, reachedAt] = [progressOf()?.lastKey, Date.now()]
  while (progressOf()?.isDone !== true) {
    try {
      await copySet(replication, set)
    } catch (error) {
      if (!(error instanceof InterruptedResponseError)) throw error
      replication.signal.throwIfAborted()
      if (progressOf()?.lastKey !== lastKey) [lastKey, reachedAt] = [progressOf()?.lastKey, Date.now()]
      if (Date.now() - reachedAt >= replication.options.maxWaitMs)
        failSource(
          `the export of ${set.name} is interrupted each time (${error.message}). Run the command again.`,
        )
      replication.log(`${set.name}: ${error.message}; continuing after the last record`)
      await pause(RETRY_MS, replication.signal)
    }
  }
}

async function copySet(replication: Replication, set: SourceSet): Promise<void> {
  const { source, target, onProgress } = replication
  const total = Number(
    await source.readText(
      queryOf(replication, { ...set, name: `${set.name}/$count` }, filterOf(replication, set)),
      'text/plain',
    ),
  )
  const lastKey = replication.state.copied[set.name]?.lastKey
  const after = lastKey === undefined ? [] : [`${set.key} gt ${literalOf(lastKey)}`]
  let count = (await target.count(set, replication.state.generation)).total
  let lines: string[] = []
  let bytes = 0
  const flush = async (isDone: boolean) => {
    const last = lines.at(-1)
    const reached = last === undefined ? replication.state.copied[set.name]?.lastKey : keyOfLine(last, set)
    const copied = { ...replication.state.copied, [set.name]: { lastKey: reached, isDone } }
    const state = { ...replication.state, copied }
    await target.write([{ set, lines, removed: [] }], state)
    replication.state = state
    count += lines.length
    onProgress(`Copying ${set.name}`, Math.min(count, total), total)
    lines = []
    bytes = 0
  }
  try {
    for await (const line of source.streamExport(queryOf(replication, set, after))) {
      lines.push(line)
      bytes += line.length
      if (lines.length >= BATCH_RECORDS || bytes > MAX_BATCH_BYTES) await flush(false)
    }
  } catch (error) {
    // The lines before the end of a broken export are complete.
    if (error instanceof InterruptedResponseError && lines.length > 0) await flush(false)
    throw error
  }
  await flush(true)
}

/** The name of the set with `/$count` is not a key of the filters, so its filter is looked up here. */
const filterOf = ({ mark }: Replication, { name }: SourceSet): readonly string[] =>
  mark.filters[name] === undefined ? [] : [`(${mark.filters[name]})`]

/** Removes the records that the copy has not seen, children before their listing. */
export async function finishCopy(replication: Replication): Promise<void> {
  const { target, sets, options, log } = replication
  for (const set of sets) {
    const { total, stale } = await target.count(set, replication.state.generation)
    if (!options.allowDeletions) checkDeletions(set, stale, total)
    if (stale > 0) log(`${set.name}: ${stale} records no longer exist in the source`)
  }
  const state: ReplicaState = { ...replication.state, phase: 'follow' }
  await target.finishCopy(replication.sets, state)
  replication.state = state
}
