import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import { renderDocumentSql } from '../../src/data/sql/json/document-sql.js'
import { STORED_FIELDS } from '../../src/data/sql/json/stored-document.js'
import { getEntity } from '../../src/model/model.js'
import { bind } from '../../src/query/bind/bind.js'
import type { Plan } from '../../src/query/plan.js'
import { loadSampleIfEmpty } from '../../src/sample/fill.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// The stored JSON of a listing must equal the JSON built from its columns, for every record and every writer.

const PROPERTY = getEntity('Property')
const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const REPRESENTATION = {
  etag: '@odata.etag',
  reference: '@odata.id',
  countSuffix: '@odata.count',
  numbersAsText: false,
}
const ALL: Plan = bind({ top: 1000 }, PROPERTY, LIMITS)
/** The same fields with an alias, which the stored text cannot provide. */
const BUILT: Plan = {
  ...ALL,
  select: ALL.select.map(s => (s.kind === 'field' && s.scalar.name === 'City' ? { ...s, as: 'Town' } : s)),
}

const records = async ({ reader }: TestDatabase, plan: Plan) =>
  (await readPage(reader, plan, REPRESENTATION)).records.list.map(
    ({ json }) => JSON.parse(json) as Readonly<Record<string, unknown>>,
  )

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await loadSampleIfEmpty(database, 60)
  })
  afterAll(() => database?.close())

  const expectSame = async () => {
    const stored = await records(database, ALL)
    const built = await records(database, BUILT)
    expect(stored).toEqual(built.map(({ Town, ...record }) => ({ ...record, City: Town })))
    return stored
  }

  test('contains exactly the fields that every reader may see, in the order of the model', async () => {
    const [row] = await database.prisma.$queryRaw<
      { document: string }[]
    >`select "Document" as document from "Property" limit 1`
    expect(Object.keys(JSON.parse(row?.document ?? '{}'))).toEqual(STORED_FIELDS.map(({ name }) => name))
  })

  test('is rewritten after a change of each of its fields, and of no other field', async () => {
    const rows = await database.prisma.$queryRaw<
      { name: string }[]
    >`select attname::text as name from pg_trigger, unnest(tgattr) number
      join pg_attribute on attnum = number and attrelid = '"Property"'::regclass where tgrelid = '"Property"'::regclass and tgname = 'write_document'`
    expect(rows.map(({ name }) => name).sort()).toEqual(
      ['Document', ...STORED_FIELDS.map(({ name }) => name)].sort(),
    )
  })

  test('a full record is the same from its document and from its columns', async () => {
    expect(await expectSame()).toHaveLength(60)
  })

  test('a full record begins with its control information and its key, and has each member once', async () => {
    const key = String.raw`a,"ListingId":\"{`
    await database.prisma.property.create({ data: { ListingKey: key, City: 'Vail' } })
    const { list } = (await readPage(database.reader, ALL, REPRESENTATION)).records
    expect(list).toHaveLength(61)
    for (const { json } of list) {
      const record = JSON.parse(json) as Readonly<Record<string, unknown>>
      expect(Object.keys(record).slice(0, 2)).toEqual(['@odata.etag', 'ListingKey'])
      expect(json.startsWith(`{"@odata.etag":${JSON.stringify(record['@odata.etag'])},"ListingKey":`)).toBe(
        true,
      )
      expect(json.split(',"ListingKey":')).toHaveLength(2)
    }
    expect(list.map(({ json }) => JSON.parse(json).ListingKey)).toContain(key)
    await database.prisma.property.delete({ where: { ListingKey: key } })
  })

  test('unusual values are preserved', async () => {
    await database.prisma
      .$executeRaw`update "Property" set "PublicRemarks" = E'a "b" \\\\ \\n\\t \\u2028 ü', "LivingArea" = 1234.500, "LotSizeArea" = 12345678901234567890.10,
      "OnMarketTimestamp" = '0001-01-01T00:00:00.001Z', "ListingContractDate" = '9999-12-31', "Roof" = array['a,b', '"', '']`
    await expectSame()
  })

  test('a change by SQL updates it too, also in a session with another time zone', async () => {
    await database.withClient(async client => {
      await client.query(
        `set time zone 'America/Denver'; set datestyle = 'German'; update "Property" set "City" = 'Elsewhere', "OnMarketTimestamp" = '2026-07-01 12:00:00Z', "OnMarketDate" = date '2026-07-01'`,
      )
    })
    const [first] = await expectSame()
    expect(first).toMatchObject({
      City: 'Elsewhere',
      OnMarketTimestamp: '2026-07-01T12:00:00.000Z',
      OnMarketDate: '2026-07-01',
    })
  })

  test('is created when it is missing', async () => {
    await database.withClient(async client => {
      await client.query(
        `alter table "Property" disable trigger write_document; update "Property" set "Document" = null; alter table "Property" enable trigger write_document`,
      )
    })
    await expectSame()
  })

  test('function and trigger are those that `npm run schema -- --document` prints, and a new column passes through it', async () => {
    const SELECT_DEFINITIONS = `select pg_get_functiondef('listing_document'::regproc) as function, pg_get_triggerdef(t.oid) as trigger, md5(string_agg(coalesce("Document", listing_document(p)), '' order by "ListingKey")) as documents
      from pg_trigger t, "Property" p where tgname = 'write_document' group by t.oid`
    await database.withClient(async client => {
      const before = (await client.query(SELECT_DEFINITIONS)).rows
      await client.query('begin; alter table "Property" add column "AddedByTest" text collate "C"')
      await client.query(renderDocumentSql())
      const after = (await client.query(SELECT_DEFINITIONS)).rows
      await client.query('rollback')
      expect(after).toEqual(before)
      expect(after).toHaveLength(1)
    })
  })
})
