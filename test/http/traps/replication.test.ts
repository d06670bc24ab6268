import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../../src/data/migrate.js'
import { bodyOf, type Row } from '../../support/assertions.js'
import { SweepReplica, TimestampKeyReplica, TimestampReplica } from '../../support/clients/replica.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService, type TestService } from '../../support/test-service.js'

const timeOf = (record: Row) => String(record['ModificationTimestamp'])

describe.each(DATABASE_KINDS)('traps of replication on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, keys, rows, send, read, patch, remove }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, keys, rows, send, read, patch, remove } = market)
  })
  afterAll(() => market.close())

  test('REP-01 a late commit is not lost', async () => {
    await given([{}, {}, {}])
    const poller = new TimestampReplica(market)
    await poller.poll()
    let isQuiet = false
    const polling = (async () => {
      while (!isQuiet) await poller.poll()
    })()
    // A is changed first and committed last, if the database allows that.
    const late = market.database.withClient(async client => {
      await client.query('begin')
      await client.query(`update "Property" set "City" = 'Late' where "ListingKey" = 'L001'`)
      await wait(1000)
      await client.query('commit')
    })
    await wait(100)
    const other = patch('L002', { City: 'Meanwhile' })
    await late
    expect((await other).status).toBe(200)
    isQuiet = true
    await polling
    await poller.poll()
    expect(poller.records()).toEqual(await rows('$select=ListingKey,City,ModificationTimestamp'))
  })

  test('REP-02 two changes within one millisecond, and a clock that is set back', {
    timeout: 60_000,
  }, async () => {
    await given([{}])
    const times: string[] = []
    for (let n = 0; n < 100; n++) {
      times.push(timeOf(bodyOf(await patch('L001', { StreetNumber: String(n) }))))
      // A database that has assigned a time in the next second behaves as if its clock was set back.
      if (n === 50)
        await market.database.prisma
          .$executeRaw`select setval('change_clock', (extract(epoch from clock_timestamp()) * 1000)::bigint + 1000)`
    }
    expect(times.filter((time, i) => i > 0 && time <= (times[i - 1] ?? ''))).toEqual([])
    expect(times.at(-1)).toBe(timeOf(await read('L001')))
  })

  test('REP-04 deletions can be found', async () => {
    await given(Array.from({ length: 50 }, () => ({})))
    const all = await keys('$orderby=ListingKey')
    const [last] = (await readEvents('$orderby=EntityEventSequence desc&$top=1')).map(
      event => event['EntityEventSequence'],
    )
    const gone = ['L003', 'L010', 'L020', 'L021', 'L050']
    for (const key of gone) expect((await remove(key)).status).toBe(204)
    expect(await keys('$select=ListingKey&$orderby=ListingKey&$top=20')).toEqual(
      all.filter(key => !gone.includes(key)),
    )
    const events = await readEvents(
      `$filter=EntityEventSequence gt ${last} and ResourceName eq 'Property'&$orderby=EntityEventSequence`,
    )
    expect(events.map(event => event['ResourceRecordKey'])).toEqual(gone)
  })
  const readEvents = async (query: string) =>
    (bodyOf(await send(`/odata/EntityEvent?${query}`))['value'] ?? []) as readonly Row[] // a collection

  test('docs/replication.md: a copy by timestamp and key has every record of a timestamp that many share', async () => {
    const shared = '2024-06-15T10:00:00Z'
    await given(Array.from({ length: 25 }, () => ({ ModificationTimestamp: shared })))
    // A page ends between records of one timestamp: by the timestamp alone the rest would be lost.
    const replica = new TimestampKeyReplica(market, 10)
    await replica.poll()
    await patch('L007', { City: 'Changed' })
    await replica.poll()
    expect(replica.records()).toEqual(await rows('$select=ListingKey,City,ModificationTimestamp'))
  })

  test('docs/replication.md: a sweep by key and ETag finds changes, imports of older records and deletions', async () => {
    await given(Array.from({ length: 30 }, () => ({ ModificationTimestamp: '2024-06-15T10:00:00Z' })))
    const replica = new SweepReplica(market, 'Property', 'ListingKey')
    await replica.sweep()
    expect(await replica.sweep()).toEqual([])
    await patch('L003', { City: 'Changed' })
    await remove('L004')
    await market.database.withClient(client =>
      client.query(
        `begin; set local listing.import = 'on'; update "Property" set "City" = 'Imported', "ModificationTimestamp" = '2020-01-01' where "ListingKey" = 'L005'; commit`,
      ),
    )
    expect(await replica.sweep()).toEqual(['L003', 'L005'])
    expect(replica.records()).toEqual(await rows(''))
  })

  test('docs/replication.md: a sweep keeps Lookup', async () => {
    const replica = new SweepReplica(market, 'Lookup', 'LookupKey')
    expect((await replica.sweep()).length).toBeGreaterThan(1000)
    const change = (value: string) =>
      market.database.prisma.lookup.update({
        where: { LookupKey: 'StandardStatus-Active' },
        data: { StandardLookupValue: value },
      })
    const { StandardLookupValue: original } = await market.database.prisma.lookup.findUniqueOrThrow({
      where: { LookupKey: 'StandardStatus-Active' },
    })
    await change('On the market')
    expect(await replica.sweep()).toEqual(['StandardStatus-Active'])
    await change(original ?? 'Active')
  })

  test('REP-07 leaving the filter', async () => {
    await given([{ SoldPrice: 5 }, {}])
    const [seen = ''] = (await rows('$orderby=ModificationTimestamp desc&$top=1')).map(timeOf)
    expect((await patch('L001', { StandardStatus: 'Sold' })).status).toBe(200)
    expect(await keys(`$filter=StandardStatus eq 'Active' and ModificationTimestamp gt ${seen}`)).toEqual([])
    expect(await rows(`$filter=ModificationTimestamp gt ${seen}`)).toMatchObject([
      { ListingKey: 'L001', StandardStatus: 'Sold' },
    ])
  })

  test('REP-09 edits that bypass the API', async () => {
    await given([{}, {}])
    const [seen = ''] = (await rows('$orderby=ModificationTimestamp desc&$top=1')).map(timeOf)
    await market.database.withClient(client =>
      client.query(`update "Property" set "City" = 'By hand' where "ListingKey" = 'L001'`),
    )
    await market.database.prisma.property.update({
      where: { ListingKey: 'L002' },
      data: { City: 'By Studio' },
    })
    expect(await keys(`$filter=ModificationTimestamp gt ${seen}&$orderby=ModificationTimestamp`)).toEqual([
      'L001',
      'L002',
    ])
    const before = await rows('$select=ListingKey,ModificationTimestamp')
    await migrate(market.database)
    expect(await rows('$select=ListingKey,ModificationTimestamp')).toEqual(before)
  })

  test('DBX-01 an empty or missing key', async () => {
    await given([{}, {}])
    const before = await rows('')
    const body = { City: 'X', ChangedByMemberKey: 'M1' }
    for (const path of ["('')", '()', '(null)', "(ListingKey='')", '(undefined)', "('undefined')"])
      for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
        const answer = await send(`/odata/Property${path}`, {
          method,
          ...(method.startsWith('P') && { body }),
        })
        expect([path, method, [400, 404].includes(answer.status)], answer.text).toEqual([path, method, true])
      }
    expect((await send('/odata/Property', { method: 'DELETE' })).status).toBe(405)
    expect(await rows('')).toEqual(before)
  })
})
