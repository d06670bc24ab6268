import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.js'
import { type Database, openDatabase } from '../../src/data/database.js'
import { importFile } from '../../src/data/import/import.js'
import { PrismaRecordFinder } from '../../src/data/prisma/find-records.js'
import { createHttpServer } from '../../src/http/server.js'
import { loadSampleIfEmpty } from '../../src/sample/fill.js'
import { createSender, startTestApp, type TestApp, type TestResponse } from '../support/app.js'
import { firstDifference } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { readDataset } from '../support/oracle/dataset.js'
import { QueryGenerator } from '../support/oracle/random-queries.js'

// Random requests to two services on one database: one reads by SQL, the other by Prisma where possible. All
// pages must have the same bytes, including nextLinks. ENGINE_RUNS and ENGINE_SEED extend the run.

const RUNS = Number(process.env['ENGINE_RUNS'] ?? 100)
const SEED = Number(process.env['ENGINE_SEED'] ?? 20261129)
const MAX_PAGES = 40
const PUBLIC_URL = 'https://listings.example'
const ENV = { PUBLIC_URL, PAGE_SIZE: '15', EXPAND_PAGE_MAX: '3', NON_DISCLOSURE: 'on', RATE_LIMIT: '0' }
const FIXTURE = fileURLToPath(new URL('../cases/fixture.json', import.meta.url))

const READERS = {
  staff: { audience: 'staff', scopes: ['listings:read'] },
  member: {
    audience: 'member',
    memberKey: 'M1',
    officeKey: 'O1',
    scopes: ['listings:read', 'listings:write'],
  },
  public: { audience: 'public', scopes: ['listings:read'] },
} as const
type Reader = keyof typeof READERS

const REQUEST_HEADERS = [
  {},
  {},
  { Accept: 'application/json;odata.metadata=full' },
  { Accept: 'application/json;odata.metadata=none' },
  { Accept: 'application/json;IEEE754Compatible=true' },
  { Prefer: 'omit-values=nulls' },
  { Prefer: 'odata.maxpagesize=6' },
] as const

describe.each(DATABASE_KINDS)('both read engines over HTTP on the %s database', kind => {
  let bySql: TestApp
  let byPrisma: { readonly database: Database; readonly send: TestApp['send']; close(): Promise<void> }
  let generator: QueryGenerator
  const tokens = new Map<Reader, string>()

  beforeAll(async () => {
    bySql = await startTestApp({ kind, env: ENV })
    await loadSampleIfEmpty(bySql.database, 20)
    await importFile(bySql.database, FIXTURE)
    byPrisma = await startPrismaService(bySql)
    generator = new QueryGenerator(await readDataset(bySql.database))
    for (const reader of Object.keys(READERS) as Reader[]) // its keys
      tokens.set(reader, `Bearer ${bySql.tokenFor(READERS[reader])}`)
  }, 240_000)
  afterAll(async () => {
    await byPrisma?.close()
    await bySql?.close()
  })

  test(`${RUNS} requests`, { timeout: 120_000 + 1000 * RUNS }, async () => {
    const statuses = new Map<number, number>()
    const request = fc.record({
      url: generator.arbitraryUrl(),
      reader: fc.constantFrom(...(Object.keys(READERS) as Reader[])),
      headers: fc.constantFrom(...REQUEST_HEADERS),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ url, reader, headers }) => {
        const parts = { headers: { ...headers, Authorization: tokens.get(reader) ?? '' } }
        for (let link: string | undefined = url, pages = 0; link && pages < MAX_PAGES; pages++) {
          const [expected, found] = [await bySql.send(link, parts), await byPrisma.send(link, parts)]
          expect(firstDifference(contentOf(found), contentOf(expected)), link).toBeUndefined()
          statuses.set(expected.status, (statuses.get(expected.status) ?? 0) + 1)
          link = nextPathOf(expected)
        }
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    )
    report(statuses)
  })

  /** Prints how many plans each engine read. Prisma must have read most of them. */
  function report(statuses: ReadonlyMap<number, number>): void {
    const { finder } = byPrisma.database.reader
    if (!(finder instanceof PrismaRecordFinder)) throw new Error('The service does not read by Prisma')
    const lines = [...finder.statistics].sort(([, a], [, b]) => b - a)
    const isByPrisma = ([name]: (typeof lines)[number]) => name.endsWith(': Prisma')
    const sum = (list: typeof lines) => list.reduce((total, [, count]) => total + count, 0)
    process.stdout.write(
      `${kind}: ${[...statuses].map(([status, count]) => `${count} answers ${status}`).join(', ')}\n` +
        `${lines.map(([name, count]) => `${String(count).padStart(7)} ${name}`).join('\n')}\n`,
    )
    expect(sum(lines.filter(isByPrisma))).toBeGreaterThan(sum(lines) / 3)
    expect(statuses.get(200) ?? 0).toBeGreaterThan(RUNS / 2)
  }
})

/** A second service on the database of the first. */
async function startPrismaService({ database, config, tokenFor }: TestApp) {
  const kind = database.kind === 'embedded' ? 'command' : 'service'
  const opened = await openDatabase({ ...database.settings, readEngine: 'prisma' }, kind)
  const app = createApp({
    config,
    database: opened,
    logger: pino({ level: 'silent' }),
    isDraining: () => server.isDraining(),
  })
  const server = createHttpServer(app.requestListener, config, app)
  const { port } = await server.listen()
  const send = createSender(`http://127.0.0.1:${port}`, `Bearer ${tokenFor()}`)
  return { database: opened, send, close: () => server.close().then(() => opened.close()) }
}

/** The parts of a response that must be equal for both engines. */
function contentOf({ status, headers, text }: TestResponse) {
  const { date: _date, 'x-request-id': _id, connection: _connection, 'keep-alive': _alive, ...rest } = headers
  return { status, headers: rest, text }
}

/** The next page, without the origin of links. */
function nextPathOf({ json }: TestResponse): string | undefined {
  const link = (json as { readonly '@odata.nextLink'?: string } | undefined)?.['@odata.nextLink']
  return link?.slice(PUBLIC_URL.length)
}
