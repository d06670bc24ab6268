import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import type { Plan } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toPlan } from '../support/oracle/plans.js'

// The width of sorted rows. A sort of twenty complete records once read the documents of all matching
// listings.

const LISTINGS = 400
const fill = sql`
  insert into "Property" ("ListingKey", "City", "ListPrice", "LivingArea", "StandardStatus", "ModificationTimestamp", "OnMarketDate", "Longitude", "Latitude",
    "ListAgentKey", "UnparsedAddress", "PublicRemarks")
  select 'K' || lpad(n::text, 8, '0'), 'City ' || n % 4, (n * 7919) % 1000000, n % 50 * 10, 'Active', timestamptz '2020-01-01Z' + n * interval '1 hour',
    date '2020-01-01' + (n * 31) % 400, -100 + (n % 100) / 100.0, 30 + (n / 100) / 10.0, 'M' || n % 30, n || ' Street ' || n, 'A lake with a view of ' || n
  from generate_series(1, ${LISTINGS}::int) n`

const POINT = "geography'SRID=4326;POINT(-99.5 30)'"

/** Pages of whole records whose order no index has. */
const SORTED_PAGES = [
  '$orderby=OnMarketDate desc&$top=20',
  "$filter=StandardStatus eq 'Active'&$orderby=OnMarketDate desc,ListPrice&$top=20&$skip=40",
  "$filter=StandardStatus in ('Active','Pending')&$orderby=OnMarketDate&$top=20",
  '$search=lake&$orderby=LivingArea&$top=20',
  `$filter=geo.distance(GeoLocation,${POINT}) le 90000&$orderby=geo.distance(GeoLocation,${POINT})&$top=20`,
  '$orderby=ListAgent/MemberLastName&$top=20',
  '$orderby=ListPrice div LivingArea&$top=20',
  "$filter=contains(UnparsedAddress,'7')&$orderby=UnparsedAddress&$top=20",
  '$apply=filter(ListPrice gt 1000)/orderby(OnMarketDate desc)/top(30)&$top=20',
  '$apply=orderby(OnMarketDate)/top(100)/filter(ListPrice gt 1000)&$orderby=LivingArea&$top=20',
]

interface Node {
  readonly 'Node Type': string
  readonly Output?: readonly string[]
  readonly Plans?: readonly Node[]
}

const nodes = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(nodes)]

/** Returns the columns of each sort of a plan, except unused ones, which are null. */
const sortOutputs = (plan: Node): readonly (readonly string[])[] =>
  nodes(plan)
    .filter(node => node['Node Type'].endsWith('Sort'))
    .map(({ Output = [] }) => Output.filter(column => !column.startsWith('NULL::')))

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind, { statementTimeoutMs: 60_000 })
    await database.prisma.$executeRaw(fill)
    await database.withClient(client => client.query('analyze'))
  })
  afterAll(() => database?.close())

  async function explainPage(plan: Plan): Promise<readonly Node[]> {
    const explained: Node[] = []
    await readPage(
      {
        query: async <T>({
          text,
          values,
        }: {
          text: string
          values: readonly unknown[]
        }): Promise<readonly T[]> => {
          const [row] = await database.reader.query<{ 'QUERY PLAN': readonly { Plan: Node }[] }>({
            text: `explain (verbose, format json) ${text}`,
            values,
          })
          explained.push(...(row?.['QUERY PLAN'] ?? []).map(({ Plan: root }) => root))
          return []
        },
      },
      plan,
      ODATA_REPRESENTATION,
    )
    return explained
  }

  test.each(SORTED_PAGES)('a sort carries neither the row nor the document: %s', async query => {
    const outputs = (await explainPage(toPlan(query))).flatMap(sortOutputs)
    expect(outputs.length).toBeGreaterThan(0)
    for (const columns of outputs) {
      expect(columns.join()).not.toMatch(/Document|listing_document|r0\.\*/)
      // The key, the order values, and their inputs.
      expect(columns.length, columns.join()).toBeLessThanOrEqual(6)
    }
  })

  test('a sorted page is the page that an index has in that order', async () => {
    const read = async (query: string) =>
      (await readPage(database.reader, toPlan(query), ODATA_REPRESENTATION)).records
    const sorted = await read("$filter=endswith(City,'3')&$orderby=ListPrice desc&$top=20&$skip=5")
    const ordered = await read("$filter=City eq 'City 3'&$orderby=ListPrice desc&$top=20&$skip=5")
    expect(sorted.list).toHaveLength(21 - 1)
    expect(sorted.list).toEqual(ordered.list)
  })
})
