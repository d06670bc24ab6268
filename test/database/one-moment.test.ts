import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { PrismaRecordFinder } from '../../src/data/prisma/find-records.js'
import { readPage } from '../../src/data/read/read-records.js'
import { DEFAULT_PARSE_LIMITS } from '../../src/language/parse-limits.js'
import { getEntity } from '../../src/model/model.js'
import { parseQuery, readQueryOptions } from '../../src/odata/url/query-options.js'
import { bind } from '../../src/query/bind/bind.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const LIMITS = { pageSize: 10, pageSizeMax: 10, expandPageMax: 10, topIsTotal: false, expandDepth: 8 }
const REPRESENTATION = { reference: '@odata.id', countSuffix: '@odata.count', numbersAsText: false }
const OPTIONS = "$filter=ListingKey eq 'P01'&$select=City&$expand=Rooms($select=RoomLevel)"
const WAITS_FOR_ROOMS = `select 1 from pg_locks where relation = '"Rooms"'::regclass and not granted`

// The embedded database runs one statement at a time and has no second session.
describe.runIf(DATABASE_KINDS.includes('server'))('a page with related records, read by Prisma', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('server')
    await importFile(database, fileURLToPath(new URL('../cases/fixture.json', import.meta.url)))
  })
  afterAll(() => database?.close())

  test('is one snapshot while a writer changes both tables between its statements', async () => {
    const query = parseQuery(readQueryOptions(encodeURI(OPTIONS)), 'collection', DEFAULT_PARSE_LIMITS)
    const plan = bind(query, getEntity('Property'), LIMITS)
    const finder = new PrismaRecordFinder(database.prisma)
    const read = async () =>
      (await readPage({ query: database.reader.query, finder }, plan, REPRESENTATION)).records.json
    const before = await read()
    expect(before).toContain('"RoomLevel":')
    await database.withClient(async writer => {
      await writer.query('begin')
      await writer.query('lock table "Rooms" in access exclusive mode')
      const page = read()
      while ((await writer.query(WAITS_FOR_ROOMS)).rowCount === 0) await sleep(10)
      await writer.query(`update "Property" set "City" = 'Elsewhere' where "ListingKey" = 'P01'`)
      await writer.query(`update "Rooms" set "RoomLevel" = 'Changed' where "ListingKey" = 'P01'`)
      await writer.query('commit')
      expect(await page).toBe(before)
    })
    expect(await read()).toContain('Changed')
  })
})
