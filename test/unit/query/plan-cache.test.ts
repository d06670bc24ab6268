import { describe, expect, test } from 'vitest'
import { DEFAULT_PARSE_LIMITS } from '../../../src/language/parse-limits.js'
import { parsePageQuery, readQueryOptions } from '../../../src/odata/url/query-options.js'
import { PlanCache, type PlanCacheLevel } from '../../../src/query/plan-cache.js'

const SMALL: PlanCacheLevel<object> = { name: 'small', sizeOf: () => 1 }
const LARGE: PlanCacheLevel<object> = { name: 'large', sizeOf: key => key.length }
const create = () => ({})

describe('PlanCache', () => {
  test('returns the same object for the same level and key, and creates it once', () => {
    const plans = new PlanCache(100)
    const first = plans.getOrCreate(SMALL, 'a', create)
    expect(plans.getOrCreate(SMALL, 'a', create)).toBe(first)
    expect(plans.getOrCreate(SMALL, 'b', create)).not.toBe(first)
    expect(plans.getOrCreate(LARGE, 'a', create)).not.toBe(first)
  })

  test('stores nothing if creation fails', () => {
    const plans = new PlanCache(100)
    const failing = () =>
      plans.getOrCreate(SMALL, 'a', () => {
        throw new Error('bad')
      })
    expect(failing).toThrow('bad')
    expect(plans.has(SMALL, 'a')).toBe(false)
  })

  test('holds no more than its size, over all levels', () => {
    const plans = new PlanCache(100)
    for (let i = 0; i < 300; i++)
      for (const level of [SMALL, LARGE]) {
        plans.getOrCreate(level, `key ${i}`, create)
        plans.getOrCreate(level, `key ${i}`, create)
      }
    const kilobytes = plans.statistics().map(level => level.kilobytes)
    expect(kilobytes.reduce((a, b) => a + b)).toBeLessThanOrEqual(100)
    expect(kilobytes.every(size => size > 0)).toBe(true)
  })

  test('any number of new entries evicts no entry that was used twice', () => {
    const plans = new PlanCache(100)
    const used = Array.from({ length: 70 }, (_, i) => `used ${i}`)
    for (const key of [...used, ...used]) {
      plans.getOrCreate(SMALL, key, create)
      plans.getOrCreate(SMALL, key, create)
    }
    for (let i = 0; i < 10_000; i++) plans.getOrCreate(i % 2 ? SMALL : LARGE, `new ${i}`, create)
    expect(used.filter(key => !plans.has(SMALL, key))).toEqual([])
    expect(plans.statistics().find(s => s.level === 'small')?.evictions).toBeGreaterThan(4000)
  })

  test('does not store what is larger than the part for new entries', () => {
    const plans = new PlanCache(100)
    const text = 'x'.repeat(26)
    plans.getOrCreate(SMALL, 'a', create)
    plans.getOrCreate(LARGE, text, create)
    expect(plans.has(LARGE, text)).toBe(false)
    expect(plans.has(SMALL, 'a')).toBe(true)
  })

  test('counts entries, size, hits, misses and evictions of each level', () => {
    const plans = new PlanCache(12)
    for (const key of ['abc', 'abc', 'abc']) plans.getOrCreate(LARGE, key, create)
    for (const key of ['a', 'b', 'c', 'd']) plans.getOrCreate(SMALL, key, create)
    expect(plans.statistics()).toEqual([
      { level: 'large', entries: 1, kilobytes: 3, hits: 2, misses: 1, evictions: 0 },
      { level: 'small', entries: 3, kilobytes: 3, hits: 0, misses: 4, evictions: 1 },
    ])
  })
})

describe('queries of OData', () => {
  const queryOf = (raw: string, plans: PlanCache) =>
    parsePageQuery(readQueryOptions(raw, plans), 'collection', DEFAULT_PARSE_LIMITS, plans).query
  const LIST = "$filter=City eq 'Vail'&$select=City,ListPrice&$orderby=ListPrice"

  test('a repeated query string, and all its pages, are one query', () => {
    const plans = new PlanCache()
    const query = queryOf(LIST, plans)
    expect(queryOf(LIST, plans)).toBe(query)
    expect(queryOf(`${LIST}&$skiptoken=abc`, plans)).toBe(query)
    expect(queryOf(`${LIST}&$skiptoken=def`, plans)).toBe(query)
  })

  test('$select and $orderby are shared by queries with different filters', () => {
    const plans = new PlanCache()
    const query = queryOf(LIST, plans)
    const other = queryOf(LIST.replace('Vail', 'Austin'), plans)
    expect(other).not.toBe(query)
    expect(other.select).toBe(query.select)
    expect(other.orderBy).toBe(query.orderBy)
  })

  test('a client that always sends new queries does not evict those of others', () => {
    const plans = new PlanCache(2000)
    const queries = Array.from({ length: 40 }, (_, i) => `$filter=ListPrice gt ${i}&$top=5`)
    const before = queries.map(raw => queryOf(raw, plans))
    expect(queries.map(raw => queryOf(raw, plans))).toEqual(before)
    for (let i = 0; i < 3000; i++) queryOf(`$filter=ListPrice lt ${i} and BedroomsTotal gt 1`, plans)
    expect(queries.filter((raw, i) => queryOf(raw, plans) !== before[i])).toEqual([])
    expect(plans.statistics().find(s => s.level === 'query string')?.evictions).toBeGreaterThan(2000)
  })
})
