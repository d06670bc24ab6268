import { createHash } from 'node:crypto'
import { failSource } from './failure.js'
import { type ComparedRange, compareKeys } from './key-range.js'
import { literalOf, type Replication } from './replication.js'
import type { SourceSet } from './source-model.js'

/** A record of the copy: its key and its version. */
type KeyVersion = readonly [key: string, version: string | null]

const FIRST_BUCKETS = 200
const NEXT_BUCKETS = 25
/** Ranges with more records are split again. */
const MAX_LEAF_RECORDS = 200
const MAX_RANGES_BYTES = 3000

interface SourceDigestBucket {
  readonly First: string
  readonly Count: number
  readonly Hash: string
}
/** A range in a digest of the source. */
export interface SourceDigestRange {
  readonly From: string | null
  readonly To: string | null
  readonly Buckets: readonly SourceDigestBucket[]
}

/** Splits a list so that each part fits into a URL. */
export function splitByBytes<T>(items: readonly T[], sizeOf: (item: T) => number): readonly (readonly T[])[] {
  const parts: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const item of items) {
    bytes += sizeOf(item)
    if (bytes > MAX_RANGES_BYTES) {
      parts.push([])
      bytes = sizeOf(item)
    }
    parts.at(-1)?.push(item)
  }
  return parts
}

const hashOf = (records: readonly KeyVersion[]): string =>
  createHash('sha256')
    .update(records.map(([key, version]) => `${Buffer.byteLength(key)}:${key},${version}\n`).join(''))
    .digest('hex')

/** Reads digests of a set of the source (docs/replication.md). */
export class DigestReader {
  constructor(
    private readonly replication: Replication,
    private readonly set: SourceSet,
  ) {}

  /** Reads the whole set, in ranges that have as many records as a digest covers. */
  readAll(): AsyncGenerator<SourceDigestRange> {
    return this.read([{ from: '', to: null }], FIRST_BUCKETS)
  }

  /** A digest that covers too many records ends early: the rest is requested next. */
  async *read(ranges: readonly ComparedRange[], buckets: number): AsyncGenerator<SourceDigestRange> {
    let waiting = ranges
    while (waiting.length > 0) {
      const [some = []] = splitByBytes(waiting, range => encodeURIComponent(toJson(range)).length + 3)
      const answered = await this.#request(some, buckets)
      yield* answered
      const [asked, last] = [some[answered.length - 1], answered.at(-1)]
      if (!asked || !last) return failSource('the digest has no ranges.')
      const rest = last.To !== null && last.To !== asked.to ? [{ from: last.To, to: asked.to }] : []
      waiting = [...rest, ...waiting.slice(answered.length)]
    }
  }

  async #request(ranges: readonly ComparedRange[], buckets: number): Promise<readonly SourceDigestRange[]> {
    const { source, mark } = this.replication
    const filter = mark.filters[this.set.name]
    const parameters = [
      `ResourceName=${literalOf(this.set.name)}`,
      'Ranges=@r',
      `Buckets=${buckets}`,
      ...(filter === undefined ? [] : [`Filter=${encodeURIComponent(literalOf(filter))}`]),
    ]
    const list = encodeURIComponent(`[${ranges.map(toJson).join(',')}]`)
    const answer = (await source.readJson(`Digest(${parameters.join(',')})?@r=${list}`)) as {
      Ranges: readonly SourceDigestRange[]
    } // docs/replication.md
    return answer.Ranges
  }
}

export const toComparedRange = ({ From, To }: SourceDigestRange): ComparedRange => ({
  from: From ?? '',
  to: To,
})

/** Compares the records of a copy in one range with the digest of the source. */
export class DigestComparison {
  readonly #records: readonly KeyVersion[]

  constructor(
    private readonly reader: DigestReader,
    copied: ReadonlyMap<string, string | null>,
  ) {
    this.#records = [...copied].sort(([a], [b]) => compareKeys(a, b))
  }

  /** Returns small ranges in which the copy differs from the source. */
  async findRanges(whole: SourceDigestRange): Promise<readonly ComparedRange[]> {
    const found = this.#differencesOf(whole)
    const isLarge = ({ count }: { readonly count: number }) => count > MAX_LEAF_RECORDS
    const small = found.filter(range => !isLarge(range))
    for await (const range of this.reader.read(found.filter(isLarge), NEXT_BUCKETS))
      small.push(...this.#differencesOf(range))
    return small
  }

  #differencesOf({ From, To, Buckets }: SourceDigestRange): (ComparedRange & { readonly count: number })[] {
    if (Buckets.length === 0)
      return this.#slice(From ?? '', To).length > 0 ? [{ from: From ?? '', to: To, count: 0 }] : []
    return Buckets.flatMap(({ First, Count, Hash }, i) => {
      const [from, to] = [i === 0 ? (From ?? '') : First, Buckets[i + 1]?.First ?? To]
      const own = this.#slice(from, to)
      return own.length === Count && hashOf(own) === Hash ? [] : [{ from, to, count: Count }]
    })
  }

  #slice(from: string, to: string | null): readonly KeyVersion[] {
    return this.#records.slice(this.#indexOf(from), to === null ? undefined : this.#indexOf(to))
  }

  /** Returns the index of the first key that is not below a key. */
  #indexOf(key: string): number {
    let [low, high] = [0, this.#records.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareKeys(this.#records[middle]?.[0] ?? '', key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

const toJson = ({ from, to }: ComparedRange): string =>
  JSON.stringify({ ...(from !== '' && { From: from }), ...(to !== null && { To: to }) })

/** Returns the condition of a filter that selects a range. */
export const rangeCondition = ({ key }: SourceSet, { from, to }: ComparedRange): string =>
  `(${key} ge ${literalOf(from)}${to === null ? '' : ` and ${key} lt ${literalOf(to)}`})`
