import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readFirstRecord, readPage } from '../../src/data/read/read-records.js'
import { parseCursor } from '../../src/data/sql/json/records.js'
import type { StatementExecutor } from '../../src/data/sql/statement.js'
import { columnOf, type Plan, predicate, rowSource, textLiteral } from '../../src/query/plan.js'
import { loadSampleIfEmpty } from '../../src/sample/fill.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toPlan } from '../support/oracle/plans.js'

// The JSON of a page is concatenated, with unescaped texts if none of them needs an escape. It must equal the
// JSON that PostgreSQL builds for each record.

const ODD = [
  'a "b" c',
  '\\',
  'line\nfeed\ttab',
  '\u0001\u001c\u001d\u001e\u001f',
  '","City":"x',
  'ü \u2028 \u{1f3e0} \u007f',
  '',
  ' ',
  'null',
  "it's",
]
const REPRESENTATIONS = [
  ODATA_REPRESENTATION,
  {
    ...ODATA_REPRESENTATION,
    etag: '@odata.etag',
    numbersAsText: true,
    restricted: { suffix: '@note', value: 'None' },
  },
]
const QUERIES = [
  '$orderby=StreetName,ListingKey&$top=100',
  '$orderby=ListPrice desc&$top=100',
  '$select=ListingKey,StreetName,ListPrice,LivingArea,GarageYN,Roof,ListingContractDate,ModificationTimestamp,BedroomsTotal&$orderby=City desc,StreetName&$top=100',
  '$select=City&$expand=Media($orderby=Order;$top=3),Rooms,ListAgent($select=MemberFullName)&$top=100',
  '$select=City&$compute=ListPrice div 3 as Third,concat(StreetName,City) as Place,ListPrice gt 5 as Dear&$orderby=StreetName desc&$top=100',
]

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  let asked = 0
  /** Counts the statements. */
  const reader: StatementExecutor = {
    query: (...of) => {
      asked += 1
      return database.reader.query(...of)
    },
  }
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await loadSampleIfEmpty(database, 30)
  })
  afterAll(() => database?.close())
  beforeEach(() => {
    asked = 0
  })

  const change = (column: string, values: readonly unknown[]) =>
    database.withClient(client =>
      client.query(
        `update "Property" p set "${column}" = o.value from (select "ListingKey" as key, ($1::text[])[row_number() over (order by "ListingKey")] as value from "Property") o where o.key = p."ListingKey" and o.value is not null`,
        [values],
      ),
    )

  const expectSame = async (plan: Plan) => {
    for (const representation of REPRESENTATIONS) {
      const { records } = await readPage(database.reader, plan, representation)
      expect(records.length).toBe(30)
      const keyed = await readPage(
        database.reader,
        { ...plan, select: toPlan('$select=ListingKey').select, expand: [] },
        ODATA_REPRESENTATION,
      )
      for (const [i, { json }] of records.list.entries()) {
        const { ListingKey } = JSON.parse(keyed.records.list[i]?.json ?? '{}') as { ListingKey: string }
        const of = predicate('eq', columnOf(plan.entity.key, rowSource('r0')), textLiteral(ListingKey))
        const found = await readFirstRecord(database.reader, { ...plan, filter: of }, representation)
        expect(JSON.parse(json)).toEqual(JSON.parse(found?.json ?? ''))
        expect(Object.keys(JSON.parse(json) as object)).toEqual(
          Object.keys(JSON.parse(found?.json ?? '') as object),
        )
      }
    }
  }

  test('a page of texts without special characters is read once', async () => {
    await readPage(reader, toPlan('$select=ListingKey,City,ListPrice&$orderby=City'), ODATA_REPRESENTATION)
    expect(asked).toBe(1)
  })

  for (const query of QUERIES) test(`plain texts: ${query}`, () => expectSame(toPlan(query)))

  test('a page of texts with special characters is read twice, and has them unchanged', async () => {
    await change('StreetName', ODD)
    const { records } = await readPage(
      reader,
      toPlan('$select=StreetName&$orderby=ListingKey&$top=10'),
      ODATA_REPRESENTATION,
    )
    expect(asked).toBe(2)
    expect(records.list.map(({ json }) => (JSON.parse(json) as { StreetName: string }).StreetName)).toEqual(
      ODD,
    )
  })

  test('so is a page whose order has such texts, though they are not selected', async () => {
    const { records } = await readPage(
      reader,
      toPlan('$select=ListingKey&$orderby=StreetName&$top=30'),
      ODATA_REPRESENTATION,
    )
    expect(asked).toBe(2)
    const places = records.list.map(record => parseCursor(record)[0])
    expect(places).toEqual(expect.arrayContaining(ODD))
  })

  test('a page without texts that need escaping is read once', async () => {
    await readPage(reader, toPlan('$select=City&$orderby=ListingKey'), ODATA_REPRESENTATION)
    expect(asked).toBe(1)
  })

  for (const query of QUERIES) test(`odd texts: ${query}`, () => expectSame(toPlan(query)))

  test('missing values', async () => {
    await database.withClient(client =>
      client.query(
        `update "Property" set "LivingArea" = null, "City" = null, "GarageYN" = null, "BedroomsTotal" = null, "ListPrice" = null`,
      ),
    )
    for (const query of QUERIES) await expectSame(toPlan(query))
  })
})
