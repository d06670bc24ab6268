import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pruneLog } from '../../../src/data/changes/prune.js'
import { bodyOf, nextLinkOf, rowsOf } from '../../support/assertions.js'
import { LogReader, LogReplica, READERS, readMarket } from '../../support/clients/log-reader.js'
import { startSubscription } from '../../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService, type TestService } from '../../support/test-service.js'

const OWNERS = { ListAgentKey: 'M1', ListOfficeKey: 'O1' }
const GONE = { error: { code: '4010' } }
/** Later than every event. */
const LATER = new Date(Date.now() + 86_400_000)

describe.each(DATABASE_KINDS)('identity and retention of the change log on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, patch, remove }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, patch, remove } = market)
  })
  afterAll(() => market.close())

  const sql = (...statements: readonly string[]) =>
    market.database.withClient(async client => {
      for (const statement of statements) await client.query(statement)
    })
  async function readerAtEnd(name: string): Promise<LogReader> {
    const reader = new LogReader(market, name)
    await reader.skipToEnd()
    return reader
  }
  const logAfter = (reader: LogReader, filter: string) =>
    reader.send(`/odata/EntityEvent?$filter=EntityEventSequence ${filter}&$top=2`)

  async function expectGone(reader: LogReader, target: string) {
    const answer = await reader.send(target)
    expect([target, answer.status], answer.text.slice(0, 200)).toEqual([target, 410])
    expect(bodyOf(answer)).toMatchObject(GONE)
    expect(answer.headers['location']).toBe(`${market.base}/odata/EntityEvent`)
  }

  test('REP2-10 positions of another log are refused: links, plain numbers, cursors, since', async () => {
    await given([{}, {}, {}])
    const reader = await readerAtEnd('public')
    const old = reader.position
    const link = nextLinkOf(await reader.send('/odata/EntityEvent?$top=2')) ?? ''
    const query = (args: string) =>
      reader.send(
        `/graphql?query=${encodeURIComponent(`{ entityEvents(first: 2 ${args}) { pageInfo { endCursor } } }`)}`,
      )
    const cursor = JSON.stringify(
      (bodyOf(await query(''))['data'] as { entityEvents: { pageInfo: { endCursor: string } } }).entityEvents
        .pageInfo.endCursor, // as asked for
    )
    expect((await reader.send(link)).status).toBe(200)
    expect(await logAfter(reader, `gt ${old}`)).toMatchObject({ status: 200 })
    for (const filter of [`gt ${old + 1}`, `ge ${old + 2}`, `gt 9000000000000000`])
      await expectGone(reader, `/odata/EntityEvent?$filter=EntityEventSequence ${filter}`)
    expect((await logAfter(reader, `ge ${old + 1}`)).status).toBe(200)
    await sql('truncate "EntityEvent"')
    for (const target of [
      link,
      `/odata/EntityEvent?$filter=EntityEventSequence gt ${old}`,
      `/odata/EntityEvent?$filter=EntityEventSequence ge ${old + 500}`,
    ])
      await expectGone(reader, target)
    expect(bodyOf(await query(`after: ${cursor}`))).toMatchObject({
      errors: [{ extensions: { code: 'GONE', serviceCode: '4010' } }],
    })
    await reader.skipToEnd()
    expect(reader.position).toBeGreaterThan(old + 999_999_999)
    expect(rowsOf(await logAfter(reader, 'ge 0'))).toMatchObject([
      { EntityEventSequence: reader.position, ResourceName: 'Lookup' },
    ])
    await patch('L001', { ListPrice: 1 })
    expect(await reader.readEvents()).toEqual(['Property L001'])
  })

  test('REP2-12, REP2-24 positions before pruned deletions are refused, except the beginning of the log', async () => {
    await given([{}, {}, {}, {}])
    const reader = await readerAtEnd('public')
    const start = reader.position
    const link = nextLinkOf(await logAfter(reader, `gt ${start - 4}`)) ?? ''
    await remove('L001')
    const [deletion] = rowsOf(await logAfter(reader, `gt ${start}`))
    const number = Number(deletion?.['EntityEventSequence'])
    await patch('L002', { ListPrice: 2 })
    expect((await pruneLog(market.database, LATER)).deletions).toBeGreaterThan(0)
    for (const filter of ['ge 0', 'gt 0', `gt ${number}`, `ge ${number + 1}`])
      expect([filter, (await logAfter(reader, filter)).status]).toEqual([filter, 200])
    expect((await reader.send('/odata/EntityEvent')).status).toBe(200)
    for (const filter of [`gt ${number - 1}`, `gt ${start}`, 'gt 1'])
      await expectGone(reader, `/odata/EntityEvent?$filter=EntityEventSequence ${filter}`)
    await expectGone(reader, link)
    expect((await reader.send(`/odata/EntityEvent(${number})`)).status).toBe(404)
    expect(rowsOf(await logAfter(reader, `gt ${number}`))).toMatchObject([{ ResourceRecordKey: 'L002' }])
  })

  test.each(Object.keys(READERS))(
    'the end of a pruned log is open to a token of %s, whatever was deleted last',
    async name => {
      await given([{}, {}, { InternetEntireListingDisplayYN: false }])
      await remove('L001')
      await remove('L003')
      await pruneLog(market.database, LATER)
      const reader = await readerAtEnd(name)
      const exported = await reader.send('/odata/Office?$format=ndjson')
      const digest = await reader.send("/odata/Digest(ResourceName='Office')")
      const ends = [
        reader.position,
        exported.headers['last-event-sequence'],
        bodyOf(digest)['LastEventSequence'],
      ]
      for (const end of ends) expect([end, (await logAfter(reader, `gt ${end}`)).status]).toEqual([end, 200])
      await patch('L002', { ListPrice: 2 })
      for (const end of ends)
        expect(rowsOf(await logAfter(reader, `gt ${end}`)).at(-1)).toMatchObject({
          ResourceRecordKey: 'L002',
        })
    },
  )

  test('REP2-26 compaction drops no event that a reader needs, and changes no number', {
    timeout: 60_000,
  }, async () => {
    await given(
      [
        OWNERS,
        { ...OWNERS, StandardStatus: 'Incomplete' },
        OWNERS,
        { ListingKey: 'K004', InternetEntireListingDisplayYN: false },
      ],
      {
        Media: ['L001', 'L002', 'L003'].map(key => ({
          MediaKey: `${key}-P`,
          ResourceName: 'Property',
          ResourceRecordKey: key,
        })),
      },
    )
    // A new log has no events of records that have not changed since.
    await sql(`update "Member" set "MemberKey" = "MemberKey"`)
    const replicas = Object.keys(READERS).map(name => ({ name, reader: new LogReader(market, name) }))
    const copies = new Map(replicas.map(({ name, reader }) => [name, new LogReplica(reader)]))
    for (const copy of copies.values()) await copy.poll()
    await patch('L001', { ListingKey: 'K004', InternetEntireListingDisplayYN: false })
    for (let n = 0; n < 5; n++) await patch('L001', { ListPrice: n })
    await patch('L002', { StandardStatus: 'Active' })
    await sql(
      `update "Property" set "ListAgentKey" = 'M2', "ListOfficeKey" = 'O2' where "ListingKey" = 'L003'`,
      `update "Property" set "StandardStatus" = 'Incomplete' where "ListingKey" = 'L003'`,
      `update "Property" set "ListAgentKey" = 'M3', "ListOfficeKey" = null where "ListingKey" = 'L003'`,
    )
    const { compacted } = await market.database.withClient(async client => {
      const { rows } = await client.query<{ dropped: string }>(
        `select dropped::text from compact_log($1, 100000, '', '')`,
        [LATER],
      )
      return { compacted: Number(rows[0]?.dropped) }
    })
    expect(compacted).toBeGreaterThan(8)
    const [row] = await market.database.prisma.$queryRawUnsafe<{ n: bigint }[]>(
      `select count(*) as n from "Property" p where not exists (select from "EntityEvent" e where e."EntityEventSequence" = p."LastEventSequence" and e."ResourceRecordKey" = p."ListingKey")`,
    )
    expect(row?.n).toBe(0n)
    for (const { name } of replicas) {
      const copy = copies.get(name)
      await copy?.poll()
      expect([name, copy?.market()]).toEqual([name, await readMarket(new LogReader(market, name))])
    }
    expect(await new LogReader(market, 'public').readEvents(100)).not.toContain('Property K004')
  })

  const compact = () => sql(`select compact_log(now() + interval '1 day', 100000, '', '')`)
  /** Returns the listings in a subscription that begins at an event. `L009` is the last one. */
  async function listingsAfter(name: string, since: number): Promise<readonly string[]> {
    const query = `subscription { propertyChanged(since: ${since}) { ListingKey } }`
    const token = market.tokenFor(READERS[name])
    const subscription = startSubscription<{ ListingKey: string }>(market, query, { token })
    const keys: string[] = []
    while (keys.at(-1) !== 'L009') keys.push((await subscription.nextChange()).ListingKey)
    subscription.dispose()
    return keys
  }

  test.each([
    ['Media', 'MediaKey', 'ResourceRecordKey', 'Order'],
    ['Rooms', 'RoomKey', 'ListingKey', 'RoomDescription'],
    ['OpenHouse', 'OpenHouseKey', 'ListingKey', 'OpenHouseRemarks'],
  ])(
    '%s of a hidden listing: compaction shows its key to no reader who could never see it',
    async (set, key, listing, field) => {
      // No other test shows it.
      const hidden = `H-${set}`
      await given(
        [OWNERS, { ...OWNERS, ListingKey: hidden, StandardStatus: 'Incomplete' }, { ListingKey: 'L009' }],
        {
          [set]: [{ [key]: 'C', [listing]: 'L001', ...(set === 'Media' && { ResourceName: 'Property' }) }],
        },
      )
      const { position } = await readerAtEnd('public')
      await sql(
        `update "${set}" set "${listing}" = '${hidden}' where "${key}" = 'C'`,
        `update "${set}" set "${field}" = '1' where "${key}" = 'C'`,
        `update "${set}" set "${field}" = '2' where "${key}" = 'C'`,
        `update "Property" set "PublicRemarks" = 'end' where "ListingKey" = 'L009'`,
      )
      await compact()
      expect(await listingsAfter('public', position)).not.toContain(hidden)
      expect(await listingsAfter('agent', position)).toContain(hidden)
      const reader = new LogReader(market, 'public')
      reader.position = position
      expect(await reader.readEvents()).toContain(`${set} C`)
    },
  )

  test('REP2-16 a time from the future does not stop a poller by time', async () => {
    const ModificationTimestamp = new Date(Date.now() + 3_600_000).toISOString()
    await given(
      [
        { ListingKey: 'K1', ModificationTimestamp, ...OWNERS },
        { ListingKey: 'K2', ...OWNERS },
      ],
      {
        Media: [{ MediaKey: 'P1', ResourceName: 'Property', ResourceRecordKey: 'K1', ModificationTimestamp }],
        Rooms: [{ RoomKey: 'R1', ListingKey: 'K1', ModificationTimestamp }],
        OpenHouse: [{ OpenHouseKey: 'H1', ListingKey: 'K1', ModificationTimestamp }],
        Office: [{ OfficeKey: 'O9', ModificationTimestamp }],
        Member: [{ MemberKey: 'M9', ModificationTimestamp }],
      },
    )
    const late = `?$filter=ModificationTimestamp gt ${new Date(Date.now() + 600_000).toISOString()}`
    for (const set of ['Property', 'Media', 'Rooms', 'OpenHouse', 'Office', 'Member'])
      expect([set, rowsOf(await market.send(`/odata/${set}${late}`))]).toEqual([set, []])
    for (const field of ['ModificationTimestamp', 'LastEventSequence']) {
      const poll = async (position: unknown) =>
        market.rows(`$filter=${field} gt ${position}&$orderby=${field}&$select=ListingKey,${field}`)
      let position = (await poll(field === 'LastEventSequence' ? 0 : '1900-01-01T00:00:00Z')).at(-1)?.[field]
      for (const key of ['K2', 'K1']) {
        expect((await patch(key, { City: `Changed ${field}` })).status).toBe(200)
        const found = await poll(position)
        expect(found.map(row => row['ListingKey'])).toEqual([key])
        position = found.at(-1)?.[field]
      }
    }
  })

  test('REP2-20 TRUNCATE of few records is logged, children first; of many begins a new log', async () => {
    await given([{}, {}], { Media: [{ MediaKey: 'P', ResourceName: 'Property', ResourceRecordKey: 'L001' }] })
    const reader = await readerAtEnd('public')
    const old = reader.position
    await sql('truncate "Property" cascade')
    expect(await reader.readEvents()).toEqual(['Media P', 'Property L001', 'Property L002'])
    expect(await reader.rows('Property')).toEqual([])
    await sql(
      `insert into "Member" ("MemberKey") select 'T' || n from generate_series(1, 10001) n`,
      'truncate "Member" cascade',
    )
    expect((await logAfter(reader, `gt ${old}`)).status).toBe(410)
    expect((await logAfter(reader, 'ge 0')).status).toBe(200)
  })
})
