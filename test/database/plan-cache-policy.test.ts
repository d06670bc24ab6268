import sql, { type Sql } from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keysetRanges } from '../../src/data/sql/order.js'
import { toCountStatement, toPageStatement } from '../../src/data/sql/page-statement.js'
import { planCacheModeOfCount, planCacheModeOfPage } from '../../src/data/sql/plan-cache-policy.js'
import type { Plan } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toAuthorizedPlan } from '../support/oracle/plans.js'

// Statements with generic plans, and the index that serves each of them completely.

const PUBLIC = { scopes: new Set(['listings:read']), audience: 'public' } as const
const AGENT = {
  scopes: new Set(['listings:read', 'listings:write']),
  audience: 'member',
  memberKey: 'M1',
  officeKey: 'O1',
} as const

const toPlan = (text: string): Plan => toAuthorizedPlan(PUBLIC, text)

describe('generic plans', () => {
  for (const text of [
    '',
    '$orderby=ModificationTimestamp',
    '$orderby=ModificationTimestamp desc,ListingKey desc',
    "$filter=City eq 'Austin' and ListPrice ge 100000 and ListPrice le 200000&$orderby=ListPrice desc,ListingKey desc&$top=50",
    "$filter=StandardStatus eq 'Active'&$orderby=ModificationTimestamp",
    '$filter=ModificationTimestamp gt 2026-01-01T00:00:00Z&$orderby=ModificationTimestamp',
    "$filter=ListAgentKey eq 'M1'&$orderby=ModificationTimestamp desc",
    "$filter=ListingKey eq 'L1'",
    "$filter=City eq 'Austin' and StandardStatus ne 'Sold'&$orderby=ListPrice",
    '$orderby=ListPrice&$expand=Media($orderby=Order;$top=3),Rooms',
  ])
    test(text || 'no options', () => {
      expect(planCacheModeOfPage(toPlan(text))).toBe('generic')
      expect(planCacheModeOfPage(toAuthorizedPlan(AGENT, text))).toBe('generic')
    })
})

describe('custom plans', () => {
  for (const text of [
    "$filter=City eq 'Austin'",
    "$filter=City eq 'Austin' and ListPrice gt 1&$orderby=ModificationTimestamp",
    '$filter=ListPrice gt 100000&$orderby=ModificationTimestamp',
    "$filter=StandardStatus in ('Active','Pending')&$orderby=ModificationTimestamp",
    "$filter=City eq 'Austin' or City eq 'Boston'&$orderby=ListPrice",
    "$filter=City eq 'Austin' and contains(StreetName,'oak')&$orderby=ListPrice",
    '$filter=CloseDate ne null&$orderby=ModificationTimestamp',
    '$filter=City eq null&$orderby=ListPrice',
    '$filter=ListPrice eq BedroomsTotal',
    '$orderby=City desc,ListPrice',
    '$orderby=YearBuilt',
    '$search=oak&$orderby=ModificationTimestamp',
    "$orderby=ListPrice&$expand=Media($filter=MediaCategory eq 'Photo')",
    "$apply=filter(City eq 'Austin')/groupby((StandardStatus))",
  ])
    test(text, () => expect(planCacheModeOfPage(toPlan(text))).toBe('custom'))

  test('of a page between two cursors', () =>
    expect(planCacheModeOfPage({ ...toPlan('$orderby=ListPrice'), before: ['1', 'L1'] })).toBe('custom'))
})

test('counts use a generic plan where an index contains what they count', () => {
  expect(planCacheModeOfCount(toPlan("$filter=City eq 'Austin' and ListPrice ge 100000"))).toBe('generic')
  expect(planCacheModeOfCount(toPlan("$filter=City eq 'Austin' and YearBuilt ge 1990"))).toBe('custom')
  expect(planCacheModeOfCount(toPlan('$filter=YearBuilt ge 1990'))).toBe('custom')
})

const FILTERS = [
  '',
  "City eq 'a'",
  "StandardStatus eq 'Active'",
  "ListAgentKey eq 'M1'",
  "ListingKey eq 'L1'",
  "City eq 'a' and StandardStatus eq 'Active'",
]
const BOUNDS = [
  '',
  'ListPrice ge 1 and ListPrice lt 9',
  'ModificationTimestamp gt 2026-01-01T00:00:00Z',
  "City gt 'a'",
]
const ORDERS = [
  '',
  'ModificationTimestamp',
  'ListPrice desc',
  'City',
  'City,ListPrice',
  'StandardStatus,ModificationTimestamp',
  'ListPrice desc,ListingKey desc',
]

interface Node {
  readonly 'Node Type': string
  readonly Plans?: readonly Node[]
}
const nodeTypes = (node: Node): readonly string[] => [
  node['Node Type'],
  ...(node.Plans ?? []).flatMap(nodeTypes),
]

describe.runIf(DATABASE_KINDS.includes('server'))('on PostgreSQL', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('server', {})
  })
  afterAll(() => database?.close())

  /** Explains the generic plan of a statement, with sorts and sequential scans disabled where possible. */
  async function explain(statement: Sql): Promise<readonly string[]> {
    const plan = await database.withClient(async client => {
      await client.query(
        'set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_sort = off; set enable_incremental_sort = off; set enable_bitmapscan = off',
      )
      await client.query(`prepare asked as ${statement.text}`)
      const values = statement.values.map(value => client.escapeLiteral(String(value)))
      const { rows } = await client.query<{ 'QUERY PLAN': readonly { Plan: Node }[] }>(
        `explain (format json) execute asked${values.length > 0 ? `(${values.join()})` : ''}`,
      )
      return rows[0]?.['QUERY PLAN'][0]?.Plan
    })
    return nodeTypes(plan ?? { 'Node Type': 'none' })
  }

  test('every page with a generic plan is read from an index, completely and in its order', async () => {
    const texts = FILTERS.flatMap(filter =>
      BOUNDS.flatMap(bound =>
        ORDERS.map(order => [[filter, bound].filter(Boolean).join(' and '), order] as const),
      ),
    )
    const plans = texts.map(([filter, order]) =>
      toPlan([filter && `$filter=${filter}`, order && `$orderby=${order}`].filter(Boolean).join('&')),
    )
    const steady = plans.filter(plan => planCacheModeOfPage(plan) === 'generic')
    expect(steady.length).toBeGreaterThan(30)
    for (const plan of steady) {
      const { statement } = toPageStatement(plan, ODATA_REPRESENTATION, undefined, 101, 'verbatim')
      const types = await explain(statement)
      expect(
        types.some(type => type.startsWith('Index')),
        statement.text,
      ).toBe(true)
      for (const type of ['Sort', 'Incremental Sort', 'Seq Scan'])
        expect(types, statement.text).not.toContain(type)
    }
  })

  test('so are further pages and counts', async () => {
    for (const after of [
      ['2026-01-01 00:00:00+00', 'L1'],
      [null, 'L1'],
    ]) {
      const plan = {
        ...toPlan(after[0] === null ? '$orderby=ListPrice' : '$orderby=ModificationTimestamp'),
        after,
      }
      for (const stretch of keysetRanges(plan)) {
        const types = await explain(
          toPageStatement(plan, ODATA_REPRESENTATION, stretch, 101, 'verbatim').statement,
        )
        for (const type of ['Sort', 'Incremental Sort', 'Seq Scan']) expect(types).not.toContain(type)
      }
    }
    expect(await explain(toCountStatement(toPlan("$filter=City eq 'a' and ListPrice ge 1")))).not.toContain(
      'Seq Scan',
    )
  })

  test('both plans return the same records', async () => {
    await database.prisma
      .$executeRaw`insert into "Property" ("ListingKey", "City", "ListPrice") select 'S' || n, 'City ' || n % 3, n from generate_series(1, 60) n`
    const plan = toPlan(
      "$filter=City eq 'City 1' and ListPrice ge 10&$orderby=ListPrice desc&$select=ListingKey",
    )
    const { statement } = toPageStatement(plan, ODATA_REPRESENTATION, undefined, 101, 'verbatim')
    const read = (planning: 'generic' | 'custom') =>
      database.reader.query<{ cursors: string }>(statement, planning)
    const [once, each] = [await read('generic'), await read('custom')]
    expect(once).toEqual(each)
    expect(once[0]?.cursors.split('\n')).toHaveLength(17)
    await database.prisma.$executeRaw(sql`delete from "Property" where "ListingKey" like 'S%'`)
  })
})
