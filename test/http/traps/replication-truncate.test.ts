import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { DeltaReplica } from '../../support/clients/delta-replica.js'
import {
  LogReader,
  LogReplica,
  PositionReplica,
  READERS,
  readMarket,
} from '../../support/clients/log-reader.js'
import { startSubscription } from '../../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService } from '../../support/test-service.js'
import { addWebhook, startSender, webhookServiceOf } from '../../webhooks/setting.js'

/** Rows of the table whose TRUNCATE begins a new log. Trap REP2-20 has 200,000: TRUNCATE_ROWS=200000. */
const ROWS = Number(process.env['TRUNCATE_ROWS'] ?? 10_001)
const POLL = { timeout: 60_000, interval: 50 }
const SETS = { Property: 'ListingKey', Media: 'MediaKey', Rooms: 'RoomKey', OpenHouse: 'OpenHouseKey' }

describe.each(DATABASE_KINDS)('REP2-20 TRUNCATE on the %s database', { timeout: 120_000 }, kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  beforeAll(async () => {
    market = await startTestService({ kind })
    await sql('create table lookups as select * from "Lookup"')
  })
  afterAll(() => market.close())

  const sql = (...statements: readonly string[]) =>
    market.database.withClient(async client => {
      for (const statement of statements) await client.query(statement)
    })
  const media = (key: string, ResourceName: string, ResourceRecordKey: string) => ({
    MediaKey: key,
    ResourceName,
    ResourceRecordKey,
  })
  const fill = () =>
    market.given([{}, {}, { StandardStatus: 'Incomplete', ListAgentKey: 'M1' }], {
      Media: [media('P1', 'Property', 'L001'), media('P2', 'Property', 'L003'), media('PM', 'Member', 'M1')],
      Rooms: ['L001', 'L003'].map(ListingKey => ({ RoomKey: `${ListingKey}-R`, ListingKey })),
      OpenHouse: ['L001', 'L003'].map(ListingKey => ({ OpenHouseKey: `${ListingKey}-H`, ListingKey })),
    })

  /** A webhook of everything, and its sender. */
  async function startWebhook() {
    const webhook = await addWebhook(market.database)
    const sender = startSender(market.database)
    onTestFinished(async () => {
      await sender.close()
      await webhookServiceOf(market.database).remove(webhook.id)
      await webhook.receiver.close()
    })
    return {
      state: async () => (await webhookServiceOf(market.database).find(webhook.id)).State,
      events: () => webhook.receiver.acknowledged().map(e => `${e.ResourceName} ${e.ResourceRecordKey}`),
    }
  }
  const watch = (reader: string) => {
    const query = 'subscription { propertyChanged { ListingKey property { City } } }'
    const grant = READERS[reader]
    return startSubscription<{ ListingKey: string; property: unknown }>(
      market,
      query,
      grant === undefined ? {} : { grant },
    )
  }

  test.each([
    ['Property', 'truncate "Property" cascade', ['Property', 'Media', 'Rooms', 'OpenHouse']],
    ['Media', 'truncate "Media"', ['Media']],
    ['Rooms', 'truncate "Rooms"', ['Rooms']],
    ['OpenHouse', 'truncate "OpenHouse"', ['OpenHouse']],
  ])('REP2-20 copies of a few rows of %s end empty by every method', async (_set, statement, emptied) => {
    await fill()
    const names = ['public', 'agent', 'staff']
    const copies = names.flatMap(name => {
      const newReader = () => new LogReader(market, name)
      return [new LogReplica(newReader()), new PositionReplica(newReader())].map(copy => ({ name, copy }))
    })
    const deltas = names.flatMap(name =>
      Object.entries(SETS).map(([set, key]) => ({
        name,
        set,
        replica: new DeltaReplica(new LogReader(market, name), set, key),
      })),
    )
    const expand = new DeltaReplica(
      new LogReader(market, 'public'),
      'Property?$expand=Media,Rooms',
      'ListingKey',
    )
    for (const { copy } of copies) await copy.poll()
    for (const { replica } of deltas) await replica.poll()
    await expand.poll()
    const webhook = await startWebhook()
    await sql(statement)
    for (const { name, copy } of copies) {
      await copy.poll()
      const expected = await readMarket(new LogReader(market, name))
      for (const set of emptied) expect([name, set, expected[set]]).toEqual([name, set, []])
      expect([name, copy.market()]).toEqual([name, expected])
    }
    for (const { name, set, replica } of deltas) {
      await replica.poll()
      const rows = await new LogReader(market, name).rows(set)
      expect([name, set, replica.market()]).toEqual([name, set, rows])
    }
    await expand.poll()
    expect(expand.market()).toEqual(
      await new LogReader(market, 'public').rows('Property?$expand=Media,Rooms'),
    )
    const told = emptied.flatMap(set =>
      ({
        Property: ['Property L001', 'Property L002'],
        Media: ['Media P1', 'Media PM'],
        Rooms: ['Rooms L001-R'],
        OpenHouse: ['OpenHouse L001-H'],
      })[set] ?? [],
    ) // biome-ignore format: one set a line
    await expect.poll(webhook.events, POLL).toEqual(expect.arrayContaining(told))
  })

  test('REP2-20 a subscription receives the listings', async () => {
    await fill()
    const watching = watch('public')
    // It has begun when it receives a change.
    const first = watching.nextChange()
    let isReceived = false
    void first.then(() => {
      isReceived = true
    })
    await expect
      .poll(async () => {
        if (!isReceived) await market.patch('L001', { City: 'Waco' })
        return isReceived
      }, POLL)
      .toBe(true)
    await sql('truncate "Property" cascade')
    const gone = new Set<string>()
    while (gone.size < 2) {
      const { ListingKey, property } = await watching.nextChange()
      if (property === null) gone.add(ListingKey)
    }
    expect([...gone].sort()).toEqual(['L001', 'L002'])
    watching.dispose()
  })

  test('REP2-20 values of Lookup', async () => {
    await fill()
    const reader = new LogReader(market, 'public')
    const replica = new DeltaReplica(reader, 'Lookup', 'LookupKey')
    await replica.poll()
    expect(replica.records.size).toBeGreaterThan(100)
    await sql('truncate "Lookup"')
    await replica.poll()
    expect(replica.market()).toEqual([])
    await sql('insert into "Lookup" select * from lookups')
    await replica.poll()
    expect(replica.market()).toEqual(await reader.rows('Lookup'))
  })

  test.each([
    ['many rows', [`insert into "Member" ("MemberKey") select 'T' || n from generate_series(1, ${ROWS}) n`], 'truncate "Member" cascade'],
    ['the log', [], 'truncate "EntityEvent"'],
  ])('REP2-20 after TRUNCATE of %s every position is gone', async (_, before, statement) => {
    await fill()
    await sql(...before)
    const reader = new LogReader(market, 'public')
    await reader.skipToEnd()
    const replicas = ['Property', 'Member'].map(set => new DeltaReplica(reader, set, set === 'Member' ? 'MemberKey' : 'ListingKey', 'maxpagesize=1000'))
    const webhook = await startWebhook()
    for (const replica of replicas) await replica.poll()
    await sql(statement)
    const log = await reader.send(`/odata/EntityEvent?$filter=EntityEventSequence gt ${reader.position}`)
    const links = await Promise.all(replicas.map(({ link }) => reader.send(link)))
    expect([log, ...links].map(({ status }) => status)).toEqual([410, 410, 410])
    await expect.poll(webhook.state, POLL).toBe('lost')
    const again = new DeltaReplica(reader, 'Member', 'MemberKey')
    await again.poll()
    expect(again.market()).toEqual(await reader.rows('Member'))
  }) // biome-ignore format: one case a line
})
