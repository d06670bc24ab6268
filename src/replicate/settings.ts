import { readFile } from 'node:fs/promises'
import type { parseArgs } from 'node:util'
import { failUsage } from './failure.js'
import type { ReplicationOptions } from './replication.js'
import type { VerifyOptions } from './run.js'

/** Seconds for which a run with --once waits for a busy or unavailable source. */
const MAX_WAIT_ONCE = '60'

/** The address of a PostgreSQL database. */
export const POSTGRES_URL = /^postgres(ql)?:\/\//

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const

/** Options of the command, as parseArgs of Node.js reads them. */
export const REPLICATE_OPTIONS = {
  from: text,
  to: text,
  token: text,
  'token-file': text,
  sets: text,
  filter: { type: 'string', multiple: true, default: [] as string[] },
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
} as const

/** Values of the options. */
export type ReplicateValues = ReturnType<typeof parseArgs<{ options: typeof REPLICATE_OPTIONS }>>['values']

/** Settings of the client. */
export interface ReplicationSettings {
  readonly root: URL
  readonly to: string
  readonly schema: string
  /** Names of the sets to copy. All sets if undefined. */
  readonly sets: readonly string[] | undefined
  readonly filters: Readonly<Record<string, string>>
  readonly readToken: () => Promise<string>
  readonly options: ReplicationOptions
  readonly steps: VerifyOptions
}

function readSeconds(name: string, value: string): number {
  return /^\d{1,8}(\.\d+)?$/.test(value)
    ? Number(value)
    : failUsage(`--${name} is '${value}'; expected a number.`)
}

/** Returns the service root of `--from`, which may omit `/odata`. */
function findRoot(from: string | undefined): URL {
  const url = from !== undefined && URL.canParse(from) ? new URL(from) : failUsage('--from must be a URL.')
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    failUsage('--from must begin with https:// or http://.')
  url.search = ''
  url.pathname = `${url.pathname === '/' ? '/odata' : url.pathname.replace(/\/+$/, '')}/`
  return url
}

/** Returns `--to`. The address of another database is not the name of a folder. It can have a password, so it is not shown. */
function readTarget(to: string | undefined): string {
  if (to === undefined || to === '') return failUsage('--to is missing.')
  return /^[a-z][\w+.-]+:\/\//i.test(to) && !POSTGRES_URL.test(to)
    ? failUsage('--to is the address of an unknown kind of target.')
    : to
}

function tokenReader(values: ReplicateValues, environment: string | undefined): () => Promise<string> {
  const file = values['token-file']
  if (file !== undefined) return async () => (await readFile(file, 'utf8')).trim()
  const token = values.token ?? environment
  return token === undefined || token === ''
    ? failUsage('There is no token: set REPLICATE_TOKEN, or use --token-file.')
    : async () => token
}

function readFilters(filters: readonly string[]): Readonly<Record<string, string>> {
  const bySet = new Map<string, string>()
  for (const given of filters) {
    const [, set = '', filter = ''] =
      /^(\w+)=(.+)$/s.exec(given) ?? failUsage(`--filter is '${given}'; expected SET=FILTER.`)
    if (bySet.has(set)) failUsage(`--filter is specified twice for ${set}; join the conditions with 'and'.`)
    bySet.set(set, filter)
  }
  return Object.fromEntries(bySet)
}

function readOptions(values: ReplicateValues): ReplicationOptions {
  const maxWait = values['max-wait'] ?? (values.once ? MAX_WAIT_ONCE : undefined)
  return {
    once: values.once,
    recopy: values.recopy,
    acceptChange: values['accept-change'],
    allowDeletions: values['allow-deletions'],
    intervalMs: readSeconds('interval', values.interval) * 1000,
    sweepIntervalMs: readSeconds('sweep-hours', values['sweep-hours']) * 3_600_000,
    maxWaitMs: maxWait === undefined ? Number.POSITIVE_INFINITY : readSeconds('max-wait', maxWait) * 1000,
  }
}

/**
 * Returns the settings that the arguments of the command mean.
 * @param token the environment variable REPLICATE_TOKEN
 * @throws ReplicationError for an argument that is missing or invalid
 */
export function readSettings(values: ReplicateValues, token: string | undefined): ReplicationSettings {
  return {
    root: findRoot(values.from),
    to: readTarget(values.to),
    schema: values.schema,
    sets: values.sets?.split(',').map(name => name.trim()),
    filters: readFilters(values.filter),
    readToken: tokenReader(values, token),
    options: readOptions(values),
    steps: { verify: values.verify || values.repair, repair: values.repair },
  }
}
