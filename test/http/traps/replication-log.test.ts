import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, rowsOf } from '../../support/assertions.js'
import {
  LogReader,
  LogReplica,
  PositionReplica,
  READERS,
  readMarket,
} from '../../support/clients/log-reader.js'
import { REPLICATED_SETS } from '../../support/clients/replicated-sets.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService, type TestService } from '../../support/test-service.js'

const TIME = '2024-05-01T00:00:00.000Z'
const OWNERS = { ListAgentKey: 'M1', ListOfficeKey: 'O1' }

/** Two photos, one entry of Rooms and an open house for each listing. */
const childrenOf = (...listings: readonly string[]) => ({
  Media: listings.flatMap(
    listing =>
    [1, 2].map(n => ({
      MediaKey: `${listing}-P${n}`, ResourceName: 'Property', ResourceRecordKey: listing, MediaCategory: 'Photo', ModificationTimestamp: TIME,
    })), // biome-ignore format: one row
  ),
  Rooms: listings.map(key => ({ RoomKey: `${key}-R`, ListingKey: key, ModificationTimestamp: TIME })),
  OpenHouse: listings.map(key => ({
    OpenHouseKey: `${key}-H`,
    ListingKey: key,
    ModificationTimestamp: TIME,
  })),
})
const childEventsOf = (listing: string) => [
  `Media ${listing}-P1`,
  `Media ${listing}-P2`,
  `Rooms ${listing}-R`,
  `OpenHouse ${listing}-H`,
]

describe.each(DATABASE_KINDS)('traps of the change log on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, patch, remove, read }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, patch, remove, read } = market)
  })
  afterAll(() => market.close())

  const sql = (...statements: readonly string[]) =>
    market.database.withClient(async client => {
      for (const statement of statements) await client.query(statement)
    })
  const importing = (statement: string) =>
    sql('begin', `set local listing.import = 'on'`, statement, 'commit')

  /** Readers at the end of the log. */
  async function readersAtEnd(...names: readonly string[]): Promise<readonly LogReader[]> {
    return Promise.all(names.map(readerAtEnd))
  }
  async function readerAtEnd(name: string): Promise<LogReader> {
    const reader = new LogReader(market, name)
    await reader.skipToEnd()
    return reader
  }
  const eventsOf = (readers: readonly LogReader[]) =>
    Promise.all(readers.map(async reader => [reader.name, await reader.readEvents()])).then(
      Object.fromEntries,
    )

  test('REP2-01 publishing a draft brings its photos, rooms and open houses', async () => {
    await given([{ ...OWNERS, StandardStatus: 'Incomplete' }, {}], childrenOf('L001'))
    const reader = await readerAtEnd('public')
    const readAfter = async (field: string, maxima: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(REPLICATED_SETS).map(async ([set, key]) => [
            set,
            (await reader.rows(`${set}?$filter=${field} gt ${maxima[set]}`)).map(row => row[key]),
          ]),
        ),
      )
    const etags = async () =>
      Object.fromEntries(
        (await new LogReader(market, 'staff').rows('Property')).map(r => [r['ListingKey'], r['@odata.etag']]),
      )
    const maximumOf = async (field: string) =>
      Object.fromEntries(
        await Promise.all(
          Object.keys(REPLICATED_SETS).map(async set => {
            const [last] = await new LogReader(market, 'staff')
              .rows(`${set}?$orderby=${field} desc&$top=1`)
              .catch(() => [])
            return [set, last?.[field] ?? (field === 'LastEventSequence' ? 0 : TIME)]
          }),
        ),
      )
    const [positions, times, before] = [
      await maximumOf('LastEventSequence'),
      await maximumOf('ModificationTimestamp'),
      await etags(),
    ]
    expect((await patch('L001', { StandardStatus: 'Active' })).status).toBe(200)
    expect(await reader.readEvents()).toEqual(['Property L001', ...childEventsOf('L001')])
    const told = {
      Property: ['L001'],
      Media: ['L001-P1', 'L001-P2'],
      Rooms: ['L001-R'],
      OpenHouse: ['L001-H'],
      Member: [],
      Office: [],
    }
    expect(await readAfter('LastEventSequence', positions)).toEqual(told)
    expect(await readAfter('ModificationTimestamp', times)).toEqual(told)
    expect((await etags())['L002']).toBe(before['L002'])
  })

  test('REP2-02 hiding a listing gives one event to those who lose it', async () => {
    await given([OWNERS], childrenOf('L001'))
    const publicReader = await readerAtEnd('public')
    const readers = [publicReader, ...(await readersAtEnd('member', 'staff'))]
    await patch('L001', { InternetEntireListingDisplayYN: false })
    const disappears = [...childEventsOf('L001'), 'Property L001']
    expect(await eventsOf(readers)).toEqual({ public: disappears, member: disappears, staff: disappears })
    await patch('L001', { ListPrice: 1 })
    await patch('L001', { ListPrice: 2 })
    expect((await remove('L001')).status).toBe(204)
    const rest = ['Property L001', 'Property L001', ...disappears]
    expect(await eventsOf(readers)).toEqual({ public: [], member: rest, staff: rest })
    expect(await publicReader.rows(`Property?$filter=ListingKey in ('L001')`)).toEqual([])
    expect((await publicReader.send(`/odata/Media('L001-P1')`)).status).toBe(404)
  })

  test('REP2-04 records that a token could never see have no events for it', async () => {
    await given([{}], childrenOf('L001'))
    const reader = await readerAtEnd('public')
    const readers = [reader, ...(await readersAtEnd('office'))]
    const start = reader.position
    const markers = { Prefer: 'odata.track-changes' }
    const linksOf = (r: LogReader) =>
      Promise.all(
        ['Property', 'Media', 'Property?$expand=Media'].map(async query =>
          String(bodyOf(await r.send(`/odata/${query}`, { headers: markers }))['@odata.deltaLink']),
        ),
      )
    // The position of an export and a digest is the end of the log, which hidden events raise.
    const contentOf = async (r: LogReader) => {
      const answers = await Promise.all(
        [
          'EntityEvent?$count=true&$top=5000',
          'Property?$count=true',
          'Media?$count=true',
          'Property?$format=ndjson',
          "Digest(ResourceName='Property')",
          "Digest(ResourceName='Media')",
        ].map(target => r.send(`/odata/${target}`)),
      )
      const position = /"LastEventSequence":\d+(?=,"Ranges")|(?<=^\{"@odata\.count":\d+,)"[^"]+":\d+(?=\}$)/gm
      return answers.map(({ status, text }) => [status, text.replaceAll(position, '')])
    }
    const before = await Promise.all(
      readers.map(async r => ({ links: await linksOf(r), content: await contentOf(r) })),
    )
    await sql(
      `insert into "Property" ("ListingKey", "StandardStatus", "ListAgentKey") values ('K9', 'Incomplete', 'M1')`,
    )
    await importing(
      `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey") values ('K9-P', 'Property', 'K9')`,
    )
    for (let n = 0; n < 50; n++) await patch('K9', { ListPrice: n })
    await remove('K9')
    const end = await readerAtEnd('staff')
    for (const [i, r] of readers.entries()) {
      expect([r.name, await contentOf(r)]).toEqual([r.name, before[i]?.content])
      expect(await r.rows(`EntityEvent?$filter=ResourceRecordKey eq 'K9'`)).toEqual([])
      for (const link of before[i]?.links ?? []) {
        const delta = await r.send(link)
        expect([delta.status, rowsOf(delta)]).toEqual([200, []])
      }
      expect(end.position).toBeGreaterThan(start + 50)
      for (let n = start + 1; n <= end.position; n += 5) {
        const missing = await r.send(`/odata/EntityEvent(${n})`)
        expect([missing.status, missing.text.includes('K9')]).toEqual([404, false])
      }
    }
    const agent = new LogReader(market, 'agent')
    agent.position = start
    expect((await agent.readEvents()).at(-1)).toBe('Property K9')
  })

  test('a transfer of a draft gives events to both agents, on both sides of the listing', async () => {
    await given([{ ...OWNERS, StandardStatus: 'Incomplete', ListAgentKey: 'M2' }], childrenOf('L001'))
    const readers = await readersAtEnd('public', 'agent', 'staff')
    await sql(`update "Property" set "ListAgentKey" = 'M1' where "ListingKey" = 'L001'`)
    const children = childEventsOf('L001')
    expect(await eventsOf(readers)).toEqual({
      public: [],
      agent: ['Property L001', ...children],
      staff: [...children, 'Property L001', ...children],
    })
    await sql(`update "Property" set "ListAgentKey" = 'M3' where "ListingKey" = 'L001'`)
    expect((await eventsOf(readers))['agent']).toEqual([...children, 'Property L001'])
    await patch('L001', { ListPrice: 5 })
    expect((await eventsOf(readers))['agent']).toEqual([])
  })

  test('REP2-09 polling at the very end', async () => {
    await given([{}, {}], childrenOf('L001'))
    const reader = new LogReader(market, 'public')
    for (const [set, key] of Object.entries(REPLICATED_SETS).filter(([set]) => set !== 'Office')) {
      const [last] = await reader.rows(`${set}?$orderby=LastEventSequence desc&$top=1`)
      const position = Number(last?.['LastEventSequence'])
      expect(position).toBeGreaterThan(0)
      const poll = (filter: string) =>
        reader.rows(`${set}?$filter=LastEventSequence ${filter}&$orderby=LastEventSequence`)
      expect(await poll(`gt ${position}`)).toEqual([])
      expect(await poll(`ge ${position}`)).toEqual([last])
      expect(await poll(`ge ${position} and ${key} eq 'none'`)).toEqual([])
      expect(bodyOf(await reader.send(`/odata/EntityEvent(${position})`))).toMatchObject({
        ResourceName: set,
        ResourceRecordKey: last?.[key],
      })
    }
  })

  test('REP2-08 positions stay exact in every form', async () => {
    await given([{}])
    const position = Number((await read('L001'))['LastEventSequence'])
    expect(position).toBeLessThan(2 ** 53)
    const text = await market.send(`/odata/Property('L001')?$select=LastEventSequence`, {
      headers: { Accept: 'application/json;IEEE754Compatible=true' },
    })
    expect(bodyOf(text)['LastEventSequence']).toBe(String(position))
    const query =
      'query ($p: Long) { properties(filter: { LastEventSequence: { eq: $p } }) { nodes { LastEventSequence } } }'
    for (const p of [position, String(position)]) {
      const answer = await market.send('/graphql', { method: 'POST', body: { query, variables: { p } } })
      expect(bodyOf(answer)['data']).toEqual({ properties: { nodes: [{ LastEventSequence: position }] } })
    }
    await market.database.withClient(client =>
      client.query(`select setval('entity_event_sequence', 9007199254730000)`),
    )
    await patch('L001', { ListPrice: 1 })
    expect((await read('L001'))['LastEventSequence']).toBe(9007199254730001)
    await sql(
      `select setval('entity_event_sequence', ${position + 1})`,
      `delete from "EntityEvent" where "EntityEventSequence" > ${position + 1}`,
    )
  })

  test('REP2-18 a photo moves from one listing to another', async () => {
    const photo = {
      MediaKey: 'P',
      ResourceName: 'Property',
      ResourceRecordKey: 'L001',
      MediaCategory: 'Photo',
    }
    const move = `update "Media" set "ResourceRecordKey" = 'L002' where "MediaKey" = 'P'`
    const count = async (key: string) => (await read(key))['PhotosCount']
    for (const isImport of [false, true]) {
      const run = isImport ? importing : sql
      // Both are visible.
      await given([{ PhotosCount: 1 }, { PhotosCount: 0 }], { Media: [photo] })
      const readers = await readersAtEnd('public')
      await run(move)
      expect([await count('L001'), await count('L002')]).toEqual([0, 1])
      expect([...((await eventsOf(readers))['public'] ?? [])].sort()).toEqual([
        'Media P',
        'Property L001',
        'Property L002',
      ])
      // To a listing that is hidden from the public.
      await given([{ PhotosCount: 1 }, { InternetEntireListingDisplayYN: false }], { Media: [photo] })
      const reader = await readerAtEnd('public')
      await run(move)
      expect([...(await reader.readEvents())].sort()).toEqual(['Media P', 'Property L001'])
      expect(await reader.rows('Media')).toEqual([])
      // From a draft.
      await given([{ StandardStatus: 'Incomplete' }, {}], { Media: [photo] })
      await reader.skipToEnd()
      await run(move)
      expect([...(await reader.readEvents())].sort()).toEqual(['Media P', 'Property L002'])
    }
  })

  test('REP2-21 Lookup values change', async () => {
    const publicReader = await readerAtEnd('public')
    const readers = [publicReader, ...(await readersAtEnd('staff'))]
    const row = `('X-1', 'X', 'One')`
    await sql(
      `insert into "Lookup" ("LookupKey", "LookupName", "LookupValue") values ${row}`,
      `update "Lookup" set "LookupValue" = 'Two' where "LookupKey" = 'X-1'`,
      `delete from "Lookup" where "LookupKey" = 'X-1'`,
    )
    await importing(`insert into "Lookup" ("LookupKey", "LookupName", "LookupValue") values ${row}`)
    const told = Array.from({ length: 4 }, () => 'Lookup X-1')
    expect(await eventsOf(readers)).toEqual({ public: told, staff: told })
    const [last] = await publicReader.rows(`Lookup?$filter=LookupKey eq 'X-1'`)
    expect(last?.['LastEventSequence']).toBe(publicReader.position)
    await sql(`delete from "Lookup" where "LookupKey" = 'X-1'`)
  })

  test('REP2-22 deletion: children first', async () => {
    for (const how of ['OData', 'GraphQL', 'SQL', 'Prisma'] as const) {
      await given([{}, {}], childrenOf('L001'))
      const readers = await readersAtEnd('public', 'staff')
      if (how === 'OData') await remove('L001')
      if (how === 'SQL') await sql(`delete from "Property" where "ListingKey" = 'L001'`)
      if (how === 'Prisma') await market.database.prisma.property.delete({ where: { ListingKey: 'L001' } })
      if (how === 'GraphQL')
        await market.send('/graphql', {
          method: 'POST',
          body: { query: 'mutation { deleteProperty(ListingKey: "L001") { ListingKey } }' },
        })
      const told = [...childEventsOf('L001'), 'Property L001']
      expect([how, await eventsOf(readers)]).toEqual([how, { public: told, staff: told }])
    }
  })

  test('REP2-23 photos that come before their listing', async () => {
    await given([])
    const readers = await readersAtEnd('public', 'member', 'agent', 'staff')
    const photo = (key: string, listing: string) =>
      `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory") values ('${key}', 'Property', '${listing}', 'Photo')`
    const listing = (key: string, status: string) =>
      `insert into "Property" ("ListingKey", "StandardStatus", "ListAgentKey") values ('${key}', '${status}', 'M1')`
    await importing(photo('P1', 'K9'))
    expect(await eventsOf(readers)).toEqual({ public: [], member: [], agent: [], staff: ['Media P1'] })
    expect(await Promise.all(readers.map(async r => (await r.rows('Media')).length))).toEqual([0, 0, 0, 1])
    await importing(listing('K9', 'Active'))
    const seen = await eventsOf(readers)
    for (const name of ['public', 'member', 'agent', 'staff'])
      expect([name, seen[name]?.slice(0, 2)]).toEqual([name, ['Property K9', 'Media P1']])
    expect((await read('K9'))['PhotosCount']).toBe(1)
    await importing(photo('P2', 'K8'))
    await importing(listing('K8', 'Incomplete'))
    const after = await eventsOf(readers)
    expect([after['public'], after['member']]).toEqual([[], []])
    expect(after['agent']?.slice(0, 2)).toEqual(['Property K8', 'Media P2'])
  })

  test('media that another transaction writes are attached to their listing, whatever the order of the commits', async () => {
    const photo = `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey") values ('P', 'Property', 'K')`
    const listing = `insert into "Property" ("ListingKey", "StandardStatus") values ('K', 'Active')`
    for (const [first = '', second = ''] of [
      [photo, listing],
      [listing, photo],
    ]) {
      await given([])
      await market.database.withClient(async client => {
        await client.query('begin')
        await client.query(first)
        const beside = sql(second)
        await client.query('select 1')
        await client.query('commit')
        await beside
      })
      expect(await market.database.prisma.media.findMany({ select: { PropertyKey: true } })).toEqual([
        { PropertyKey: 'K' },
      ])
    }
  })

  test('a changed key is a deletion and a new record', async () => {
    await given([{}], childrenOf('L001'))
    const reader = await readerAtEnd('public')
    const replica = new LogReplica(Object.assign(new LogReader(market, 'public'), { position: 0 }))
    await replica.poll()
    await sql(
      `update "Property" set "ListingKey" = 'L009' where "ListingKey" = 'L001'`,
      `update "Media" set "MediaKey" = 'other' where "MediaKey" = 'L001-P2'`,
    )
    const events = await reader.readEvents()
    expect(events).toEqual(
      expect.arrayContaining([
        'Property L001',
        'Property L009',
        'Media L001-P2',
        'Media other',
        'Rooms L001-R',
      ]),
    )
    expect(events.indexOf('Property L001')).toBeLessThan(events.indexOf('Property L009'))
    await replica.poll()
    expect(replica.market()).toEqual(await readMarket(new LogReader(market, 'public')))
    expect((await market.database.prisma.media.findMany()).map(m => m.PropertyKey)).toEqual(['L009', 'L009'])
  })

  test('REP2-28 the address is withdrawn, the listing stays', async () => {
    await given([{ StreetName: 'Pine' }], childrenOf('L001'))
    const reader = await readerAtEnd('public')
    await patch('L001', { InternetAddressDisplayYN: false })
    expect(await reader.readEvents()).toEqual(['Property L001'])
    expect((await reader.rows('Property'))[0]?.['StreetName']).toBeNull()
    await patch('L001', { InternetAddressDisplayYN: true })
    expect(await reader.readEvents()).toEqual(['Property L001'])
    expect((await reader.rows('Property'))[0]?.['StreetName']).toBe('Pine')
  })

  test('REP2-30, REP2-32 times of events never decrease, even if the clock is set back', async () => {
    await given([{ StandardStatus: 'Incomplete' }, { StandardStatus: 'Incomplete' }], childrenOf('L001'))
    const staff = new LogReader(market, 'staff')
    await sql(
      `select setval('change_clock', (extract(epoch from clock_timestamp()) * 1000)::bigint + 5000)`,
      `update "Property" set "StandardStatus" = 'Active'`,
      `begin; set local listing.import = 'on'; update "Property" set "StandardStatus" = 'Incomplete', "ModificationTimestamp" = '2020-01-01'; commit`,
      `begin; set local listing.import = 'on'; update "Property" set "StandardStatus" = 'Active', "ModificationTimestamp" = '2020-01-01'; commit`,
    )
    await patch('L001', { ListPrice: 1 })
    await remove('L001')
    const events = await staff.rows(
      'EntityEvent?$orderby=EntityEventSequence&$select=EntityEventSequence,EventTimestamp',
    )
    const times = events.map(event => String(event['EventTimestamp']))
    expect(times.every(time => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time))).toBe(true)
    expect(times.filter((time, i) => i > 0 && time < (times[i - 1] ?? ''))).toEqual([])
    const sorted = await staff.rows(
      `EntityEvent?$filter=EventTimestamp ge ${times.at(-3)}&$orderby=EventTimestamp,EntityEventSequence`,
    )
    expect(sorted.map(event => event['EntityEventSequence'])).toEqual(
      events.slice(-sorted.length).map(e => e['EntityEventSequence']),
    )
    await sql(`select setval('change_clock', (extract(epoch from clock_timestamp()) * 1000)::bigint)`)
  })

  test('each reader ends with exactly its own records: by the log, and by positions with a sweep', {
    timeout: 60_000,
  }, async () => {
    await given(
      [
        { ...OWNERS, StandardStatus: 'Incomplete' },
        { ...OWNERS, ListAgentKey: 'M2' },
        { ...OWNERS, ListOfficeKey: 'O2', InternetEntireListingDisplayYN: false },
        { ListAgentKey: 'M3', ListOfficeKey: 'M1' },
      ],
      childrenOf('L001', 'L002'),
    )
    const replicas = Object.keys(READERS).map(name => ({
      name,
      byLog: new LogReplica(new LogReader(market, name)),
      byPosition: new PositionReplica(new LogReader(market, name)),
    }))
    const check = async (step: string) => {
      for (const { name, byLog, byPosition } of replicas) {
        await byLog.poll()
        await byPosition.poll()
        const expected = await readMarket(new LogReader(market, name))
        expect([step, name, byLog.market()]).toEqual([step, name, expected])
        expect([step, name, byPosition.market()]).toEqual([step, name, expected])
      }
    }
    await check('first copy')
    await patch('L001', { StandardStatus: 'Active' })
    await check('publish')
    await patch('L002', { InternetEntireListingDisplayYN: false })
    await patch('L002', { ListPrice: 3 })
    await check('hide')
    await patch('L002', { InternetEntireListingDisplayYN: true })
    await check('show')
    await sql(
      `update "Property" set "ListAgentKey" = 'M1', "ListOfficeKey" = 'O2' where "ListingKey" = 'L003'`,
    )
    await sql(`update "Property" set "StandardStatus" = 'Incomplete' where "ListingKey" in ('L001', 'L004')`)
    await check('transfer and withdrawal by SQL')
    await sql(`update "Property" set "ListAgentKey" = 'M5', "ListOfficeKey" = null`)
    await check('transfer of all')
    await importing(
      `update "Property" set "StandardStatus" = 'Active', "InternetEntireListingDisplayYN" = null`,
    )
    await check('import')
    await remove('L001')
    await sql(`delete from "Property" where "ListingKey" <> 'L003'`, `delete from "Media"`)
    await check('delete')
  })

  test('page by page a reader gets the next visible events after many hidden ones', async () => {
    await given([{}])
    const reader = await readerAtEnd('public')
    await sql(
      `insert into "Property" ("ListingKey", "StandardStatus") values ('D', 'Incomplete')`,
      `do $$ begin for n in 1..500 loop update "Property" set "ListPrice" = n where "ListingKey" = 'D'; end loop; end $$`,
    )
    await patch('L001', { ListPrice: 7 })
    const page = await reader.send(
      `/odata/EntityEvent?$filter=EntityEventSequence gt ${reader.position}&$top=100`,
    )
    expect(rowsOf(page)).toHaveLength(1)
    expect(bodyOf(page)).not.toHaveProperty('@odata.nextLink')
  })
})
