import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toPageStatement } from '../../src/data/sql/page-statement.js'
import { planCacheModeOfPage } from '../../src/data/sql/plan-cache-policy.js'
import type { Actor } from '../../src/domain/actor.js'
import type { Feed } from '../../src/domain/feeds/feed.js'
import type { Entity } from '../../src/model/model.js'
import { getEntity } from '../../src/model/model.js'
import type { Query } from '../../src/query/ast.js'
import { createCursorSeal } from '../../src/query/cursor.js'
import { PlanCache } from '../../src/query/plan-cache.js'
import { BARE_REPRESENTATION } from '../../src/query/representation.js'
import { ReadService } from '../../src/service/reading.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { explainGenericPlan, explainQueries } from '../support/explain-plan.js'
import { ODATA_REPRESENTATION, toAuthorizedPlan } from '../support/oracle/plans.js'
import { feedServiceOf } from './market.js'

// The cost of reading through a feed that shows one listing in a thousand. It must not depend on the others.

const LISTINGS = 10_000
const SHOWN = 10
const FILL = `insert into "Property" ("ListingKey", "StandardStatus", "ListPrice")
  select 'L' || lpad(n::text, 6, '0'), 'Active', n % 1000 from generate_series(1, ${LISTINGS}) n`
/** Events of listings that the feed does not show. */
const EDITS = `update "Property" set "BedroomsTotal" = 1 where "ListPrice" <> 7 and "ListPrice" < 200`
const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const PROPERTY = getEntity('Property')
const EVENT = getEntity('EntityEvent')
const AT = { source: 'test' }

describe('a feed that selects one of a thousand listings', () => {
  let database: TestDatabase
  let actor: Actor
  beforeAll(async () => {
    database = await openTestDatabase('server', { statementTimeoutMs: 120_000 })
    const run = (text: string) => database.withClient(client => client.query(text))
    await run(FILL)
    const added = await feedServiceOf(database).add({ FeedName: 'rare', Filter: 'ListPrice eq 7' })
    await run(EDITS)
    await run('analyze')
    const content = { hiddenFields: [], showsMedia: true, showsOpenHouses: true, showsMembers: true }
    const feed: Feed = { id: added.FeedId, name: 'rare', ...content }
    actor = { scopes: new Set(['listings:read']), audience: 'public', feed }
  }, 240_000)
  afterAll(() => database?.close())

  const read = async (of: Entity, query: Query) => {
    let count = 0
    const { rowsRead } = await explainQueries(database.reader, async reader => {
      const reading = new ReadService(
        {
          database: { ...database, reader },
          limits: LIMITS,
          policy: { nonDisclosure: false },
          seal: createCursorSeal('a key of the tests'),
          plans: new PlanCache(),
        },
        reader,
      )
      const page = await reading.findPage(of, { query, representation: BARE_REPRESENTATION }, actor)
      count = page.count ?? page.records.length
    })
    return { count, rowsRead }
  }
  const byTime = {
    expr: { kind: 'path', names: ['ModificationTimestamp'], at: AT },
    descending: true,
  } as const

  test('FED-22: the cost of its pages, count and log depends on what it shows, not on what it hides', async () => {
    const pages: readonly Query[] = [{}, { orderBy: [byTime] }, { count: true, top: 1 }]
    for (const query of pages) {
      const { count, rowsRead } = await read(PROPERTY, query)
      expect(count).toBe(SHOWN)
      expect(rowsRead).toBeLessThan(SHOWN * 10)
    }
    expect((await read(EVENT, {})).rowsRead).toBeLessThan(SHOWN * 10)
  })

  test.each([
    '',
    '$orderby=ModificationTimestamp',
    '$orderby=LastEventSequence desc',
    '$filter=LastEventSequence gt 0&$orderby=LastEventSequence',
    "$filter=StandardStatus eq 'Active'&$orderby=ModificationTimestamp",
    '$filter=ListPrice ge 0 and ListPrice le 999&$orderby=ListPrice desc',
    "$filter=ListingKey eq 'L000007'",
  ])('FED-22: the same with a generic plan: %s', async text => {
    const plan = toAuthorizedPlan(actor, text)
    expect(planCacheModeOfPage(plan)).toBe('generic')
    const { statement } = toPageStatement(plan, ODATA_REPRESENTATION, undefined, 101, 'verbatim')
    const { rowsRead } = await database.withClient(client => explainGenericPlan(client, statement))
    expect(rowsRead).toBeGreaterThan(0)
    expect(rowsRead).toBeLessThan(SHOWN * 10)
  })
})
