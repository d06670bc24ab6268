import { failSource, PositionGoneError, REPLICATION_EXIT, ReplicationError } from './failure.js'
import { HttpSource } from './http-source.js'
import type { ProgressListener } from './replication.js'
import { methodOf, runReplication } from './run.js'
import { POSTGRES_URL, type ReplicationSettings } from './settings.js'
import { parseMetadata, type SourceSet } from './source-model.js'
import { createState, typesOf } from './state.js'
import type { ReplicaTarget } from './target.js'
import { DuckDBTarget } from './targets/duckdb.js'
import { FolderTarget } from './targets/folder.js'
import { PostgresTarget } from './targets/postgres.js'

/** The signal that stops a client, and its output. */
export interface ReplicateReporter {
  readonly signal: AbortSignal
  readonly log: (line: string) => void
  readonly onProgress: ProgressListener
}

function openTarget({ to, schema }: ReplicationSettings): Promise<ReplicaTarget> {
  if (POSTGRES_URL.test(to)) return PostgresTarget.open(to, schema)
  return to.endsWith('.duckdb') ? DuckDBTarget.open(to) : FolderTarget.open(to)
}

/** Children come before their listing, so that they are removed before it. */
function chooseSets(
  all: readonly SourceSet[],
  { sets: names, filters }: ReplicationSettings,
): readonly SourceSet[] {
  const chosen = all.filter(({ name }) =>
    names ? names.includes(name) : !['EntityEvent', 'Field'].includes(name),
  )
  const isChosen = (name: string) => chosen.some(set => set.name === name)
  const unknown = names?.filter(name => !isChosen(name)) ?? []
  if (unknown.length > 0) failSource(`there is no entity set ${unknown.join(', ')}.`)
  const unused = Object.keys(filters).filter(name => !isChosen(name))
  if (unused.length > 0) failSource(`--filter names ${unused.join(', ')}, which is not a set of the copy.`)
  return [...chosen].sort((a, b) => Number(a.name === 'Property') - Number(b.name === 'Property'))
}

/** Reads the state of the target and the model of the source, and runs the replication. */
async function replicate(
  settings: ReplicationSettings,
  parts: ReplicateReporter & { readonly source: HttpSource; readonly target: ReplicaTarget },
): Promise<void> {
  const { source, target } = parts
  const { root, filters, options, steps } = settings
  const stored = await target.readState()
  const rights = await source.readRights()
  const metadata = await source.readMetadata()
  const all = parseMetadata(metadata)
  const hasDigest = /<FunctionImport [^>]*Name="Digest"/.test(metadata)
  const sets = chooseSets(all, settings)
  const mark = { source: root.href, rights, filters, sets: sets.map(({ name }) => name) }
  const state = createState(mark, methodOf(all, sets), typesOf(sets))
  await runReplication({ ...parts, sets, mark, hasDigest, options, state }, stored, steps)
}

/**
 * Copies the records that a token can see, and follows the changes until the work is done or the signal ends it.
 * @throws ReplicationError, and errors of the target
 */
export async function runClient(settings: ReplicationSettings, reporter: ReplicateReporter): Promise<void> {
  const { root, readToken, options } = settings
  const { signal, log } = reporter
  const source = new HttpSource({ root, readToken, maxWaitMs: options.maxWaitMs, signal, log })
  const target = await openTarget(settings)
  try {
    await replicate(settings, { source, target, ...reporter })
  } catch (error) {
    if (!signal.aborted) throw error
    log('Stopped. The position is stored.')
  } finally {
    await target.close()
  }
}

/** Returns what a failure means for the person who runs the client. Other errors are those of a target's driver. */
export function toReplicationError(error: unknown): ReplicationError {
  if (error instanceof ReplicationError) return error
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof PositionGoneError
    ? new ReplicationError(`Source: 410: ${message} Run the command again.`, REPLICATION_EXIT.source)
    : new ReplicationError(`Target: ${message}`, REPLICATION_EXIT.target)
}
