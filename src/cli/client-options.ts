import type { ClientColumns } from '../data/clients/client-store.js'
import { AUDIENCES, SCOPES } from '../domain/actor.js'
import { type PublicKeys, readPublicKeys } from '../domain/clients/public-keys.js'

/** Options that set values of a client. `none` clears an optional value. */
export const CLIENT_OPTIONS = {
  contact: { type: 'string' },
  scope: { type: 'string' },
  class: { type: 'string' },
  member: { type: 'string' },
  office: { type: 'string' },
  feed: { type: 'string' },
  expires: { type: 'string' },
  keys: { type: 'string' },
  'requests-per-minute': { type: 'string' },
  'requests-per-day': { type: 'string' },
  'rows-per-day': { type: 'string' },
  'running-statements': { type: 'string' },
} as const

export const CLIENT_OPTIONS_USAGE = `[--contact TEXT] [--scope "${SCOPES.slice(0, 2).join(' ')}"] [--class ${AUDIENCES.join('|')}] [--member KEY] [--office KEY] [--feed FEED] [--expires 90d|2027-01-31] [--keys FILE (a JSON Web Key Set)] [--requests-per-minute N] [--requests-per-day N] [--rows-per-day N] [--running-statements N]`

type Options = { readonly [K in keyof typeof CLIENT_OPTIONS]?: string | undefined }

const DAY_MS = 86_400_000

/**
 * Returns the columns that options set.
 * @param readJson reads the file of `--keys`
 * @throws Error with a sentence that names the option
 */
export function readClientColumns(
  options: Options,
  readJson: (path: string) => unknown,
  now = Date.now(),
): ClientColumns {
  const readers = columnReaders(readJson, now)
  return Object.assign(
    {},
    ...Object.entries(options).map(([name, text]) =>
      text === undefined ? {} : readers[name as keyof Options](text),
    ),
  )
}

type ColumnReader = (text: string) => ClientColumns

const columnReaders = (
  readJson: (path: string) => unknown,
  now: number,
): Readonly<Record<keyof Options, ColumnReader>> => ({
  contact: text => ({ Contact: orNull(text) }),
  scope: text => ({ Scopes: readScopes(text) }),
  class: text => ({ AudienceClass: readAudience(text) }),
  member: text => ({ MemberKey: orNull(text) }),
  office: text => ({ OfficeKey: orNull(text) }),
  feed: text => ({ FeedName: orNull(text) }),
  expires: text => ({ ExpirationTimestamp: text === 'none' ? null : readTime(text, now) }),
  keys: text => ({ PublicKeys: text === 'none' ? null : readKeys(text, readJson(text)) }),
  'requests-per-minute': text => ({ RequestsPerMinute: readLimit('requests-per-minute', text) }),
  'requests-per-day': text => ({ RequestsPerDay: readLimit('requests-per-day', text) }),
  'rows-per-day': text => ({ RowsPerDay: readLimit('rows-per-day', text) }),
  'running-statements': text => ({ RunningStatements: readLimit('running-statements', text) }),
})

const orNull = (text: string): string | null => (text === 'none' || text === '' ? null : text)

/** The narrowest column has the type integer. */
const MAX_LIMIT = 2_147_483_647

function readLimit(option: string, text: string): number | null {
  if (text === 'none') return null
  return /^[1-9]\d{0,9}$/.test(text) && Number(text) <= MAX_LIMIT
    ? Number(text)
    : refuse(`--${option} is '${text}'; expected a number from 1 to ${MAX_LIMIT}, or none.`)
}

function readScopes(text: string): readonly string[] {
  const scopes = text === 'none' ? [] : text.split(/\s+/).filter(scope => scope !== '')
  const unknown = scopes.find(scope => !SCOPES.some(known => known === scope))
  if (unknown !== undefined)
    throw new Error(`--scope: there is no scope '${unknown}'; expected ${SCOPES.join(', ')}.`)
  return [...new Set(scopes)]
}

const readAudience = (text: string) =>
  AUDIENCES.find(known => known === text) ??
  refuse(`--class is '${text}'; expected one of ${AUDIENCES.join(', ')}.`)

function readTime(text: string, now: number): string {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? []
  const time = days === undefined ? parseDate(text) : now + Number(days) * DAY_MS
  return time > now
    ? new Date(time).toISOString()
    : refuse(`--expires is '${text}'; expected a time in the future, such as 90d or 2027-01-31.`)
}

/** A date means midnight UTC. */
const parseDate = (text: string): number =>
  /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN

const readKeys = (path: string, json: unknown): PublicKeys =>
  readPublicKeys(json) ??
  refuse(
    `--keys: ${path} is not a key set of public RSA or EC P-256 keys. Private keys must stay with the partner.`,
  )

const refuse = (reason: string): never => {
  throw new Error(reason)
}
