import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { createPageExtension } from '../../src/data/prisma/page-extension.js'
import type { Actor } from '../../src/domain/actor.js'
import { DEFAULT_PARSE_LIMITS } from '../../src/language/parse-limits.js'
import { parseQuery, readQueryOptions } from '../../src/odata/url/query-options.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const STAFF: Actor = { scopes: new Set(['listings:read', 'listings:write:any']), audience: 'staff' }
const PUBLIC: Actor = { scopes: new Set(['listings:read']), audience: 'public' }
const toQuery = (options: string) =>
  parseQuery(readQueryOptions(encodeURI(options)), 'collection', DEFAULT_PARSE_LIMITS)

describe.each(DATABASE_KINDS)('the client extension on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await importFile(database, fileURLToPath(new URL('../cases/fixture.json', import.meta.url)))
  })
  afterAll(() => database?.close())

  const extend = () => database.prisma.$extends(createPageExtension(LIMITS, { nonDisclosure: true }))

  test('reads a query with its related records', async () => {
    const rows = await extend().property.findPage(
      toQuery("$filter=ListingKey eq 'P01'&$select=ListingKey,City&$expand=Rooms($select=RoomType)"),
      STAFF,
    )
    expect(rows).toEqual([{ ListingKey: 'P01', City: 'Denver', Rooms: expect.any(Array) }])
  })

  test('hides what the actor may not read', async () => {
    const query = toQuery('$select=ListingKey,SoldPrice&$filter=ListingKey ne null&$top=1000')
    const [staff, all] = [
      await extend().property.findPage(query, STAFF),
      await extend().property.findPage(query, PUBLIC),
    ]
    expect(staff.some(({ SoldPrice }) => SoldPrice !== null)).toBe(true)
    expect(all.length).toBeGreaterThan(0)
    expect(all.every(({ SoldPrice }) => SoldPrice === null)).toBe(true)
  })

  test.runIf(kind === 'server')('examples/open-listings.ts prints listings', async () => {
    const child = spawn(process.execPath, ['--import', './src/typescript.mjs', 'examples/open-listings.ts'], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], DATABASE_URL: database.settings.databaseUrl },
    })
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk
    })
    const code = await new Promise(resolve => child.on('close', resolve))
    expect({ code, lines: out.trim().split('\n').length }).toEqual({ code: 0, lines: 10 })
  })
})
