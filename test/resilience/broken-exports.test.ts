import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CSV,
  checkBrokenOff,
  Download as ExportDownload,
  type HttpForm,
  NDJSON,
  type RawResponse,
} from '../support/clients/download.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  createTestEnvironment,
  FULL_ACCESS_TOKEN,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'

/**
 * 600 listings that are found quickly, 1,000 with 64,000 combinations of media each, and 10 MB of listings, more
 * than the buffers of a connection hold.
 */
const FILL = [
  `set session_replication_role = replica`,
  `insert into "Property" ("ListingKey", "StandardStatus", "ModificationTimestamp", "OriginatingSystemName", "City")
   select 'H' || 10000 + n, 'Active', now(), 'x', case when n > 600 then 'Far' else 'Near' end from generate_series(1, 1600) n`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "PropertyKey", "Order", "ModificationTimestamp", "MediaModificationTimestamp")
   select 'H' || n || '-' || o, 'Property', 'H' || n, 'H' || n, o, now(), now() from generate_series(10601, 11600) n, generate_series(1, 40) o`,
  `insert into "Property" ("ListingKey", "StandardStatus", "ModificationTimestamp", "OriginatingSystemName", "City", "PublicRemarks")
   select 'L' || 10000 + n, 'Active', now(), 'x', 'Large', repeat('x', 4000) from generate_series(1, 2500) n`,
]
/**
 * Finds the first 600 listings quickly. The statement of the second chunk takes many seconds. There are few
 * fields, so that the first statement is far from its timeout on a loaded machine too.
 */
const SLOW =
  "$select=ListingKey,City&$filter=City eq 'Near' or Media/any(a:Media/any(b:Media/any(c:a/Order add b/Order add c/Order gt 1000)))"
const LAST_FIRST = '&$orderby=ListingKey desc'
const LARGE = "$filter=City eq 'Large'&$select=ListingKey,PublicRemarks"
const LARGE_COUNT = 2500
const STATEMENT_TIMEOUT_MS = 3000
const POLL = { timeout: 30_000 }

const AUTHORIZATION = `Bearer ${FULL_ACCESS_TOKEN}`

class Download extends ExportDownload {
  constructor({ base }: StartedService, query: string, accept: string, http?: HttpForm) {
    super(base, `/odata/Property?${query}`, { authorization: AUTHORIZATION, accept, ...http })
  }
}

describe.each(DATABASE_KINDS)('an export that cannot be finished on the %s database', kind => {
  let place: TestEnvironment
  let service: StartedService
  const start = async () => {
    service = await startService(place, {
      STATEMENT_TIMEOUT_MS: String(STATEMENT_TIMEOUT_MS),
      SHUTDOWN_TIMEOUT_MS: '200',
    })
  }
  const beside = async (...statements: readonly string[]) => {
    const database = await place.connect()
    await database.withClient(async client => {
      for (const sql of statements) await client.query(sql)
    })
    await database.close()
  }
  beforeAll(async () => {
    place = await createTestEnvironment(kind)
    await start()
    await beside(...FILL)
  }, 120_000)
  afterAll(async () => {
    await service.stop('SIGKILL')
    await place.remove()
  })

  /** The lines of the log with the id of a response. */
  const logOf = ({ head }: RawResponse): readonly { readonly level: number; readonly msg: string }[] => {
    const id = /^X-Request-Id: (.+)$/im.exec(head)?.[1]
    expect(id).toBeDefined()
    return service.process.output.out
      .split('\n')
      .filter(line => line.includes(`"${id}"`) && line.endsWith('}'))
      .map(line => JSON.parse(line))
  }

  test.each<[string, HttpForm]>([
    [NDJSON, {}],
    [NDJSON, { encoding: 'gzip' }],
    [CSV, { version: '1.0' }],
  ])('EXP-11 %s %o whose statement times out is aborted', { timeout: 60_000 }, async (accept, http) => {
    const response = await new Download(service, SLOW, accept, http).finish()
    checkBrokenOff(response, accept, http)
    await expect.poll(() => logOf(response).map(({ msg }) => msg), POLL).toContain('request')
    expect(logOf(response).filter(({ level }) => level >= 40)).not.toEqual([])
    await expect.poll(async () => (await service.send('/odata/Property?$top=1')).status, POLL).toBe(200)
  })

  test('EXP-11 before the first record, a timeout is an ordinary error', { timeout: 60_000 }, async () => {
    const { head, body } = await new Download(service, SLOW + LAST_FIRST, CSV).finish()
    expect(head).toMatch(/^HTTP\/1\.1 503 /)
    expect(head).toMatch(/^Content-Type: application\/json/im)
    expect(body.toString()).toContain('"error"')
  })

  test.runIf(kind === 'server').each<[string, HttpForm]>([
    [NDJSON, {}],
    [CSV, { encoding: 'gzip' }],
    [CSV, { version: '1.0' }],
  ])('EXP-11 %s %o whose backend is terminated is aborted', { timeout: 60_000 }, async (accept, http) => {
    const download = new Download(service, SLOW, accept, http)
    await download.begin()
    const database = await place.connect()
    // Runs only once: a backend that has just become idle would fail the next request.
    const terminate = async () =>
      (
        await database.prisma.$queryRaw<object[]>`
          select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
            and state = 'active' and query like '%"Media" r%' and pid <> pg_backend_pid()`
      ).length
    await expect.poll(terminate, POLL).toBe(1)
    await database.close()
    const response = await download.finish()
    checkBrokenOff(response, accept, http)
    expect((await service.send('/odata/Property?$top=1')).status).toBe(200)
  })

  test('EXP-11, EXP-14 an export in the order of the key continues after changes', {
    timeout: 60_000,
  }, async () => {
    const download = new Download(service, LARGE, NDJSON, { version: '1.0' })
    await download.pause()
    await beside(
      `update "Property" set "PublicRemarks" = 'changed' where "ListingKey" in ('L10001', 'L12499')`,
    )
    const { body, error } = await download.finish()
    const lines = body.toString().trimEnd().split('\n')
    expect([lines.length, error]).toEqual([LARGE_COUNT + 1, undefined])
    expect(lines.at(-1)).toContain(`"@odata.count":${LARGE_COUNT}`)
  })

  test('EXP-11 exports are aborted when the service is stopped, and do not delay its end', {
    timeout: 60_000,
  }, async () => {
    const [lines, csv] = [new Download(service, LARGE, NDJSON), new Download(service, LARGE, CSV)]
    await Promise.all([lines.pause(), csv.pause()])
    // Node notices a reset only while it reads.
    const plain = new Download(service, SLOW, CSV, { version: '1.0' })
    await plain.begin()
    expect(await service.stop('SIGTERM')).toBe(0)
    checkBrokenOff(await lines.finish(), NDJSON, {})
    checkBrokenOff(await csv.finish(), CSV, {})
    checkBrokenOff(await plain.finish(), CSV, { version: '1.0' })
    await start()
  })

  test('EXP-11 exports of a killed service do not end like complete ones', {
    timeout: 60_000,
  }, async () => {
    const [chunked, plain] = [
      new Download(service, LARGE, CSV),
      new Download(service, LARGE, NDJSON, { version: '1.0' }),
    ]
    await Promise.all([chunked.pause(), plain.pause()])
    await service.stop('SIGKILL')
    checkBrokenOff(await chunked.finish(), CSV, {})
    // A client of HTTP/1.0 recognizes a complete export only by the closing line.
    expect((await plain.finish()).body.toString('latin1')).not.toContain('@odata.count')
    await start()
  })
})
