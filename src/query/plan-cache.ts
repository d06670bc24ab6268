import { LRUCache } from 'lru-cache'

/** A kind of result in the plan cache. */
export interface PlanCacheLevel<V extends object> {
  readonly name: string
  /** Estimates the heap of an entry in kilobytes, including all that is memoized by its value. */
  readonly sizeOf: (key: string, value: V) => number
}

type LevelName = Pick<PlanCacheLevel<object>, 'name'>

/** The use of one level since the service started, and its present entries. */
export interface PlanCacheStatistics {
  readonly level: string
  readonly entries: number
  readonly kilobytes: number
  readonly hits: number
  readonly misses: number
  /** Entries that were dropped because the cache was full. */
  readonly evictions: number
}

interface CacheEntry {
  readonly level: string
  readonly value: object
  readonly kilobytes: number
}

interface LevelCounter {
  hits: number
  misses: number
  evictions: number
}

/** Size of the plan cache of a service. */
export const PLAN_CACHE_KILOBYTES = 98_304
/** The part of the size for entries that were used only once. */
const RECENT_SHARE = 0.25

/**
 * Caches the stages of requests between their text and their SQL: parsed queries, GraphQL operations, plans
 * with permissions, writes. Clients repeat the same few requests. All levels share one bound. Results that are
 * memoized by a cached object (`memoize`) live as long as the object.
 *
 * An entry that was used once competes only with others that were used once, as in a segmented LRU cache. A
 * client that sends new queries all the time therefore evicts nothing that was used twice.
 */
export class PlanCache {
  readonly #recent: LRUCache<string, CacheEntry>
  readonly #frequent: LRUCache<string, CacheEntry>
  readonly #counters = new Map<string, LevelCounter>()

  constructor(kilobytes: number = PLAN_CACHE_KILOBYTES) {
    const recentKilobytes = Math.ceil(kilobytes * RECENT_SHARE)
    this.#recent = this.#createSegment(recentKilobytes)
    this.#frequent = this.#createSegment(Math.max(1, kilobytes - recentKilobytes))
  }

  get<V extends object>(level: PlanCacheLevel<V>, key: string): V | undefined {
    const name = entryName(level, key)
    const entry = this.#frequent.get(name) ?? this.#promote(name)
    const counter = this.#counterOf(level.name)
    if (entry) counter.hits += 1
    else counter.misses += 1
    return entry?.value as V | undefined // the name of the level is part of the key
  }

  /** Returns true if there is an entry. It does not count as a use. */
  has(level: LevelName, key: string): boolean {
    const name = entryName(level, key)
    return this.#frequent.has(name) || this.#recent.has(name)
  }

  /** Stores a result. An entry that is larger than the part for recent entries is not stored. */
  set<V extends object>(level: PlanCacheLevel<V>, key: string, value: V): void {
    const name = entryName(level, key)
    const kilobytes = Math.max(1, Math.ceil(level.sizeOf(key, value)))
    const segment = this.#frequent.has(name) ? this.#frequent : this.#recent
    segment.set(name, { level: level.name, value, kilobytes })
  }

  /** Returns the cached result, or creates and stores it. */
  getOrCreate<V extends object>(level: PlanCacheLevel<V>, key: string, create: () => V): V {
    const cached = this.get(level, key)
    if (cached) return cached
    const value = create()
    this.set(level, key, value)
    return value
  }

  /** Returns the statistics of each level that was used, by name. */
  statistics(): readonly PlanCacheStatistics[] {
    const entries = [...this.#recent.values(), ...this.#frequent.values()]
    return [...this.#counters].sort().map(([level, counter]) => {
      const own = entries.filter(entry => entry.level === level)
      const kilobytes = own.reduce((sum, entry) => sum + entry.kilobytes, 0)
      return { level, entries: own.length, kilobytes, ...counter }
    })
  }

  #promote(name: string): CacheEntry | undefined {
    const entry = this.#recent.get(name)
    if (!entry) return undefined
    this.#recent.delete(name)
    this.#frequent.set(name, entry)
    return entry
  }

  #createSegment(kilobytes: number): LRUCache<string, CacheEntry> {
    return new LRUCache({
      maxSize: kilobytes,
      sizeCalculation: entry => entry.kilobytes,
      dispose: ({ level }, _, reason) => {
        if (reason === 'evict') this.#counterOf(level).evictions += 1
      },
    })
  }

  #counterOf(level: string): LevelCounter {
    const existing = this.#counters.get(level)
    if (existing) return existing
    const counter = { hits: 0, misses: 0, evictions: 0 }
    this.#counters.set(level, counter)
    return counter
  }
}

const entryName = ({ name }: LevelName, key: string): string => `${name} ${key}`

/** Stores nothing, for code without a service: every level is larger than its one kilobyte. */
export const NO_PLAN_CACHE = new PlanCache(1)
