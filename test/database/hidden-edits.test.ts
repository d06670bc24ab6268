import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createChangeFeed } from '../../src/data/changes/change-feed.js'
import type { StatementExecutor } from '../../src/data/sql/statement.js'
import type { Actor } from '../../src/domain/actor.js'
import { createCursorSeal } from '../../src/query/cursor.js'
import { ChangeService, type ListingEvent } from '../../src/service/changes.js'
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

  /** Reads the log to its end, a page at a time. */
  async function readAll(reader: StatementExecutor): Promise<readonly ListingEvent[]> {
    const events: ListingEvent[] = []
    for (;;) {
      const page = await changesOf(reader).eventsAfter(events.at(-1)?.sequence ?? '0', PAGE, PUBLIC)
      events.push(...page)
      if (page.length < PAGE) return events
    }
  }

  test('a page of events reads a bounded number of rows, wherever it is in the log', async () => {
    const rowsOfPage = async (after: number) => {
      const { rowsRead, indexes } = await explainQueries(database.reader, async watched => {
        const events = await changesOf(watched).eventsAfter(String(after), PAGE, PUBLIC)
        expect(events).toHaveLength(PAGE)
      })
      expect(indexes).toContain('EntityEvent_PropertyKey_idx')
      return rowsRead
    }
    const [first, last] = [await rowsOfPage(0), await rowsOfPage(EDITS - PAGE)]
    expect(last).toBeLessThanOrEqual(4 * PAGE)
    expect(last).toBeLessThanOrEqual(first + PAGE)
  })

  test('of both listings only the change that hides one is visible', async () => {
    const events = await readAll(database.reader)
    expect(events).toHaveLength(EDITS + 5)
    expect(events.filter(({ isVisible }) => isVisible)).toEqual([events[EDITS + 2]])
    expect(events[EDITS + 2]?.listingKey).toBe('HIDDEN')
  })
})
