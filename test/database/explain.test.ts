import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import { keysetRanges } from '../../src/data/sql/order.js'
import { toPageStatement } from '../../src/data/sql/page-statement.js'
import { getEntity } from '../../src/model/model.js'
import type { Plan } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toPlan } from '../support/oracle/plans.js'

// Plans of frequent queries on a large table: the index that serves each. No row is sorted or read
// unnecessarily.

const LISTINGS = 40_000
const PROPERTY = getEntity('Property')

/** Listings of many cities, prices (some null) and days, spread over ten degrees. */
const fill = (count: number) => sql`
  insert into "Property" ("ListingKey", "City", "ListPrice", "StandardStatus", "ModificationTimestamp", "OnMarketTimestamp", "StreetName", "UnparsedAddress",
    "PublicRemarks", "ConstructionMaterials", "Longitude", "Latitude", "ListAgentKey", "ListingId", "OriginatingSystemKey", "PostalCode")
  select 'K' || lpad(n::text, 8, '0'), 'City ' || n % 400, case when n % 10 > 0 then (n * 7919) % 1000000 end,
    case when n % 1000 = 1 then 'Hold' else 'Active' end, timestamptz '2020-01-01Z' + n * interval '1 hour', timestamptz '2020-01-01Z' + n * interval '1 hour',
    'Street ' || n, n || ' Street ' || n, 'Remarks number ' || n, case when n % 1000 = 0 then array['Brick'] else array['Wood'] end, -100 + (n % 1000) / 100.0, 30 + (n / 1000) / 10.0, 'M' || n % 300,
    'A' || n, 'S-' || n, lpad((n % 2000)::text, 5, '0')
  from generate_series(1, ${count}::int) n`

interface Node {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly Plans?: readonly Node[]
}

const nodes = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(nodes)]

/**
 * Options, the index that serves them, whether it also provides the order, and the record after which the
 * page begins.
 */
type Row = readonly [
  text: string,
  index: string,
  order: 'ordered' | 'sorted',
  after?: readonly (string | null)[],
]
// biome-ignore format: table
const QUERIES: readonly Row[] = [
  ['', 'Property_pkey', 'ordered'],
  ["$filter=ListingKey eq 'K00000007'", 'Property_pkey', 'ordered'],
  ["$filter=ListingKey in ('K00000007','K00000009')", 'Property_pkey', 'sorted'],
  ['$orderby=ModificationTimestamp', 'Property_ModificationTimestamp_ListingKey_idx', 'ordered'],
  ['$orderby=ModificationTimestamp desc', 'Property_ModificationTimestamp_ListingKey_idx', 'ordered'],
  ['$orderby=ModificationTimestamp', 'Property_ModificationTimestamp_ListingKey_idx', 'ordered', ['2022-01-01 00:00:00+00', 'K1']],
  ['$orderby=ListPrice', 'Property_ListPrice_idx', 'ordered'],
  ['$orderby=ListPrice desc', 'Property_ListPrice_idx', 'ordered'],
  ['$orderby=ListPrice', 'Property_ListPrice_idx', 'ordered', ['500000', 'K00000007']],
  ['$orderby=ListPrice desc', 'Property_ListPrice_idx', 'ordered', ['500000', 'K00000007']],
  ['$orderby=ListPrice', 'Property_ListPrice_idx', 'ordered', [null, 'K00000007']],
  ['$orderby=ListPrice desc', 'Property_ListPrice_idx', 'ordered', [null, 'K00000007']],
  ['$filter=ModificationTimestamp gt 2024-07-01T00:00:00Z&$orderby=ModificationTimestamp', 'Property_ModificationTimestamp_ListingKey_idx', 'ordered'],
  ['$filter=year(ModificationTimestamp) eq 2020&$orderby=ModificationTimestamp', 'Property_ModificationTimestamp_ListingKey_idx', 'ordered'],
  ['$filter=date(ModificationTimestamp) eq 2024-07-01&$orderby=ModificationTimestamp', 'Property_ModificationTimestamp_ListingKey_idx', 'ordered'],
  ["$filter=City eq 'City 7' and ListPrice ge 100000 and ListPrice lt 200000&$orderby=ListPrice", 'Property_City_ListPrice_idx', 'sorted'],
  ["$filter=City in ('City 7','City 9') and ListPrice lt 200000", 'Property_City_ListPrice_idx', 'sorted'],
  ["$filter=startswith(City,'City 399') and ListPrice lt 200000", 'Property_City_ListPrice_idx', 'sorted'],
  ["$filter=StandardStatus eq 'Hold'&$orderby=ModificationTimestamp", 'Property_StandardStatus_ModificationTimestamp_idx', 'ordered'],
  ["$filter=ListAgentKey eq 'M7'&$orderby=ModificationTimestamp desc", 'Property_ListAgentKey_ModificationTimestamp_idx', 'ordered'],
  ["$filter=ListAgentKey eq 'M7'", 'Property_ListAgentKey_ModificationTimestamp_idx', 'sorted'],
  ["$filter=ListingId eq 'A7'", 'Property_ListingId_idx', 'ordered'],
  ["$filter=ListingId in ('A7','A9')", 'Property_ListingId_idx', 'sorted'],
  ["$filter=OriginatingSystemName eq 'X' and OriginatingSystemKey eq 'S-7'", 'Property_OriginatingSystemKey_idx', 'ordered'],
  ["$filter=PostalCode eq '00007' and StandardStatus eq 'Active'&$orderby=ListPrice", 'Property_PostalCode_idx', 'sorted'],
  ["$filter=contains(tolower(UnparsedAddress),'street 1234')", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=contains(tolower(UnparsedAddress),'street 1234')&$orderby=ModificationTimestamp desc", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=contains(UnparsedAddress,'Street 1234')", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=contains(UnparsedAddress,'zzqqx')&$orderby=UnparsedAddress", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=startswith(UnparsedAddress,'1234 Str')", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=startswith(tolower(UnparsedAddress),'1234 str')", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=UnparsedAddress eq '1234 Street 1234'", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=contains(StreetName,'Street 1234')", 'Property_StreetName_trigram_idx', 'sorted'],
  ["$filter=endswith(StreetName,'1234')", 'Property_StreetName_trigram_idx', 'sorted'],
  ["$filter=contains(tolower(StreetName),'street 1234')", 'Property_StreetName_trigram_idx', 'sorted'],
  ["$filter=contains(tolower(StreetName),'street 1234')&$orderby=ModificationTimestamp desc", 'Property_StreetName_trigram_idx', 'sorted'],
  ["$filter=contains(tolower(StreetName),'7') and year(ModificationTimestamp) eq 2021&$orderby=ModificationTimestamp desc", 'Property_ModificationTimestamp_ListingKey_idx', 'sorted'],
  ["$filter=endswith(StreetName,'7') and StandardStatus ne 'Hold' and ListPrice gt 1000&$orderby=ModificationTimestamp desc", 'Property_ModificationTimestamp_ListingKey_idx', 'sorted'],
  ["$filter=contains(tolower(UnparsedAddress),'street 1234') or ListingId eq 'A7'", 'Property_UnparsedAddress_trigram_idx', 'sorted'],
  ["$filter=ConstructionMaterials/any(m:m eq 'Brick')", 'Property_ConstructionMaterials_idx', 'sorted'],
  ["$filter=geo.distance(GeoLocation,geography'SRID=4326;POINT(-95 31)') lt 2000", 'Property_Latitude_Longitude_StandardStatus_idx', 'sorted'],
  ["$filter=geo.intersects(GeoLocation,geography'SRID=4326;POLYGON((-95 31,-94.9 31,-94.9 31.1,-95 31.1,-95 31))')", 'Property_Latitude_Longitude_StandardStatus_idx', 'sorted'],
  ['$filter=Latitude ge 31 and Latitude le 31.1 and Longitude ge -95 and Longitude le -94.9', 'Property_Latitude_Longitude_StandardStatus_idx', 'sorted'],
  ['$filter=Longitude gt -95 and Latitude lt 31.1 and -94.9 ge Longitude and 31 le Latitude', 'Property_Latitude_Longitude_StandardStatus_idx', 'sorted'],
  ['$filter=Latitude ge 31 and Latitude le 31.01 and Longitude ge -90.5', 'Property_Latitude_Longitude_StandardStatus_idx', 'sorted'],
  ['$filter=Latitude gt 31.01 and Latitude lt 31.05', 'Property_Latitude_Longitude_StandardStatus_idx', 'sorted'],
  ['$search=1234', 'Property_SearchText_idx', 'sorted'],
]

describe.runIf(DATABASE_KINDS.includes('server'))('on a table of 40,000 listings', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('server', { statementTimeoutMs: 120_000 })
    await database.prisma.$transaction(
      [
        database.prisma.$executeRaw`set local listing.import = 'on'`,
        database.prisma.$executeRaw(fill(LISTINGS)),
      ],
      {},
    )
    await database.withClient(client => client.query('vacuum analyze'))
  }, 120_000)
  afterAll(() => database?.close())

  for (const [text, index, order, after] of QUERIES)
    test(`${text || 'no options'} is served by ${index}, ${order}`, async () => {
      const plan: Plan = {
        ...toPlan(text),
        select: [{ kind: 'field', scalar: PROPERTY.key }],
        ...(after && { after }),
      }
      const [stretch] = keysetRanges(plan)
      const { statement } = toPageStatement(
        plan,
        ODATA_REPRESENTATION,
        stretch,
        (plan.top ?? 100) + 1,
        'verbatim',
      )
      const [explained] = await database.prisma.$queryRaw<{ 'QUERY PLAN': readonly { Plan: Node }[] }[]>(
        sql`explain (format json) ${statement}`,
      )
      const used = nodes(explained?.['QUERY PLAN'][0]?.Plan ?? { 'Node Type': 'none' })
      expect(used.map(n => n['Index Name']).filter(n => n !== undefined)).toContain(index)
      expect(used.map(n => n['Node Type'])).not.toContain('Seq Scan')
      if (order === 'ordered') expect(used.map(n => n['Node Type'])).not.toContain('Sort')
    })

  // The filter uses a column without an index, so no index can answer it alone.
  test.each([
    "contains(tolower(StreetName),'7')",
    "endswith(StreetName,'7') and ListPrice gt 500000",
    "startswith(StreetName,'Street 39') or contains(StreetName,'77')",
  ])('a page found as keys is the page found by reading: %s', async filter => {
    const read = async (asked: string, options: string) => {
      const plan: Plan = {
        ...toPlan(`$filter=${asked}&$orderby=ModificationTimestamp desc&$top=20${options}`),
        select: [{ kind: 'field', scalar: PROPERTY.key }],
      }
      const { records, count } = await readPage(database.reader, plan, ODATA_REPRESENTATION)
      return { texts: records.list.map(({ json }) => json), count }
    }
    for (const options of ['', '&$skip=30', '&$count=true']) {
      const found = await read(filter, options)
      expect(found.texts).toHaveLength(20)
      expect(found).toEqual(await read(`(${filter}) and UnparsedAddress ne null`, options))
    }
  })
})
