import { DigestComparison, isInRange, rangeCondition, splitByBytes } from './digest.js'
import { REPLICATION_EXIT, ReplicationError } from './failure.js'
import { fetchRecords, followLog, readWholeExport } from './follow-log.js'
import { queryOf, type Replication } from './replication.js'
import type { SourceSet } from './source-model.js'

const VERSION = 'LastEventSequence'
const MAX_SHOWN = 20

/** A record that differs from the source. */
interface Difference {
  readonly set: SourceSet
  readonly key: string
  readonly kind: 'missing' | 'not in the source' | 'another version'
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
  for (const set of replication.sets) {
    const keys = differences.filter(difference => difference.set === set).map(({ key }) => key)
    if (keys.length > 0)
      await replication.target.write([await fetchRecords(replication, set, keys)], replication.state)
  }
  replication.log(`Repaired: ${differences.length} records.`)
  await verify(replication, false)
}

async function findDifferences(replication: Replication): Promise<readonly Difference[]> {
  await followLog(replication)
  const candidates: Difference[] = []
  for (const set of replication.sets) candidates.push(...(await compareSet(replication, set)))
  if (candidates.length === 0) return []
  // Records that changed during the comparison are compared again.
  await followLog(replication)
  const confirmed: Difference[] = []
  for (const set of replication.sets) {
    const keys = new Set(candidates.filter(candidate => candidate.set === set).map(({ key }) => key))
    if (keys.size > 0)
      confirmed.push(...(await compareSet(replication, set)).filter(({ key }) => keys.has(key)))
  }
  return confirmed
}

/** Reads the versions of the ranges whose digests differ, or of all records of a source without digests. */
async function compareSet(replication: Replication, set: SourceSet): Promise<readonly Difference[]> {
  const copied = await replication.target.readKeys(set, VERSION)
  if (!replication.hasDigest) return compareVersions(replication, set, new Map(copied), [])
  const ranges = await new DigestComparison(replication, set, copied).findRanges()
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
  for (const line of await readWholeExport(replication, target)) {
    const record = JSON.parse(line) as Readonly<Record<string, unknown>> // a line of an export
    const key = String(record[set.key])
    const version = copied.get(key)
    if (version === undefined) differences.push({ set, key, kind: 'missing' })
    else if (version !== String(record[VERSION])) differences.push({ set, key, kind: 'another version' })
    copied.delete(key)
  }
  return [
    ...differences,
    ...[...copied.keys()].map(key => ({ set, key, kind: 'not in the source' as const })),
  ]
}
