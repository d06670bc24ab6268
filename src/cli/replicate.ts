import { readFile } from 'node:fs/promises'
import { messageOf } from '../errors/problem.js'
import { onStopSignal } from '../process/stop.js'
import { failSource, ReplicationError } from '../replicate/failure.js'
import { HttpSource } from '../replicate/http-source.js'
import type { Replication } from '../replicate/replication.js'
import { methodOf, runReplication } from '../replicate/run.js'
import { parseMetadata, type SourceSet } from '../replicate/source-model.js'
import { createState, typesOf } from '../replicate/state.js'
import type { ReplicaTarget } from '../replicate/target.js'
import { DuckDBTarget } from '../replicate/targets/duckdb.js'
import { FolderTarget } from '../replicate/targets/folder.js'
import { PostgresTarget } from '../replicate/targets/postgres.js'
import { exitWithUsage, parseCommandLine } from './command.js'
import { ProgressDisplay } from './progress-display.js'

// npm run replicate: copies the records that a token can see into a database or a folder, and follows the changes.

const USAGE = `usage: npm run replicate -- --from URL --to postgres://… | FOLDER | FILE.duckdb
  [--token-file FILE | --token T]  default: the environment variable REPLICATE_TOKEN
  [--sets Property,Media] [--filter "Property=City eq 'Vail'"] [--schema replica]
  [--once] [--verify] [--repair] [--interval SECONDS] [--sweep-hours N] [--max-wait SECONDS]
  [--recopy] [--accept-change] [--allow-deletions]`

/** Seconds for which a run with --once waits for a busy or unavailable source. */
const MAX_WAIT_ONCE = '60'

function readArguments() {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseCommandLine(USAGE, {
    options: {
      from: text,
      to: text,
      token: text,
      'token-file': text,
      sets: text,
      filter: { type: 'string', multiple: true, default: [] },
      schema: { type: 'string', default: 'replica' },
      interval: { type: 'string', default: '5' },
      'sweep-hours': { type: 'string', default: '24' },
      'max-wait': text,
      once: flag,
      verify: flag,
      repair: flag,
      recopy: flag,
      'accept-change': flag,
      'allow-deletions': flag,
    },
  })
  return values
}
type ReplicateArguments = ReturnType<typeof readArguments>

function readSeconds(name: string, text: string): number {
  return /^\d{1,8}(\.\d+)?$/.test(text)
    ? Number(text)
    : exitWithUsage(USAGE, `--${name} is '${text}'; expected a number.`)
}

/** Returns the service root of `--from`, which may omit `/odata`. */
function findRoot(from: string | undefined): URL {
  const url =
    from !== undefined && URL.canParse(from) ? new URL(from) : exitWithUsage(USAGE, '--from must be a URL.')
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    exitWithUsage(USAGE, '--from must begin with https:// or http://.')
  url.search = ''
  url.pathname = `${url.pathname === '/' ? '/odata' : url.pathname.replace(/\/+$/, '')}/`
  return url
}

function tokenReader({ token, 'token-file': file }: ReplicateArguments): () => Promise<string> {
  const fromEnvironment = process.env['REPLICATE_TOKEN']
  if (file !== undefined) return async () => (await readFile(file, 'utf8')).trim()
  const text = token ?? fromEnvironment
  return text === undefined || text === ''
    ? exitWithUsage(USAGE, 'There is no token: set REPLICATE_TOKEN, or use --token-file.')
    : async () => text
}

function readFilters(filters: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    filters.map(text => {
      const [, set, filter] =
        /^(\w+)=(.+)$/s.exec(text) ?? exitWithUsage(USAGE, `--filter is '${text}'; expected SET=FILTER.`)
      return [set ?? '', filter ?? '']
    }),
  )
}

function openTarget(to: string | undefined, schema: string): Promise<ReplicaTarget> {
  if (to === undefined || to === '') return exitWithUsage(USAGE, '--to is missing.')
  if (/^postgres(ql)?:\/\//.test(to)) return PostgresTarget.open(to, schema)
  return to.endsWith('.duckdb') ? DuckDBTarget.open(to) : FolderTarget.open(to)
}

/** Children come before their listing, so that they are removed before it. */
function chooseSets(all: readonly SourceSet[], wanted: string | undefined): readonly SourceSet[] {
  const names = wanted?.split(',').map(name => name.trim())
  const unknown = names?.filter(name => !all.some(set => set.name === name)) ?? []
  if (unknown.length > 0) failSource(`there is no entity set ${unknown.join(', ')}.`)
  const chosen = all.filter(({ name }) =>
    names ? names.includes(name) : !['EntityEvent', 'Field'].includes(name),
  )
  return [...chosen].sort((a, b) => Number(a.name === 'Property') - Number(b.name === 'Property'))
}

/** Reads the state of the target and the model of the source, and runs the replication. */
async function replicate(
  values: ReplicateArguments,
  root: URL,
  parts: Pick<Replication, 'source' | 'target' | 'signal' | 'log' | 'onProgress'>,
): Promise<void> {
  const { source, target } = parts
  const stored = await target.readState()
  const metadata = await source.readText('$metadata', 'application/xml')
  const all = parseMetadata(metadata)
  const hasDigest = /<FunctionImport [^>]*Name="Digest"/.test(metadata)
  const sets = chooseSets(all, values.sets)
  const names = sets.map(({ name }) => name)
  const mark = {
    source: root.href,
    rights: await source.readRights(),
    filters: readFilters(values.filter),
    sets: names,
  }
  const options = {
    once: values.once,
    recopy: values.recopy,
    acceptChange: values['accept-change'],
    allowDeletions: values['allow-deletions'],
    intervalMs: readSeconds('interval', values.interval) * 1000,
    sweepIntervalMs: readSeconds('sweep-hours', values['sweep-hours']) * 3_600_000,
  }
  const state = createState(mark, methodOf(all, sets), typesOf(sets))
  await runReplication({ ...parts, sets, mark, hasDigest, options, state }, stored, values)
}

const writeLine = (line: string): void => {
  process.stderr.write(`${new Date().toISOString()} ${line}\n`)
}

async function main(): Promise<void> {
  const values = readArguments()
  const root = findRoot(values.from)
  const readToken = tokenReader(values)
  const stop = new AbortController()
  onStopSignal(() => stop.abort())
  const progress = new ProgressDisplay()
  const log = (line: string) => progress.interrupt(() => writeLine(line))
  const maxWait = values['max-wait'] ?? (values.once ? MAX_WAIT_ONCE : undefined)
  const maxWaitMs = maxWait === undefined ? Number.POSITIVE_INFINITY : readSeconds('max-wait', maxWait) * 1000
  const { signal } = stop
  const source = new HttpSource({ root, readToken, maxWaitMs, signal, log })
  const target = await openTarget(values.to, values.schema)
  const onProgress: Replication['onProgress'] = (step, count, total) => progress.update(step, count, total)
  try {
    await replicate(values, root, { source, target, signal, log, onProgress })
  } catch (error) {
    if (!signal.aborted) throw error
    log('Stopped. The position is stored.')
  } finally {
    progress.stop()
    await target.close()
  }
}

/** An error of the target comes from its driver and has no message of the service. */
main().catch((error: unknown) => {
  process.stderr.write(
    `${error instanceof ReplicationError ? error.message : `Target: ${messageOf(error)}`}\n`,
  )
  process.exitCode = error instanceof ReplicationError ? error.exitCode : 5
})
