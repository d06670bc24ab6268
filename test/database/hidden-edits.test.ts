import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createChangeFeed } from '../../src/data/changes/change-feed.js'
import type { StatementExecutor } from '../../src/data/sql/statement.js'
import type { Actor } from '../../src/domain/actor.js'
import { createCursorSeal } from '../../src/query/cursor.js'
import { ChangeService } from '../../src/service/changes.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { explainQueries } from '../support/explain-plan.js'

// The cost of the change log for a subscriber who may not see the listing that is being edited. It must not
// depend on the number of edits before.

const EDITS = 4000
const PAGE = 100
const PUBLIC: Actor = { scopes: new Set(['listings:read']), audience: 'public' }
const LIMITS = {
  pageSize: 100,
  pageSizeMax: 1000,
  expandPageMax: 100,
  topIsTotal: false,
  expandDepth: 8,
}

/** A draft that is edited and deleted, and a listing that is hidden and edited after that. */
const FILL = [
  sql`insert into "Property" ("ListingKey", "StandardStatus") values ('DRAFT', 'Incomplete'), ('HIDDEN', 'Active')`,
  sql`do $$ begin
    for n in 1..4000 loop update "Property" set "ListPrice" = n where "ListingKey" = 'DRAFT'; end loop;
    update "Property" set "InternetEntireListingDisplayYN" = false where "ListingKey" = 'HIDDEN';
    update "Property" set "ListPrice" = 1 where "ListingKey" = 'HIDDEN';
    delete from "Property" where "ListingKey" = 'DRAFT';
  end $$`,
]

describe.each(DATABASE_KINDS)('4,000 edits of a hidden listing on %s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind, { statementTimeoutMs: 120_000 })
    for (const statement of FILL) await database.prisma.$executeRaw(statement)
  }, 120_000)
  afterAll(() => database?.close())

  const changesOf = (reader: StatementExecutor) =>
    new ChangeService({
      database: { ...database, reader },
      limits: LIMITS,
      policy: { nonDisclosure: false },
      seal: createCursorSeal('a key of the tests'),
      feed: createChangeFeed(database),
      poolSize: 4,
    })

  test('a subscriber reads a bounded number of rows, and advances past events of others', async () => {
    const { rowsRead, indexes } = await explainQueries(database.reader, async watched => {
      const page = await changesOf(watched).eventsAfter('0', PAGE, PUBLIC)
      const end = await changesOf(database.reader).latestSequence(PUBLIC)
      expect(page).toMatchObject({ isFull: false, last: end })
      expect(BigInt(end)).toBeGreaterThan(BigInt(EDITS))
    })
    expect(indexes).toContain('EntityEvent_Audience_EntityEventSequence_idx')
    expect(rowsRead).toBeLessThan(PAGE)
  })

  test('of both listings only the changes that show and hide one are visible', async () => {
    const { events } = await changesOf(database.reader).eventsAfter('0', PAGE, PUBLIC)
    expect(events.map(({ listingKey }) => listingKey)).toEqual(['HIDDEN', 'HIDDEN'])
  })
})
