import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { PrismaRecordFinder } from '../../src/data/prisma/find-records.js'
import { readPage } from '../../src/data/read/read-records.js'
import type { StatementExecutor } from '../../src/data/sql/statement.js'
import type { Actor } from '../../src/domain/actor.js'
import { authorize } from '../../src/domain/authorize.js'
import { DEFAULT_PARSE_LIMITS } from '../../src/language/parse-limits.js'
import { getEntity } from '../../src/model/model.js'
import { parseQuery, readQueryOptions } from '../../src/odata/url/query-options.js'
import { bind } from '../../src/query/bind/bind.js'
import { afterCursor } from '../../src/query/parameter.js'
import type { Plan } from '../../src/query/plan.js'
import type { Representation } from '../../src/query/representation.js'
import { firstDifference } from '../support/assertions.js'
import { readCases } from '../support/cases.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// READ_ENGINE=prisma returns the same bytes as READ_ENGINE=sql.

const FIXTURE = fileURLToPath(new URL('../cases/fixture.json', import.meta.url))
const LIMITS = { pageSize: 7, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const REPRESENTATIONS: readonly Representation[] = [
  { etag: '@odata.etag', reference: '@odata.id', countSuffix: '@odata.count', numbersAsText: false },
  {
    reference: '@odata.id',
    countSuffix: '@odata.count',
    numbersAsText: false,
    restricted: { suffix: '@Core.Permissions', value: 'None' },
  },
  {
    reference: '@odata.id',
    countSuffix: '@odata.count',
    numbersAsText: true,
    restricted: { suffix: '@Core.Permissions', value: 'None' },
  },
]
const SCOPES = new Set(['listings:read'] as const)
const ACTORS: readonly Actor[] = [
  { scopes: SCOPES, audience: 'staff' },
  {
    scopes: new Set(['listings:read', 'listings:write']),
    audience: 'member',
    memberKey: 'M1',
    officeKey: 'O1',
  },
  { scopes: SCOPES, audience: 'public' },
]
const POLICY = { nonDisclosure: true }

/** The query options of the cases on a collection of listings, with others for entities of their own. */
const QUERIES: readonly (readonly [entity: string, options: string])[] = [
  ...readCases('cases.jsonl').flatMap(({ url, method }) => {
    const [path, options] = url.split('?', 2)
    return method === 'GET' && path === '/odata/Property' ? [['Property', options ?? ''] as const] : []
  }),
  ...['', '$filter=MediaCategory eq %27Photo%27&$orderby=Order desc', '$expand=Property', '$count=true'].map(
    options => ['Media', options] as const,
  ),
  ['Member', '$orderby=MemberLastName desc'],
  ['Member', '$expand=Media($orderby=Order;$top=1)&$filter=Media/any()'],
  ['Rooms', '$orderby=RoomArea desc,RoomLevel'],
  ['OpenHouse', '$filter=OpenHouseDate ge 2020-01-01&$orderby=OpenHouseDate'],
  ['Rooms', '$filter=Listing/OriginatingSystemName eq null'],
  ['OpenHouse', "$filter=not (Listing/ConstructionMaterials/any(m:m eq 'Brick'))"],
  ['Media', "$filter=Property/City ne 'Denver'"],
  ['EntityEvent', '$filter=EntityEventSequence gt 3&$orderby=EntityEventSequence desc&$count=true'],
  ['Property', '$orderby=ModificationTimestamp desc'],
  ['Property', '$orderby=CloseDate,ListPrice desc'],
  ['Property', '$orderby=ListPrice&$expand=Media($count=true;$filter=Order gt 0),Rooms'],
]

/** The plan of a query, or undefined for one that is refused. */
function toPlan(entity: string, options: string): Plan | undefined {
  try {
    const query = parseQuery(readQueryOptions(options), 'collection', DEFAULT_PARSE_LIMITS)
    return bind(query, getEntity(entity), LIMITS)
  } catch {
    return undefined
  }
}

describe.each(DATABASE_KINDS)('both read engines on the %s database', kind => {
  let database: TestDatabase
  let finder: PrismaRecordFinder
  let byPrisma: StatementExecutor
  let bySql: StatementExecutor
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await importFile(database, FIXTURE)
    finder = new PrismaRecordFinder(database.prisma)
    bySql = { query: database.reader.query }
    byPrisma = { ...bySql, finder }
  })
  afterAll(() => database?.close())

  /** All pages of a plan: JSON, cursors and counts. */
  async function readAll(
    executor: StatementExecutor,
    plan: Plan,
    actor: Actor,
    representation: Representation,
  ) {
    const pages: unknown[] = []
    for (let next: Plan = plan, parameters = plan.after; pages.length < 20; ) {
      const page = await readPage(executor, authorize(next, actor, POLICY), representation, parameters)
      const cursors = page.records.list.map(({ cursor }) => cursor)
      pages.push({ json: page.records.json, cursors, next: page.next, count: page.count })
      if (!page.next) return pages
      parameters = page.next
      next = afterCursor(plan, page.next)
    }
    return pages
  }

  /** Compares both engines for a plan, and returns the number of comparisons; 0 if SQL refuses the plan. */
  async function compare(plan: Plan, actor: Actor, name: string): Promise<number> {
    const representations = name.length % 5 === 0 ? REPRESENTATIONS : REPRESENTATIONS.slice(0, 1)
    for (const representation of representations) {
      const expected = await readAll(bySql, plan, actor, representation).catch(() => undefined)
      if (!expected) return 0
      const found = await readAll(byPrisma, plan, actor, representation)
      expect(firstDifference(found, expected), decodeURIComponent(name)).toBeUndefined()
    }
    return representations.length
  }

  test.each(ACTORS)('return the same result to $audience', { timeout: 300_000 }, async actor => {
    const plans = QUERIES.map(
      ([entity, options]) => [toPlan(entity, options), `${entity}?${options}`] as const,
    )
    let compared = 0
    for (const [plan, name] of plans) compared += plan ? await compare(plan, actor, name) : 0
    expect(compared).toBeGreaterThan(QUERIES.length / 2)
  })

  test('Prisma reads every kind of entity', () => {
    const counts = [...finder.statistics].sort()
    process.stdout.write(
      `${counts.map(([name, count]) => `${String(count).padStart(6)} ${name}`).join('\n')}\n`,
    )
    for (const entity of ['Property', 'Media', 'Member', 'Rooms', 'OpenHouse'])
      expect(finder.statistics.get(`${entity}: Prisma`)).toBeGreaterThan(0)
  })
})
