import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countRecords, type Page, readPage } from '../../src/data/read/read-records.js'
import type { Actor } from '../../src/domain/actor.js'
import { type Plan, TRUE, withFilter } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { type ExplainSummary, explainQueries } from '../support/explain-plan.js'
import { ODATA_REPRESENTATION, toAuthorizedPlan } from '../support/oracle/plans.js'

// Costs that do not grow with the table: the rows that PostgreSQL reads for a page, for one record, and for a
// late page. Tested for every kind of reader, because visibility is a condition of every statement.

const LISTINGS = 6000
const READ = ['listings:read', 'listings:write']
const READERS: Readonly<Record<string, Actor>> = {
  public: { scopes: new Set(READ.slice(0, 1)), audience: 'public' },
  agent: { scopes: new Set(READ), audience: 'member', memberKey: 'M7', officeKey: 'O7' },
  staff: { scopes: new Set([...READ, 'listings:write:any']), audience: 'staff' },
}

/**
 * One listing in a hundred is a draft, and one in fifty is hidden from the internet. The change log gets an
 * event for each row.
 */
const FILL = [
  sql`set local listing.import = 'on'`,
  sql`
    insert into "Property" ("ListingKey", "City", "ListPrice", "StandardStatus", "ModificationTimestamp", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
    select 'K' || lpad(n::text, 8, '0'), 'City ' || n % 6, case when n % 10 > 0 then (n * 7919) % 1000000 end, case when n % 100 = 50 then 'Incomplete' else 'Active' end,
      timestamptz '2020-01-01Z' + n * interval '1 hour', 'M' || n % 300, 'O' || n % 30, n % 50 > 0
    from generate_series(1, ${LISTINGS}::int) n`,
  sql`
    insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory", "Order", "ModificationTimestamp")
    select "ListingKey" || '-' || i, 'Property', "ListingKey", 'Photo', i, "ModificationTimestamp" from "Property", generate_series(1, 2) i`,
  sql`insert into "Rooms" ("RoomKey", "ListingKey", "ModificationTimestamp") select "ListingKey" || '-R', "ListingKey", "ModificationTimestamp" from "Property"`,
  sql`insert into "OpenHouse" ("OpenHouseKey", "ListingKey", "OpenHouseDate", "ModificationTimestamp") select "ListingKey" || '-O', "ListingKey", '2026-01-01', "ModificationTimestamp" from "Property"`,
] // biome-ignore format: one row

/** The last record of the previous page, in the middle of the market. */
const LAST = { time: '2020-05-05T00:00:00Z', key: 'K00003000', price: 500000 }

/** Filters by which clients continue after a record. The index scan begins at that record. */
const REPLICATION_PAGES: readonly (readonly [of: string, options: string])[] = [
  [
    'Property',
    `$filter=ModificationTimestamp gt ${LAST.time} or (ModificationTimestamp eq ${LAST.time} and ListingKey gt '${LAST.key}')&$orderby=ModificationTimestamp,ListingKey`,
  ],
  [
    'Property',
    `$filter=StandardStatus ne 'Hold' and (ModificationTimestamp lt ${LAST.time} or ModificationTimestamp eq ${LAST.time} and ListingKey lt '${LAST.key}') and ListingKey ne 'K'&$orderby=ModificationTimestamp desc,ListingKey desc`,
  ],
  [
    'Property',
    `$filter=(ListPrice eq ${LAST.price} and ListingKey gt '${LAST.key}') or ListPrice gt ${LAST.price}&$orderby=ListPrice,ListingKey`,
  ],
  [
    'Media',
    `$filter=ModificationTimestamp gt ${LAST.time} or (ModificationTimestamp eq ${LAST.time} and MediaKey gt '${LAST.key}')&$orderby=ModificationTimestamp,MediaKey`,
  ],
]

/**
 * A page of records that belong to listings reads the listings too, including some that the reader may not
 * see.
 */
const PAGES: readonly (readonly [of: string, options: string])[] = [
  ['Property', ''],
  ['Property', '$orderby=ModificationTimestamp'],
  ['Property', '$orderby=ModificationTimestamp desc'],
  ['Property', '$orderby=ListPrice desc'],
  ['Property', '$filter=ModificationTimestamp gt 2020-03-01T00:00:00Z&$orderby=ModificationTimestamp'],
  ['Property', "$filter=City eq 'City 3' and ListPrice ge 100000&$orderby=ListPrice"],
  ['Property', "$filter=StandardStatus eq 'Active'&$orderby=ModificationTimestamp desc"],
  ['Media', ''],
  ['Media', '$orderby=ModificationTimestamp'],
  ['Rooms', ''],
  ['Rooms', '$filter=ModificationTimestamp gt 2020-03-01T00:00:00Z&$orderby=ModificationTimestamp'],
  ['OpenHouse', ''],
  ['OpenHouse', '$orderby=OpenHouseDate'],
  ['EntityEvent', ''],
  ['EntityEvent', '$orderby=EntityEventSequence desc'],
  ['EntityEvent', '$filter=EntityEventSequence gt 2000&$orderby=EntityEventSequence'],
  [
    'EntityEvent',
    "$filter=ResourceName eq 'Property' and EntityEventSequence gt 2000&$orderby=EntityEventSequence",
  ],
  ...REPLICATION_PAGES,
]
const ROWS_OF_A_PAGE = 3.5 * 100
/** A page of the log is read for each audience of the reader, then sorted. An agent has five audiences. */
const ROWS_OF_A_LOG_PAGE = 6 * 101
const rowsOfPage = (of: string) => (of === 'EntityEvent' ? ROWS_OF_A_LOG_PAGE : ROWS_OF_A_PAGE)

/**
 * Counts are exact and grow with the number of records, but read only the index, which has the columns that
 * determine visibility.
 */
const COUNTED = [
  '',
  "$filter=StandardStatus eq 'Active'",
  "$filter=City eq 'City 3'",
  "$filter=City eq 'City 3' and StandardStatus eq 'Active' and ListPrice ge 500000",
]

/** Some values have many records, others none. */
const CHOICES = [
  "$filter=StandardStatus in ('Active','Hold')&$orderby=ModificationTimestamp",
  "$filter=StandardStatus eq 'Hold' or StandardStatus eq 'Active'&$orderby=ModificationTimestamp desc",
  "$filter=StandardStatus in ('Hold','Active','Hold') and ModificationTimestamp gt 2020-03-01T00:00:00Z&$orderby=ModificationTimestamp&$skip=7",
  "$filter=City in ('City 2','City 4') and StandardStatus ne 'Sold'&$orderby=ListPrice",
  "$filter=City in ('City 2','City 4')&$orderby=ListPrice desc",
  "$filter=StandardStatus in ('Active','Hold')&$orderby=StandardStatus,ModificationTimestamp",
  "$filter=StandardStatus in ('Hold','Pending')&$orderby=ModificationTimestamp",
]

describe.runIf(DATABASE_KINDS.includes('server'))('on a table of 6,000 listings', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('server', { statementTimeoutMs: 120_000 })
    await database.prisma.$transaction(
      FILL.map(statement => database.prisma.$executeRaw(statement)),
      {},
    )
    await database.prisma.$executeRaw`vacuum analyze`
  }, 120_000)
  afterAll(() => database?.close())

  /** Returns a page with the summary of its plan. */
  async function read(plan: Plan): Promise<ExplainSummary & { readonly page: Page }> {
    let page: Page | undefined
    const work = await explainQueries(database.reader, async watched => {
      page = await readPage(watched, plan, ODATA_REPRESENTATION)
    })
    if (!page) throw new Error('Nothing was read')
    return { ...work, page }
  }

  for (const [name, reader] of Object.entries(READERS)) {
    describe(`for a reader of the kind ${name}`, () => {
      test.each(CHOICES)('records with one of several values are found value by value: %s', async options => {
        const plan = toAuthorizedPlan(reader, options)
        const { page, rowsRead, nodes: nodeTypes } = await read(plan)
        expect(nodeTypes).not.toContain('Seq Scan')
        expect(rowsRead).toBeLessThanOrEqual(2 * ROWS_OF_A_PAGE)
        // An additional condition that all records satisfy.
        const { filter } = toAuthorizedPlan(reader, '$filter=length(ListingKey) gt 0')
        const plain = await read(withFilter(plan, filter ?? TRUE))
        expect(plain.page.records.list).toEqual(page.records.list)
        expect(plain.page.next).toEqual(page.next)
        if (page.next)
          expect((await read({ ...plan, after: page.next, skip: 0 })).rowsRead).toBeLessThanOrEqual(
            2 * ROWS_OF_A_PAGE,
          )
      })

      test.each(PAGES)('the cost of a page of %s %s depends on its size only', async (of, options) => {
        const { page, rowsRead, nodes: nodeTypes } = await read(toAuthorizedPlan(reader, options, of))
        expect(page.records).toHaveLength(100)
        expect(nodeTypes).not.toContain('Seq Scan')
        if (of !== 'EntityEvent') expect(nodeTypes).not.toContain('Sort')
        expect(rowsRead).toBeLessThanOrEqual(rowsOfPage(of))
      })

      test.each(PAGES)('page 15 of %s %s costs no more than page 1', async (of, options) => {
        const plan = { ...toAuthorizedPlan(reader, options, of), select: [], expand: [] }
        const [first, before] = [await read(plan), await read({ ...plan, skip: 1399, top: 1 })]
        const deep = await read({ ...plan, ...(before.page.next && { after: before.page.next }) })
        expect(deep.page.records.length).toBeGreaterThan(0)
        expect(deep.indexes).toEqual(first.indexes)
        expect(deep.rowsRead).toBeLessThanOrEqual(rowsOfPage(of))
      })

      test.each(COUNTED)('a count of listings %s reads only an index', async options => {
        const plan = toAuthorizedPlan(reader, options)
        const { nodes: nodeTypes } = await explainQueries(database.reader, watched =>
          countRecords(watched, plan),
        )
        expect(nodeTypes).toEqual(['Aggregate', 'Index Only Scan'])
      })

      test('a read by key reads one row', async () => {
        const { page, rowsRead, indexes } = await read(
          toAuthorizedPlan(reader, "$filter=ListingKey eq 'K00003001'&$top=1"),
        )
        expect([page.records.length, rowsRead, indexes.length]).toEqual([1, 1, 1])
        // Both begin with the key and cost the same.
        expect(['Property_pkey', 'Property_digest_idx']).toContain(indexes[0])
      })
    })
  }
})
