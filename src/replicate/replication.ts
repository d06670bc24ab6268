import type { HttpSource } from './http-source.js'
import type { SourceSet } from './source-model.js'
import type { ReplicaOrigin, ReplicaState } from './state.js'
import type { ReplicaTarget } from './target.js'

/** Options of the command. */
export interface ReplicationOptions {
  /** The command ends when the copy is up to date. */
  readonly once: boolean
  readonly recopy: boolean
  readonly acceptChange: boolean
  readonly allowDeletions: boolean
  readonly intervalMs: number
  readonly sweepIntervalMs: number
  /** Time after which the client no longer waits for a source that refuses or does not answer. */
  readonly maxWaitMs: number
}

/** Shows the progress of a step. `total` is undefined if it is not known. */
export type ProgressListener = (step: string, count: number, total: number | undefined) => void

/** The context that the steps of a replication share. `state` is the stored state of the target. */
export interface Replication {
  readonly source: HttpSource
  readonly target: ReplicaTarget
  readonly sets: readonly SourceSet[]
  readonly mark: ReplicaOrigin
  /** The source has the function Digest. */
  readonly hasDigest: boolean
  readonly options: ReplicationOptions
  readonly signal: AbortSignal
  readonly log: (line: string) => void
  readonly onProgress: ProgressListener
  state: ReplicaState
}

/** Maximum number of records of one write. */
export const BATCH_RECORDS = 500
/** Maximum length of a list of keys in a URL, in bytes. */
const MAX_LIST_BYTES = 3000
const MAX_LIST_KEYS = 100

export const literalOf = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Returns the query of a set with the filter of the copy and other conditions. */
export function queryOf(
  { mark }: Pick<Replication, 'mark'>,
  set: SourceSet,
  conditions: readonly string[],
  more: readonly string[] = [],
): string {
  const own = mark.filters[set.name]
  const terms = [...(own === undefined ? [] : [`(${own})`]), ...conditions]
  const filter = terms.length === 0 ? [] : [`$filter=${encodeURIComponent(terms.join(' and '))}`]
  const options = [...filter, ...more].join('&')
  return options === '' ? set.name : `${set.name}?${options}`
}

/**
 * Returns true if a filter reads related records or the clock. A record can start or stop matching such a
 * filter without its own event.
 */
export const dependsOnOtherRecords = (filter: string): boolean =>
  /\/|\bnow\s*\(/.test(filter.replaceAll(/'(?:[^']|'')*'/g, "''"))

/** Splits keys into lists that a URL can hold. */
export function toKeyLists(keys: readonly string[], maxKeys = MAX_LIST_KEYS): readonly (readonly string[])[] {
  const lists: string[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const key of keys) {
    const length = encodeURIComponent(literalOf(key)).length + 3
    const last = lists.at(-1)
    if (!last || last.length >= maxKeys || bytes + length > MAX_LIST_BYTES) {
      lists.push([key])
      bytes = length
    } else {
      last.push(key)
      bytes += length
    }
  }
  return lists
}

/** Returns the key of a record in JSON. */
export function keyOfLine(line: string, set: SourceSet): string {
  const record: unknown = JSON.parse(line)
  return typeof record === 'object' && record && set.key in record
    ? String((record as Readonly<Record<string, unknown>>)[set.key]) // just seen
    : ''
}
