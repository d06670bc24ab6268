import sql, { raw, type Sql } from 'sql-template-tag'
import { getScalar } from '../../model/model.js'
import type { Plan } from '../../query/plan.js'
import { quoteIdentifier } from '../sql/columns.js'
import { toFromWhere } from '../sql/from.js'
import type { StatementExecutor } from '../sql/statement.js'

/** The keys from `from` inclusive to `to` exclusive, by code point. Without `to`, there is no upper bound. */
export interface KeyRange {
  readonly from: string
  readonly to: string | undefined
}

/** Consecutive records in the order of their keys. */
export interface DigestBucket {
  /** The key of the first record. */
  readonly first: string
  readonly count: number
  /** SHA-256 in hexadecimal of `<bytes of the key>:<key>,<LastEventSequence>\n` for each record. */
  readonly hash: string
}

/** The buckets of a range, or of its part before `to` if the limit of records ended there. */
export interface DigestRange extends KeyRange {
  readonly buckets: readonly DigestBucket[]
}

/** A digest from one snapshot. */
export interface Digest {
  /** The sequence number of the newest event in the snapshot. */
  readonly position: string
  readonly ranges: readonly DigestRange[]
}

/** The ranges to read and the numbers that bound the cost of a statement. */
export interface DigestArguments {
  readonly ranges: readonly KeyRange[]
  /** Maximum number of buckets of each range. */
  readonly buckets: number
  /** Maximum number of records of all ranges together. */
  readonly maxRecords: number
}

interface DigestRow {
  readonly position: string
  /** The first record beyond the limit: the number of its range, from 1, and its key. */
  readonly stopRange: number | null
  readonly stopKey: string | null
  /** A list of `[number of the range, first, count, hash]`. */
  readonly buckets: string | null
}

/**
 * Renders the statement that reads a digest. Every range is read in the order of the key by the index, and
 * reading ends at the limit of records.
 */
export function toDigestStatement(plan: Plan, { ranges, buckets, maxRecords }: DigestArguments): Sql {
  const { entity, row } = plan
  const column = (name: string) => raw(`${row}."${name}"`)
  const key = column(entity.key.name)
  const sequence = column(getScalar(entity, 'LastEventSequence').name)
  const bounds = [sql`${key} >= (b.lower collate "C")`, sql`${key} < (b.upper collate "C")`]
  const limit = raw(String(maxRecords + 1))
  return sql`with bounds as materialized (
  select n, lower, coalesce(upper, (select max(${quoteIdentifier(entity.key.name)}) || chr(1) from ${quoteIdentifier(entity.name)})) as upper
  from unnest(${ranges.map(r => r.from)}::text[], ${ranges.map(r => r.to ?? null)}::text[]) with ordinality as b(lower, upper, n)
), page as materialized (
  select b.n, r.key, r.sequence from bounds b cross join lateral (
    select ${key} as key, ${sequence} as sequence ${toFromWhere(plan, 'few', bounds)} order by ${key} limit ${limit}
  ) r limit ${limit}
), stop as materialized (
  select n, key from page order by n desc, key desc limit (select case when count(*) > ${raw(String(maxRecords))} then 1 else 0 end from page)
), numbered as (
  select n, key, sequence, ntile(${buckets}::int) over (partition by n order by key) as bucket
  from page where not exists (select from stop where stop.n = page.n and stop.key = page.key)
), buckets as (
  select n, bucket, min(key) as first, count(*) as count,
    encode(sha256(convert_to(string_agg(octet_length(key) || ':' || key || ',' || sequence || E'\\n', '' order by key), 'UTF8')), 'hex') as hash
  from numbered group by n, bucket
) select (select coalesce(max("EntityEventSequence"), 0)::text from "EntityEvent") as "position",
  (select n::int from stop) as "stopRange", (select key from stop) as "stopKey",
  (select json_agg(json_build_array(n, first, count, hash) order by n, bucket)::text from buckets) as "buckets"`
}

/** Reads the digest of the records that a plan selects. */
export async function readDigest(
  executor: StatementExecutor,
  plan: Plan,
  args: DigestArguments,
): Promise<Digest> {
  const { text, values } = toDigestStatement(plan, args)
  const [row] = await executor.query<DigestRow>({ text, values }, 'custom')
  if (!row) throw new Error('The digest statement returned no row')
  return { position: row.position, ranges: toRanges(row, args.ranges) }
}

/** Omits the ranges after the limit of records, and ends the range that reaches the limit. */
function toRanges({ stopRange, stopKey, buckets }: DigestRow, ranges: readonly KeyRange[]): DigestRange[] {
  const bucketsByRange = new Map<number, DigestBucket[]>()
  const rows = JSON.parse(buckets ?? '[]') as readonly (readonly [number, string, number, string])[] // the form in which the statement builds the list
  for (const [n, first, count, hash] of rows) {
    const list = bucketsByRange.get(n)
    if (list) list.push({ first, count, hash })
    else bucketsByRange.set(n, [{ first, count, hash }])
  }
  return ranges
    .slice(0, stopRange ?? ranges.length)
    .map(({ from, to }, i) => ({
      from,
      to: i + 1 === stopRange && stopKey !== null ? stopKey : to,
      buckets: bucketsByRange.get(i + 1) ?? [],
    }))
    .filter(({ from, to }) => from !== to)
}
