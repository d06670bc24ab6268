import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDigest, toDigestStatement } from '../../src/data/read/digest.js'
import type { Actor } from '../../src/domain/actor.js'
import { authorize } from '../../src/domain/authorize.js'
import { getEntity } from '../../src/model/model.js'
import { bind } from '../../src/query/bind/bind.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const PUBLIC: Actor = { scopes: new Set(['listings:read']), audience: 'public' }
const PLAN = authorize(bind({ select: [] }, getEntity('Property'), LIMITS), PUBLIC, { nonDisclosure: false })
const LISTINGS = 20_000

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly Plans?: readonly PlanNode[]
}
const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

describe.each(DATABASE_KINDS)('the limit of a digest on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await database.withClient(async client => {
      await client.query('set session_replication_role = replica')
      await client.query(
        `insert into "Property" ("ListingKey", "StandardStatus", "LastEventSequence")
          select 'K' || lpad(n::text, 6, '0'), case when n % 50 = 0 then 'Incomplete' else 'Active' end, n from generate_series(1, $1::int) n`,
        [LISTINGS],
      )
      await client.query('reset session_replication_role')
      await client.query('vacuum analyze "Property"')
    })
  }, 120_000)
  afterAll(() => database?.close())

  test('a range ends at the limit with the next visible key, and ranges after it are left out', async () => {
    const ranges = [
      { from: '', to: 'K000011' },
      { from: 'K000011', to: 'K001000' },
      { from: 'K001000', to: undefined },
    ]
    const digest = await readDigest(database.reader, PLAN, { ranges, buckets: 4, maxRecords: 49 })
    const counts = digest.ranges.map(({ buckets }) => buckets.map(({ count }) => count))
    // K000050 is a draft, which the public does not see.
    expect(digest.ranges.map(({ from, to }) => [from, to])).toEqual([
      ['', 'K000011'],
      ['K000011', 'K000051'],
    ])
    expect(counts).toEqual([
      [3, 3, 2, 2],
      [10, 10, 10, 9],
    ])
    const rest = [{ from: 'K000051', to: 'K001000' }]
    const next = await readDigest(database.reader, PLAN, { ranges: rest, buckets: 1, maxRecords: 5000 })
    expect(next.ranges[0]?.buckets).toMatchObject([{ first: 'K000051', count: 949 - 18 }])
  })

  test('a limit at the end of a range omits the next one and truncates none', async () => {
    const ranges = [
      { from: '', to: 'K000011' },
      { from: 'K000011', to: undefined },
    ]
    const { ranges: read } = await readDigest(database.reader, PLAN, { ranges, buckets: 1, maxRecords: 10 })
    expect(read.map(({ from, to }) => [from, to])).toEqual([['', 'K000011']])
  })

  test('only an index is read, and no row after the limit', async () => {
    const ranges = Array.from({ length: 100 }, (_, i) => ({
      from: `K${String(i * 200).padStart(6, '0')}`,
      to: `K${String(i * 200 + 100).padStart(6, '0')}`,
    }))
    for (const asked of [ranges, [{ from: '', to: undefined }]]) {
      const { text, values } = toDigestStatement(PLAN, { ranges: asked, buckets: 10, maxRecords: 1000 })
      const rows = await database.withClient(
        async client =>
          (
            await client.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
              `explain (analyze, format json) ${text}`,
              [...values],
            )
          ).rows,
      )
      const nodes = rows.flatMap(row => row['QUERY PLAN'].flatMap(({ Plan }) => nodesOf(Plan)))
      const scans = nodes.filter(node => node['Index Name'] === 'Property_digest_idx')
      expect(scans.map(node => node['Node Type'])).toEqual(['Index Only Scan'])
      expect(
        nodes.filter(node => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === 'Property'),
      ).toEqual([])
      expect(Math.max(...nodes.map(node => node['Actual Rows']))).toBeLessThanOrEqual(1001)
    }
  })
})
