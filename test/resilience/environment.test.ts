import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/data/database.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  createTestEnvironment,
  executeOnServer,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'
import { type TestService, testServiceOf } from '../support/test-service.js'

// A host in New York and, for a server, a database in Tokyo with an English collation must give the same
// responses.

describe.each(DATABASE_KINDS)('other time zones and collations on the %s database', kind => {
  let place: TestEnvironment
  let service: StartedService
  let database: Database
  let { given, keys, rows, read, draft }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    place = await createTestEnvironment(kind, `template template0 locale_provider icu icu_locale 'en-US'`)
    const [name] = /listing_[0-9a-f]{32}/.exec(place.env['DATABASE_URL'] ?? '') ?? []
    if (name !== undefined) await executeOnServer(`alter database ${name} set timezone = 'Asia/Tokyo'`)
    service = await startService(place, { TZ: 'America/New_York' })
    database = await place.connect()
    ;({ given, keys, rows, read, draft } = testServiceOf({ ...service, database }))
  })
  afterAll(async () => {
    await database.close()
    await service.stop('SIGTERM')
    await place.remove()
  })

  test('PAG-18 text is sorted by code point, whatever the collation of the database', async () => {
    await given(
      ['ab', 'a_z', 'B', 'a', 'Zebra', 'zebra', 'Äa'].map(City => ({ City, Media: [{ MediaKey: City }] })),
    )
    const up = (await rows('$orderby=City&$top=1')).map(row => row['City'])
    expect(up).toEqual(['B', 'Zebra', 'a', 'a_z', 'ab', 'zebra', 'Äa'])
    expect((await rows('$orderby=City desc&$top=1')).map(row => row['City'])).toEqual([...up].reverse())
    for (const order of ["concat(City,'')", 'trim(City)', 'substring(City,0)', 'cast(City,Edm.String)'])
      expect((await rows(`$orderby=${order}&$top=2`)).map(row => row['City'])).toEqual(up)
    expect((await keys("$filter=City lt 'a'&$orderby=City")).length).toBe(2)
    expect((await keys("$filter=concat(City,'') lt 'a'&$orderby=City")).length).toBe(2)
    expect((await keys("$filter=tolower(City) eq 'äa'")).length).toBe(1)
  })

  test('FUN-10 parts of a date are those of UTC, in every time zone', async () => {
    await given([{ ModificationTimestamp: '2024-12-31T23:30:00Z' }])
    const parts =
      'year(#) eq 2024 and month(#) eq 12 and day(#) eq 31 and hour(#) eq 23 and minute(#) eq 30 and date(#) eq 2024-12-31 and time(#) eq 23:30:00'
    expect(await keys(`$filter=${parts.replaceAll('#', 'ModificationTimestamp')}`)).toEqual(['L001'])
  })

  test('JSN-05 timestamps are in UTC, whatever the time zone of database and host', async () => {
    await given([])
    const created = await draft()
    const at = String(created['ModificationTimestamp'])
    expect(at).toMatch(/Z$/)
    expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(30_000)
    const key = String(created['ListingKey'])
    expect(
      (
        await database.prisma.property.findUniqueOrThrow({ where: { ListingKey: key } })
      ).ModificationTimestamp?.toISOString(),
    ).toBe(at)
    await database.withClient(client =>
      client.query(`update "Property" set "OnMarketTimestamp" = '2024-07-01 12:00:00+00'`),
    )
    expect((await read(key))['OnMarketTimestamp']).toBe('2024-07-01T12:00:00.000Z')
    expect(
      await keys('$filter=OnMarketTimestamp eq 2024-07-01T12:00:00Z and now() gt ModificationTimestamp'),
    ).toEqual([key])
  })
})
