import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import { readRowComparison } from '../../src/data/sql/row-comparison.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toPlan } from '../support/oracle/plans.js'

// The condition by which a client continues after the last record, as one row comparison: which conditions
// are recognized, and that the records are the same.

const T = '2024-06-01T00:00:00Z'

function read(filter: string): string | undefined {
  const rows = readRowComparison(
    toPlan(`$filter=${filter}`).filter ?? { kind: 'literal', value: null, type: 'Boolean' },
  )
  return (
    rows &&
    `${rows.columns.map(({ scalar }) => scalar.name).join()} ${rows.operator} ${rows.values.map(({ value }) => value).join()}`
  )
}

// biome-ignore format: table
const COMPARISONS: readonly (readonly [filter: string, comparison: string])[] = [
  [`ModificationTimestamp gt ${T} or (ModificationTimestamp eq ${T} and ListingKey gt 'K')`, `ModificationTimestamp,ListingKey gt ${T},K`],
  [`(ModificationTimestamp eq ${T} and ListingKey gt 'K') or ModificationTimestamp gt ${T}`, `ModificationTimestamp,ListingKey gt ${T},K`],
  [`(ListingKey gt 'K' and ${T} eq ModificationTimestamp) or ${T} lt ModificationTimestamp`, `ModificationTimestamp,ListingKey gt ${T},K`],
  [`ModificationTimestamp lt ${T} or (ModificationTimestamp eq ${T} and ListingKey le 'K')`, `ModificationTimestamp,ListingKey le ${T},K`],
  ["City gt 'B' or (City eq 'B' and (ListPrice gt 5 or (ListPrice eq 5 and ListingKey ge 'K')))", 'City,ListPrice,ListingKey ge B,5,K'],
  ["City lt 'B' or (City eq 'B' and ListPrice lt 5) or (City eq 'B' and ListPrice eq 5 and ListingKey lt 'K')", 'City,ListPrice,ListingKey lt B,5,K'],
]

// biome-ignore format: table
const OTHERS: readonly string[] = [
  `ModificationTimestamp gt ${T} or (ModificationTimestamp eq 2024-06-02T00:00:00Z and ListingKey gt 'K')`,
  `ModificationTimestamp ge ${T} or (ModificationTimestamp eq ${T} and ListingKey gt 'K')`,
  `ModificationTimestamp gt ${T} or (ModificationTimestamp eq ${T} and ListingKey lt 'K')`,
  `ModificationTimestamp gt ${T} or (OnMarketTimestamp eq ${T} and ListingKey gt 'K')`,
  `ModificationTimestamp gt ${T} or (ModificationTimestamp eq ${T} and ListingKey ne 'K')`,
  `ModificationTimestamp gt ${T} or (ModificationTimestamp eq ${T} and ListingKey gt City)`,
  `ModificationTimestamp gt ${T} or (ModificationTimestamp eq ${T} and ListingKey gt 'K' and City eq 'B')`,
  `ModificationTimestamp gt ${T} or ListingKey gt 'K'`,
  `ModificationTimestamp gt ${T}`,
  "cast(ListPrice,Edm.Double) gt 5.5 or (cast(ListPrice,Edm.Double) eq 5.5 and ListingKey gt 'K')",
]

test.each(COMPARISONS)('%s is %s', (filter, comparison) => expect(read(filter)).toBe(comparison))
test.each(OTHERS)('%s is not a row comparison', filter => expect(read(filter)).toBeUndefined())

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await database.prisma.$transaction([
      database.prisma.$executeRaw`set local listing.import = 'on'`,
      database.prisma.$executeRaw(sql`
        insert into "Property" ("ListingKey", "City", "ListPrice", "BedroomsTotal", "ModificationTimestamp")
        select 'K' || lpad(n::text, 3, '0'), case when n % 5 > 0 then chr(64 + n % 5) end, case when n % 7 > 0 then n % 7 end, nullif(n % 3, 0),
          timestamptz '2024-05-30Z' + n % 4 * interval '1 day'
        from generate_series(1, 240) n`),
    ])
  })
  afterAll(() => database?.close())

  const keysOf = async (filter: string) => {
    const plan = toPlan(`$filter=${filter}&$select=ListingKey&$top=1000&$orderby=ListingKey`)
    return (await readPage(database.reader, plan, ODATA_REPRESENTATION)).records.json
  }

  // biome-ignore format: table
  const CONDITIONS = [
    `ModificationTimestamp gt 2024-05-31T00:00:00Z or (ModificationTimestamp eq 2024-05-31T00:00:00Z and ListingKey gt 'K100')`,
    `ModificationTimestamp lt 2024-05-31T00:00:00Z or (ModificationTimestamp eq 2024-05-31T00:00:00Z and ListingKey le 'K100')`,
    "City gt 'B' or (City eq 'B' and ListingKey gt 'K100')",
    "City lt 'C' or (City eq 'C' and ListPrice lt 4)",
    "ListPrice ge 5 or (ListPrice eq 5 and City gt 'A')",
    'ListPrice gt 3 or (ListPrice eq 3 and BedroomsTotal gt 1)',
    'BedroomsTotal lt 2 or (BedroomsTotal eq 2 and ListPrice le 4)',
    "City gt 'B' or (City eq 'B' and (ListPrice gt 5 or (ListPrice eq 5 and BedroomsTotal ge 1)))",
    "City lt 'C' or (City eq 'C' and ListPrice lt 5) or (City eq 'C' and ListPrice eq 5 and ListingKey lt 'K100')",
  ]

  test.each(CONDITIONS)('%s selects the same records, alone, within others and negated', async condition => {
    // An alternative that no record meets keeps the condition from being read as a comparison of rows.
    const plain = `(${condition} or ListingKey eq 'none')`
    expect(
      readRowComparison(toPlan(`$filter=${plain}`).filter ?? { kind: 'list', items: [], type: 'String' }),
    ).toBeUndefined()
    const found = await keysOf(condition)
    expect(found).not.toBe('')
    expect(found).toBe(await keysOf(plain))
    expect(await keysOf(`City ne 'A' and (${condition}) and ListPrice ne 1`)).toBe(
      await keysOf(`City ne 'A' and ${plain} and ListPrice ne 1`),
    )
    expect(await keysOf(`not (${condition})`)).toBe(await keysOf(`not ${plain}`))
  })
})
