import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImportRecord, TableRow } from '../../src/data/import/record.js'
import { ENTITIES } from '../../src/model/model.js'
import { generateSampleBatches } from '../../src/sample/market.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { importContent } from '../support/import-file.js'

const LISTINGS = 30

const sample: readonly ImportRecord[] = [...generateSampleBatches({ listings: LISTINGS })].flat()
const NAVIGATIONS: Readonly<Record<string, string>> = {
  Media: 'Media',
  Rooms: 'Rooms',
  OpenHouse: 'OpenHouses',
}

type Content = Record<string, Record<string, unknown>[]>

/** The sample as a file: children nested in their listings, or all sets beside each other. */
function toContent(
  layout: 'nested' | 'flat',
  change: (entity: string, row: TableRow) => object = (_, row) => row,
) {
  const content: Content = {}
  const addTo = (target: Content, name: string, row: object) => {
    const rows = target[name] ?? []
    rows.push({ ...row })
    target[name] = rows
  }
  for (const { entity, row, nested } of sample) {
    const children: Content = {}
    for (const child of nested)
      if (layout === 'flat') addTo(content, child.entity, change(child.entity, child.row))
      else addTo(children, NAVIGATIONS[child.entity] ?? '', change(child.entity, child.row))
    addTo(content, entity, { ...change(entity, row), ...children })
  }
  return content
}

/** Files with the same records. */
const withoutTimes = (_: string, { ModificationTimestamp: __, ...row }: TableRow) => row
const inFuture = (_: string, row: TableRow) => ({ ...row, ModificationTimestamp: '2199-01-01T00:00:00Z' })

describe.each(DATABASE_KINDS)('importing stored records again, on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterAll(() => database?.close())

  /** Every row of the database with its ctid and xmin, and the counters of writes. */
  const fingerprint = (): Promise<readonly unknown[]> =>
    database.withClient(async client => {
      const rows: unknown[] = []
      for (const table of [...ENTITIES.keys(), 'PropertyText']) {
        const text = `select '${table}' as "table", ctid::text, xmin::text, md5(t::text) as content from "${table}" t order by ctid`
        rows.push(...(await client.query(text)).rows)
      }
      const sequences = `select sequencename, last_value from pg_sequences order by 1`
      return [...rows, ...(await client.query(sequences)).rows]
    })

  const changesOf = async (content: Content) =>
    Object.fromEntries(
      Object.entries((await importContent(database, content)).changes).filter(
        ([, counts]) => counts.new + counts.changed + counts.removed > 0,
      ),
    )
  const eventsAfter = async (sequence: bigint) => {
    const events = await database.prisma.entityEvent.findMany({
      where: { EntityEventSequence: { gt: sequence } },
      orderBy: { EntityEventSequence: 'asc' },
    })
    return events.map(({ ResourceName, ResourceRecordKey }) => `${ResourceName} ${ResourceRecordKey}`)
  }
  const lastSequence = async () =>
    (await database.prisma.entityEvent.aggregate({ _max: { EntityEventSequence: true } }))._max
      .EntityEventSequence ?? 0n

  test.each([
    ['nested', toContent('nested')],
    ['flat', toContent('flat')],
    ['nested, without times', toContent('nested', withoutTimes)],
    ['flat, with times later than the clock', toContent('flat', inFuture)],
  ] as const)('REP2-15 writes no event, no version, no timestamp and no row: %s', async (_name, content) => {
    await importContent(database, content)
    const before = await fingerprint()
    expect(await changesOf(content)).toEqual({})
    expect(await fingerprint()).toEqual(before)
  })

  test('the other layout of the file does not change the records either', async () => {
    await importContent(database, toContent('nested'))
    const before = await fingerprint()
    expect(await changesOf(toContent('flat'))).toEqual({})
    expect(await fingerprint()).toEqual(before)
  })

  test('REP2-15 writes only rows that differ: changed fields, nulls, added children, removed children', async () => {
    await importContent(database, toContent('nested'))
    const start = await lastSequence()
    const content = toContent('nested')
    const [first, second, third, fourth] = content['Property'] ?? []
    const listOf = (record: Record<string, unknown> | undefined, name: string) =>
      (record?.[name] ?? []) as Record<string, unknown>[]
    Object.assign(first ?? {}, { ListPrice: '1.50' })
    Object.assign(fourth ?? {}, { PublicRemarks: null })
    listOf(second, 'Rooms').push({ RoomKey: 'NEW', RoomType: 'Den' })
    const [gone] = listOf(third, 'Media').splice(0, 1)
    expect(await changesOf(content)).toEqual({
      Property: { new: 0, changed: 2, removed: 0 },
      Rooms: { new: 1, changed: 0, removed: 0 },
      Media: { new: 0, changed: 0, removed: 1 },
    })
    expect(new Set(await eventsAfter(start))).toEqual(
      new Set([
        ...[first, fourth].map(listing => `Property ${listing?.['ListingKey']}`),
        'Rooms NEW',
        `Media ${gone?.['MediaKey']}`,
      ]),
    )
    const before = await fingerprint()
    expect(await changesOf(content)).toEqual({})
    expect(await fingerprint()).toEqual(before)
  })

  test('REP2-15 ignores differences that readers do not see: the order of members, trailing zeros, offsets, the member who changed a record', async () => {
    const record = {
      ListingKey: 'Z',
      ListPrice: '250000.10',
      OnMarketTimestamp: '2024-05-01T00:00:00Z',
      Roof: [],
    }
    await importContent(database, { Property: [record] })
    await database.withClient(client =>
      client.query(
        `begin; set local listing.import = 'on'; update "Property" set "ChangedByMemberKey" = 'M' where "ListingKey" = 'Z'; commit`,
      ),
    )
    const before = await fingerprint()
    const { ModificationTimestamp } = await database.prisma.property.findUniqueOrThrow({
      where: { ListingKey: 'Z' },
    })
    const same = {
      ...record,
      ListPrice: 250000.1,
      OnMarketTimestamp: '2024-05-01T02:00:00.0004+02:00',
      Roof: null,
      ModificationTimestamp: ModificationTimestamp.toISOString(),
    }
    const reversed = Object.fromEntries(Object.entries(same).reverse())
    expect(await changesOf({ Property: [reversed] })).toEqual({})
    expect(await fingerprint()).toEqual(before)
  })

  test('only the last of several records with one key is loaded, so loading them again changes nothing', async () => {
    const content = {
      Property: [
        { ListingKey: 'D', City: 'first', Rooms: [{ RoomKey: 'D1' }] },
        ...Array.from({ length: 1500 }, (_, i) => ({ ListingKey: `D${i}` })),
        { ListingKey: 'D', City: 'last', Rooms: [{ RoomKey: 'D2' }] },
      ],
    }
    await importContent(database, content)
    const before = await fingerprint()
    expect(await changesOf(content)).toEqual({})
    expect(await fingerprint()).toEqual(before)
    expect(await database.prisma.rooms.findMany({ where: { ListingKey: 'D' } })).toMatchObject([
      { RoomKey: 'D2' },
    ])
  }, 60_000)

  test('a record that another program has changed since is written as in the file', async () => {
    const content = {
      Property: [{ ListingKey: 'W', City: 'file', ModificationTimestamp: '2024-01-01T00:00:00Z' }],
    }
    await importContent(database, content)
    await database.prisma.property.update({ where: { ListingKey: 'W' }, data: { City: 'patched' } })
    expect(await changesOf(content)).toEqual({ Property: { new: 0, changed: 1, removed: 0 } })
    const record = await database.prisma.property.findUniqueOrThrow({ where: { ListingKey: 'W' } })
    expect([record.City, record.ModificationTimestamp.toISOString()]).toEqual([
      'file',
      '2024-01-01T00:00:00.000Z',
    ])
  })
})
