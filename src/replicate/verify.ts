import { checkDeletions } from './deletions.js'
import { DigestComparison, DigestReader, rangeCondition, splitByBytes, toComparedRange } from './digest.js'
import { REPLICATION_EXIT, ReplicationError } from './failure.js'
import { fetchRecords, followLog } from './follow-log.js'
import { type ComparedRange, isInRange } from './key-range.js'
import { BATCH_RECORDS, queryOf, type Replication } from './replication.js'
import type { SourceSet } from './source-model.js'

const VERSION = 'LastEventSequence'
const MAX_SHOWN = 20

/** A record that differs from the source. */
interface Difference {
  readonly set: SourceSet
  readonly key: string
  readonly kind: 'missing' | 'not in the source' | 'another version'
  /** Of the source, or of the copy if the source does not have the record. */
  readonly version: string | null
}

/**
 * Compares key and `LastEventSequence` of every record with the source, by digests if it has them.
 * Differences that later events explain are lag: these events are applied first. Values that were changed in
 * the target without a new version are not found.
 */
export async function verify(replication: Replication, isRepairing: boolean): Promise<void> {
  const differences = await findDifferences(replication)
  for (const { set, key, kind } of differences.slice(0, MAX_SHOWN))
    replication.log(`${set.name} ${key}: ${kind}`)
  if (differences.length > MAX_SHOWN) replication.log(`and ${differences.length - MAX_SHOWN} more`)
  if (differences.length === 0) {
    replication.log('Verified: every record has the version of the source.')
    return
  }
  if (!isRepairing)
    throw new ReplicationError(
      `${differences.length} records differ. --repair reads them again.`,
      REPLICATION_EXIT.differences,
    )
  await repair(replication, differences)
  replication.log(`Repaired: ${differences.length} records.`)
  await verify(replication, false)
}

/** Reads the differing records again. Too many deletions require --allow-deletions. */
async function repair(replication: Replication, differences: readonly Difference[]): Promise<void> {
  const { target, sets, options } = replication
  for (const set of sets) {
    const own = differences.filter(difference => difference.set === set)
    const removed = own.filter(({ kind }) => kind === 'not in the source').length
    if (!options.allowDeletions) checkDeletions(set, removed, (await target.count(set, 0)).total)
    for (let i = 0; i < own.length; i += BATCH_RECORDS) {
      const keys = own.slice(i, i + BATCH_RECORDS).map(({ key }) => key)
      await target.write([await fetchRecords(replication, set, keys)], replication.state)
    }
  }
}

async function findDifferences(replication: Replication): Promise<readonly Difference[]> {
  await followLog(replication)
  const candidates: Difference[] = []
  for (const set of replication.sets) candidates.push(...(await compareSet(replication, set)))
  if (candidates.length === 0) return []
  // Records that changed during the comparison are compared again. A record with another version by then is
  // still changing, which is lag.
  await followLog(replication)
  const confirmed: Difference[] = []
  for (const set of replication.sets) {
    const first = candidates.filter(candidate => candidate.set === set)
    const versions = new Map(first.map(({ key, version }) => [key, version]))
    if (first.length > 0)
      confirmed.push(
        ...(await compareSet(replication, set)).filter(({ key, version }) => versions.get(key) === version),
      )
  }
  return confirmed
}

/**
 * Reads the versions of the ranges whose digests differ, or of all records of a source without digests. With digests,
 * the client holds the keys of one range at a time.
 */
async function compareSet(replication: Replication, set: SourceSet): Promise<readonly Difference[]> {
  const { target, hasDigest } = replication
  if (!hasDigest) {
    const copied = await target.readKeys(set, { field: VERSION })
    return compareVersions(replication, set, new Map(copied), [])
  }
  const reader = new DigestReader(replication, set)
  const differences: Difference[] = []
  for await (const digest of reader.readAll()) {
    const copied = await target.readKeys(set, { field: VERSION, range: toComparedRange(digest) })
    const ranges = await new DigestComparison(reader, copied).findRanges(digest)
    differences.push(...(await compareRanges(replication, set, { copied, ranges })))
  }
  return differences
}

async function compareRanges(
  replication: Replication,
  set: SourceSet,
  {
    copied,
    ranges,
  }: { readonly copied: ReadonlyMap<string, string | null>; readonly ranges: readonly ComparedRange[] },
): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  for (const some of splitByBytes(
    ranges,
    range => encodeURIComponent(rangeCondition(set, range)).length + 12,
  )) {
    const own = new Map([...copied].filter(([key]) => some.some(range => isInRange(key, range))))
    const condition = `(${some.map(range => rangeCondition(set, range)).join(' or ')})`
    differences.push(...(await compareVersions(replication, set, own, [condition])))
  }
  return differences
}

async function compareVersions(
  replication: Replication,
  set: SourceSet,
  copied: Map<string, string | null>,
  conditions: readonly string[],
): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  const target = queryOf(replication, set, conditions, [`$select=${set.key},${VERSION}`])
  for (const line of await replication.source.readExport(target)) {
    const record = JSON.parse(line) as Readonly<Record<string, unknown>> // a line of an export
    const key = String(record[set.key])
    const [own, version] = [copied.get(key), String(record[VERSION])]
    if (own === undefined) differences.push({ set, key, kind: 'missing', version })
    else if (own !== version) differences.push({ set, key, kind: 'another version', version })
    copied.delete(key)
  }
  return [
    ...differences,
    ...[...copied].map(([key, version]) => ({ set, key, kind: 'not in the source' as const, version })),
  ]
}
