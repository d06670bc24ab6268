import { createHash } from 'node:crypto'
import type { KeyRange } from '../../src/data/read/digest.js'

/** The position of each record of a copy by its key. */
export type Copy = ReadonlyMap<string, number>
export type CopyRecord = readonly [key: string, sequence: number]

export interface DigestAnswer {
  readonly LastEventSequence: number
  readonly Ranges: readonly {
    readonly From: string
    readonly To: string | null
    readonly Buckets: readonly BucketAnswer[]
  }[]
}
interface BucketAnswer {
  readonly First: string
  readonly Count: number
  readonly Hash: string
}

/** Compares by code point, which is the order of UTF-8. */
export const inKeyOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The hash of records in the order of their keys, as docs/replication.md defines it. */
export const digestOf = (records: readonly CopyRecord[]): string =>
  createHash('sha256')
    .update(records.map(([key, sequence]) => `${Buffer.byteLength(key)}:${key},${sequence}\n`).join(''))
    .digest('hex')

/** Keys that differ between a copy and the service. */
export interface Differences {
  readonly missing: readonly string[]
  readonly extra: readonly string[]
  readonly stale: readonly string[]
  readonly requests: number
}

export type DigestReader = (ranges: readonly KeyRange[], buckets: number) => Promise<DigestAnswer>

/** Finds the records of a copy that differ from the service, by splitting the ranges whose hashes differ. */
export async function findDifferences(copy: Copy, readDigest: DigestReader): Promise<Differences> {
  const records = [...copy].sort(([a], [b]) => inKeyOrder(a, b))
  const found = { missing: [] as string[], extra: [] as string[], stale: [] as string[] }
  let requests = 0
  let buckets = 200
  for (let level: KeyRange[] = [{ from: '', to: undefined }]; level.length > 0; buckets = 25) {
    const nextLevel: KeyRange[] = []
    for (let rest = level; rest.length > 0; ) {
      const asked = rest.slice(0, Math.floor(10_000 / buckets))
      const { Ranges: answered } = await readDigest(asked, buckets)
      requests += 1
      for (const { From: from, To: to, Buckets: list } of answered)
        compareRange({ from, to: to ?? undefined }, list, records, found, nextLevel)
      rest = [...toUnread(asked, answered), ...rest.slice(asked.length)]
    }
    level = nextLevel
  }
  return { ...found, requests }
}

/** Returns the part of the ranges that a response omits because of the limit of records. */
function toUnread(asked: readonly KeyRange[], answered: DigestAnswer['Ranges']): KeyRange[] {
  const last = answered.at(-1)
  const cut = asked[answered.length - 1]
  const end = last?.To ?? undefined
  return [
    ...(cut && end !== undefined && end !== cut.to ? [{ from: end, to: cut.to }] : []),
    ...asked.slice(answered.length),
  ]
}

function compareRange(
  { from, to }: KeyRange,
  buckets: readonly BucketAnswer[],
  records: readonly CopyRecord[],
  found: { readonly missing: string[]; readonly extra: string[]; readonly stale: string[] },
  nextLevel: KeyRange[],
): void {
  if (buckets.length === 0) found.extra.push(...recordsIn({ from, to }, records).map(([key]) => key))
  buckets.forEach(({ First: first, Count: count, Hash: hash }, i) => {
    const range = { from: i === 0 ? from : first, to: buckets[i + 1]?.First ?? to }
    const own = recordsIn(range, records)
    if (own.length === count && digestOf(own) === hash) return
    if (count > 1) nextLevel.push(range)
    else {
      const same = own.find(([key]) => key === first)
      if (!same) found.missing.push(first)
      else if (digestOf([same]) !== hash) found.stale.push(first)
      found.extra.push(...own.map(([key]) => key).filter(key => key !== first))
    }
  })
}

const recordsIn = ({ from, to }: KeyRange, records: readonly CopyRecord[]): readonly CopyRecord[] =>
  records.slice(findIndex(records, from), to === undefined ? undefined : findIndex(records, to))

/** The index of the first record whose key is not less than `key`. */
function findIndex(records: readonly CopyRecord[], key: string): number {
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (inKeyOrder(records[middle]?.[0] ?? '', key) < 0) low = middle + 1
    else high = middle
  }
  return low
}
