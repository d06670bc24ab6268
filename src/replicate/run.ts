import { beginCopy, copyByExport, finishCopy } from './copy.js'
import { failFlag, failSource, failTarget, PositionGoneError } from './failure.js'
import { followLog } from './follow-log.js'
import { followTime, hasTime, sweepKeys } from './follow-time.js'
import { pause } from './pause.js'
import { dependsOnOtherRecords, type Replication } from './replication.js'
import { parseMetadata, type SourceSet } from './source-model.js'
import { type ReplicaState, TARGET_LAYOUT_VERSION, typesOf } from './state.js'
import { verify } from './verify.js'

/** Runs after which the model of the source is read again: five minutes with the default interval. */
const RUNS_PER_MODEL = 60

/** Options of the verification, which runs once the copy is up to date. */
export interface VerifyOptions {
  readonly verify: boolean
  readonly repair: boolean
}

const hasField = (sets: readonly SourceSet[], set: string, field: string): boolean =>
  sets.some(({ name, fields }) => name === set && fields.some(({ name: f }) => f === field))

/**
 * Returns `log` if the source has a change log and its records have positions in it, as this service does.
 */
export const methodOf = (sets: readonly SourceSet[], copied: readonly SourceSet[]): ReplicaState['method'] =>
  hasField(sets, 'EntityEvent', 'EntityEventSequence') &&
  copied.every(({ name }) => hasField(sets, name, 'LastEventSequence'))
    ? 'log'
    : 'time'

/** Copies, follows and verifies until the work is done or the signal ends it. */
export async function runReplication(
  replication: Replication,
  stored: ReplicaState | undefined,
  steps: VerifyOptions,
): Promise<void> {
  if (steps.verify && replication.state.method === 'time')
    failSource('--verify needs LastEventSequence, which this source does not have.')
  warnOfFilters(replication)
  await prepare(replication, stored)
  await catchUp(replication)
  const { method, position } = replication.state
  replication.log(`Up to date${method === 'log' ? ` at event ${position}` : ''}.`)
  if (steps.verify) await verify(replication, steps.repair)
  if (!replication.options.once) await follow(replication)
}

/** Brings the copy up to date after each interval, until the signal ends it. */
async function follow(replication: Replication): Promise<never> {
  const { options, signal, log } = replication
  for (let [current, run] = [replication, 1]; ; run++) {
    await pause(options.intervalMs, signal)
    if (run % RUNS_PER_MODEL === 0) current = await adoptModel(current)
    const count = await catchUp(current)
    if (count > 0) log(`${count} changes`)
  }
}

/** Reads the model of the source again. New and removed fields begin a new copy. */
async function adoptModel(replication: Replication): Promise<Replication> {
  const { source, state } = replication
  const all = parseMetadata(await source.readMetadata())
  const sets = replication.sets.map(
    ({ name }) =>
      all.find(set => set.name === name) ?? failSource(`there is no entity set ${name} any more.`),
  )
  const model = typesOf(sets)
  const reason = describeModelChange(state.model, model)
  if (reason === undefined) return replication
  const next = { ...replication, sets }
  logModelChange(next, reason)
  await beginCopy(next, { ...state, model })
  return next
}

const logModelChange = ({ log }: Replication, reason: string): void =>
  log(`The model of the source has changed (${reason}): making a new copy beside the old one.`)

function warnOfFilters({ mark, log }: Replication): void {
  for (const [set, filter] of Object.entries(mark.filters))
    if (dependsOnOtherRecords(filter))
      log(
        `The filter of ${set} reads related records or the clock. Use --verify --repair to find records that these add or remove.`,
      )
}

/** Decides whether the stored copy is continued, started again or refused. */
async function prepare(replication: Replication, stored: ReplicaState | undefined): Promise<void> {
  const { target, sets, mark, options, log, state } = replication
  if (!stored) {
    log('The target is empty: making the first copy.')
    return beginCopy(replication, state)
  }
  if (stored.layout !== TARGET_LAYOUT_VERSION)
    failTarget(
      `the copy has the layout ${stored.layout}; this client writes ${TARGET_LAYOUT_VERSION}. Choose another target.`,
    )
  const changed = describeOriginChange(stored.mark, mark)
  if (changed !== undefined && !options.acceptChange)
    failFlag(
      `The target holds a copy with ${changed}. Use --accept-change to copy again with the new options.`,
    )
  const reason = describeModelChange(stored.model, state.model)
  await target.resume(sets, stored)
  replication.state = stored
  const next = { ...stored, mark, model: state.model, method: state.method }
  if (changed !== undefined || options.recopy) {
    log(`Making a new copy beside the old one: ${changed ?? '--recopy'}.`)
    return beginCopy(replication, next)
  }
  if (reason !== undefined || stored.method !== state.method) {
    logModelChange(replication, reason ?? 'another method')
    return beginCopy(replication, next)
  }
}

/** A target can store the members in another order. */
const toSortedText = (filters: ReplicaState['mark']['filters']): string =>
  JSON.stringify(Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Describes the first difference between the origins of two copies. */
function describeOriginChange(a: ReplicaState['mark'], b: ReplicaState['mark']): string | undefined {
  if (a.source !== b.source) return `another source (${a.source})`
  if (a.rights !== b.rights) return 'other rights of the token'
  if (toSortedText(a.filters) !== toSortedText(b.filters)) return 'other filters'
  return JSON.stringify(a.sets) === JSON.stringify(b.sets) ? undefined : `other sets (${a.sets.join(', ')})`
}

/** Describes added and removed fields. A changed type is refused, since the columns have the old one. */
function describeModelChange(a: ReplicaState['model'], b: ReplicaState['model']): string | undefined {
  const notes: string[] = []
  for (const set of Object.keys(b)) {
    const [old, now] = [a[set] ?? {}, b[set] ?? {}]
    const other = Object.keys(now).filter(field => old[field] !== undefined && old[field] !== now[field])
    if (other.length > 0)
      failTarget(
        `the types of ${other.map(field => `${set}.${field} (${old[field]}, now ${now[field]})`).join(', ')} have changed. Choose another target.`,
      )
    notes.push(
      ...Object.keys(now)
        .filter(field => old[field] === undefined)
        .map(field => `new field ${set}.${field}`),
    )
    notes.push(
      ...Object.keys(old)
        .filter(field => now[field] === undefined)
        .map(field => `removed field ${set}.${field}`),
    )
  }
  return notes.length === 0 ? undefined : notes.join(', ')
}

/** Brings the copy up to date. Returns the number of changes. */
async function catchUp(replication: Replication): Promise<number> {
  if (replication.state.method === 'time') return catchUpByTime(replication)
  try {
    if (replication.state.phase === 'copy') await copyByExport(replication)
    return await followLog(replication)
  } catch (error) {
    if (!(error instanceof PositionGoneError)) throw error
    replication.log(
      `The log of the source no longer has the events after ${replication.state.position}: making a new copy beside the old one.`,
    )
    await beginCopy(replication, replication.state)
    return catchUp(replication)
  }
}

async function catchUpByTime(replication: Replication): Promise<number> {
  const { sets, target } = replication
  const without = sets.filter(set => !hasTime(set)).map(({ name }) => name)
  if (without.length > 0)
    failSource(`${without.join(', ')} have no ModificationTimestamp. Leave them out with --sets.`)
  const count = await followTime(replication)
  const swept = await sweepIfDue(replication)
  if (replication.state.phase === 'copy') await finishCopy(replication)
  await target.compact(replication.state)
  return count + swept
}

async function sweepIfDue(replication: Replication): Promise<number> {
  const { options, log } = replication
  const { phase, sweptAt } = replication.state
  const isDue =
    phase === 'copy' || sweptAt === undefined || Date.now() - Date.parse(sweptAt) >= options.sweepIntervalMs
  if (!isDue && !options.once) return 0
  const { added, removed } = await sweepKeys(replication)
  log(`Sweep of all keys: ${removed} records removed, ${added} added. Deletions are found by sweeps only.`)
  return added + removed
}
