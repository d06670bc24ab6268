import { createSecretKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../src/domain/actor.js'
import type { JsonObject } from '../../src/domain/json.js'
import type { Precondition } from '../../src/domain/write-shape.js'
import { toFailure } from '../../src/errors/catalog.js'
import { ProblemError } from '../../src/errors/problem.js'
import { parseJson } from '../../src/http/parse-json.js'
import { getEntity } from '../../src/model/model.js'
import { createCursorSeal } from '../../src/query/cursor.js'
import { PlanCache } from '../../src/query/plan-cache.js'
import { type ReadRequest, ReadService } from '../../src/service/reading.js'
import { type WriteResult, WriteService } from '../../src/service/writing.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const PROPERTY = getEntity('Property')
const VIEW: ReadRequest = {
  query: {},
  representation: { etag: '@etag', reference: '@id', countSuffix: '@count', numbersAsText: true },
}
const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 5 }

const actor = (scopes: string, keys: Partial<Actor> = {}): Actor => ({
  scopes: new Set(scopes.split(' ')),
  audience: 'public',
  ...keys,
})
const ANYONE = actor('listings:read listings:write listings:write:any', { audience: 'staff' })
const AGENT = actor('listings:read listings:write', { memberKey: 'M1' })
const OFFICE = actor('listings:write', { officeKey: 'O1' })
const STRANGER = actor('listings:read listings:write', { memberKey: 'M9' })
const READER = actor('listings:read', { memberKey: 'M1' })

const VALID = {
  ListAgentKey: 'M1',
  ListOfficeKey: 'O1',
  PropertyType: 'Residential',
  StreetNumber: '1',
  StreetName: 'Main',
  City: 'Vail',
}
const BY = { ChangedByMemberKey: 'M1' }

// The texts of these tests are objects.
const bodyOf = (body: unknown) => async () =>
  parseJson(typeof body === 'string' ? body : JSON.stringify(body)) as JsonObject
const recordOf = (written: { readonly json: string } | undefined) =>
  JSON.parse(written?.json ?? 'null') as Readonly<Record<string, unknown>>

/** Returns the refusal of a write: status, then code and target of every detail. */
async function refusal(write: Promise<unknown>): Promise<readonly unknown[]> {
  const error: unknown = await write.then(
    () => new Error('It was not refused'),
    e => e,
  )
  if (!(error instanceof ProblemError)) throw error
  const { status, code, details } = toFailure(error.problems)
  return [status, ...(code === '1111' ? details.map(d => `${d.code} ${d.target}`) : [code])]
}

describe.each(DATABASE_KINDS)('writing on the %s database', kind => {
  const plans = new PlanCache()
  let database: TestDatabase
  let reading: ReadService
  let writing: WriteService

  beforeAll(async () => {
    database = await openTestDatabase(kind)
    for (const MemberKey of ['M1', 'M2', 'M9'])
      await database.prisma.member.create({
        data: { MemberKey, OfficeKey: MemberKey === 'M9' ? null : 'O1' },
      })
    for (const OfficeKey of ['O1', 'O2']) await database.prisma.office.create({ data: { OfficeKey } })
    reading = new ReadService({
      database,
      plans,
      limits: LIMITS,
      policy: { nonDisclosure: false },
      seal: createCursorSeal(createSecretKey(Buffer.alloc(32))),
    })
    writing = new WriteService({
      database,
      plans,
      reading,
      config: { originatingSystemName: 'Here', strictLookups: false },
    })
  })
  afterAll(() => database.close())

  const create = (body: object = {}, who = ANYONE) => writing.create(bodyOf({ ...VALID, ...body }), who, VIEW)
  const change = (key: string, body: unknown, who = ANYONE, condition: Precondition = {}) =>
    writing.update(key, bodyOf(body), who, condition, VIEW)
  const get = async (key: string) => recordOf(await reading.get(PROPERTY, key, VIEW, ANYONE))
  /** The first row of each event: the log has a row for each audience. */
  const events = (key: string) =>
    database.prisma.entityEvent.findMany({
      where: { ResourceRecordKey: key, EarlierAudiences: { isEmpty: true } },
      orderBy: { EntityEventSequence: 'asc' },
    })
  const inStatus = async (status: string): Promise<WriteResult> => {
    const draft = await create({ ListPrice: 100 })
    return change(draft.key, { ...BY, StandardStatus: status })
  }

  it('creates a draft and shows it as GET does', async () => {
    const written = await create({
      ListPrice: '450000.50',
      Roof: ['Tile'],
      GeoLocation: { type: 'Point', coordinates: [-106.37, 39.64] },
      ExpirationDate: '2028-02-29',
    })
    const record = recordOf(written)
    expect(record).toMatchObject({
      ...VALID, ListingKey: written.key, ListPrice: '450000.5', OriginalListPrice: '450000.5', Roof: ['Tile'], ExpirationDate: '2028-02-29', Longitude: '-106.37', Latitude: '39.64',
      StandardStatus: 'Incomplete', MlsStatus: 'Draft', ContractStatus: 'Draft', OriginatingSystemName: 'Here', PhotosCount: 0, SoldPrice: null, Appliances: [], '@etag': `W/"${written.version}"`,
    }) // biome-ignore format: one record
    expect(written.key).toMatch(/^Draft/)
    expect(record['GeoLocation']).toMatchObject({ type: 'Point' })
    expect(record).not.toHaveProperty('ChangedByMemberKey')
    expect(Date.now() - Date.parse(String(record['ModificationTimestamp']))).toBeLessThan(10_000)
    expect(await get(written.key)).toEqual(record)
    expect(await events(written.key)).toHaveLength(1)
  })

  it('PATCH changes only the given fields, null clears a field (WRT-01, WRT-02)', async () => {
    const { key } = await create()
    await change(key, { ...BY, ListPrice: 5, Roof: ['Tile'] })
    await change(key, { ...BY, City: 'Waco' })
    expect(await get(key)).toMatchObject({ ...VALID, City: 'Waco', ListPrice: '5', Roof: ['Tile'] })
    expect(recordOf(await change(key, { ...BY, ListPrice: null, Roof: null }))).toMatchObject({
      ListPrice: null,
      Roof: [],
      PreviousListPrice: '5',
    })
    expect(await refusal(change(key, { ...BY, City: null }))).toEqual([400, '1101 City'])
    expect(await get(key)).toMatchObject({ City: 'Waco' })
  })

  it('keeps decimals exactly (JSN-08)', async () => {
    const { key } = await create()
    for (const [sent, shown] of [
      ['83261.85', '83261.85'],
      ['0.1', '0.1'],
      ['1000000', '1000000'],
      ['1e2', '100'],
      ['"999999999999.99"', '999999999999.99'],
    ] as const)
      expect(
        recordOf(await change(key, `{"ChangedByMemberKey":"M1","ListPrice":${sent}}`))['ListPrice'],
      ).toBe(shown)
  })

  it('a refused write changes nothing and logs nothing, for every kind of fault (WRT-11)', async () => {
    const { key } = await inStatus('Active')
    const before = await get(key)
    const logged = (await events(key)).length
    expect(await refusal(change(key, { City: 'Waco', StandardStatus: 'Nonsense', ...BY }))).toEqual([
      400,
      '1105 StandardStatus',
    ])
    expect(await refusal(change(key, { City: 'Waco', ChangedByMemberKey: 'NOPE' }))).toEqual([
      400,
      '1107 ChangedByMemberKey',
    ])
    expect(await refusal(change(key, { City: 'Waco' }))).toEqual([400, '1101 ChangedByMemberKey'])
    expect(await refusal(change(key, { City: 'Waco', StandardStatus: 'Incomplete', ...BY }))).toEqual([
      400,
      '1108 StandardStatus',
    ])
    expect(await refusal(change(key, { City: 'Waco', ...BY }, READER))).toEqual([403, '3003'])
    expect(await refusal(change(key, { City: 'Waco', ChangedByMemberKey: 'M9' }, STRANGER))).toEqual([
      403,
      '3003',
    ])
    expect(await refusal(change(key, { City: 'Waco', ...BY }, ANYONE, { ifMatch: ['1'] }))).toEqual([
      412,
      '4012',
    ])
    expect(await refusal(writing.remove(key, ANYONE, { ifMatch: [] }))).toEqual([412, '4012'])
    expect(await get(key)).toEqual(before)
    expect(await events(key)).toHaveLength(logged)
  })

  it('reports every fault of a body in its order, references and status too', async () => {
    const { key } = await inStatus('Active')
    const body = {
      ListAgentKey: 'nobody',
      Nope: 1,
      StandardStatus: 'Incomplete',
      ListPrice: 'x',
      BuyerOfficeKey: 'O9',
      Media: [],
    }
    expect(await refusal(change(key, body))).toEqual([
      400, '1107 ListAgentKey', '1102 Nope', '1108 StandardStatus', '1103 ListPrice', '1107 BuyerOfficeKey', '1106 Media', '1101 ChangedByMemberKey',
    ]) // biome-ignore format: one list
    expect(await refusal(create({ ListAgentKey: 'nobody' }))).toEqual([400, '1107 ListAgentKey'])
    expect(await refusal(create({ ListOfficeKey: '' }))).toEqual([400, '1101 ListOfficeKey'])
    expect(await refusal(create({ ListAgentKey: 5 }))).toEqual([400, '1103 ListAgentKey'])
    expect(recordOf(await create({ ListOfficeKey: 'M2' }))['ListOfficeKey']).toBe('M2')
  })

  it('there is no upsert, and unusual keys are handled (WRT-09, DBX-01)', async () => {
    const count = await database.prisma.property.count()
    for (const key of ['nope', '', "' or 1=1 --", 'Draft%']) {
      expect(await refusal(change(key, { City: 5 }))).toEqual([404, '4004'])
      expect(await refusal(writing.replace(key, bodyOf(VALID), ANYONE, { ifMatch: '*' }, VIEW))).toEqual([
        404,
        '4004',
      ])
      expect(await refusal(writing.remove(key, ANYONE, {}))).toEqual([404, '4004'])
    }
    expect((await refusal(change('a\0b', BY)))[0]).toBeOneOf([400, 404])
    expect(await database.prisma.property.count()).toBe(count)
  })

  it('checks the scope first, shows drafts only to their writers, and lets only owners write', async () => {
    expect(await refusal(writing.create(bodyOf({}), READER, VIEW))).toEqual([403, '3003'])
    expect(await refusal(change('nope', {}, READER))).toEqual([403, '3003'])
    expect(await refusal(writing.remove('nope', READER, {}))).toEqual([403, '3003'])
    expect(await refusal(create({}, STRANGER))).toEqual([403, '3003'])
    const { key } = await create({}, AGENT)
    expect(await refusal(change(key, { City: 'X' }, STRANGER))).toEqual([404, '4004'])
    expect(await refusal(writing.remove(key, STRANGER, {}))).toEqual([404, '4004'])
    expect(recordOf(await change(key, { City: 'X' }, AGENT))['City']).toBe('X')
    expect(recordOf(await change(key, { ...BY, City: 'Y' }, OFFICE))['City']).toBe('Y')
    expect(recordOf(await change(key, { ...BY, City: 'Z' }, actor('listings:write:any')))['City']).toBe('Z')
    await change(key, { StandardStatus: 'Active' }, AGENT)
    expect(await refusal(change(key, { City: 'X' }, STRANGER))).toEqual([403, '3003'])
    expect(await refusal(writing.remove(key, STRANGER, {}))).toEqual([403, '3003'])
    expect(await refusal(change(key, { ChangedByMemberKey: 'M2' }, AGENT))).toEqual([
      400,
      '1103 ChangedByMemberKey',
    ])
  })

  it('an agent can transfer a listing only to a member of its office', async () => {
    const { key } = await create({}, AGENT)
    expect(await refusal(change(key, { ListAgentKey: 'M9' }, AGENT))).toEqual([403, '3003'])
    expect(await refusal(change(key, { ...BY, ListAgentKey: 'M9' }, OFFICE))).toEqual([403, '3003'])
    expect(recordOf(await change(key, { ...BY, ListAgentKey: 'M2' }, AGENT))['ListAgentKey']).toBe('M2')
    expect(await refusal(change(key, { ListAgentKey: 'M1' }, AGENT))).toEqual([404, '4004'])
  })

  it('keeps who changed it in the log', async () => {
    const { key } = await create({}, AGENT)
    await change(key, { City: 'X', ChangedByMemberKey: 'M2' })
    expect((await events(key)).map(e => e.ChangedByMemberKey)).toEqual(['M1', 'M2'])
  })

  it('respects If-Match and If-None-Match', async () => {
    const first = await create()
    const second = await change(first.key, { ...BY, City: 'A' }, ANYONE, {
      ifMatch: ['7', String(first.version)],
    })
    expect(second.version).not.toBe(first.version)
    expect(
      await refusal(change(first.key, { City: 5 }, ANYONE, { ifMatch: [String(first.version)] })),
    ).toEqual([412, '4012'])
    expect(await refusal(change(first.key, BY, ANYONE, { ifNoneMatch: '*' }))).toEqual([412, '4012'])
    expect(await refusal(change(first.key, BY, ANYONE, { ifNoneMatch: [String(second.version)] }))).toEqual([
      412,
      '4012',
    ])
    await change(first.key, BY, ANYONE, { ifMatch: '*', ifNoneMatch: [String(first.version)] })
  })

  it('a listing has the same key through its whole life cycle (WRT-16, WRT-17)', async () => {
    const { key, ...draft } = await create()
    const steps = [
      [{ ListPrice: 350000.5 }, { StandardStatus: 'Incomplete', MlsStatus: 'Draft', ContractStatus: 'Draft', OriginalListPrice: '350000.5', MajorChangeType: null }],
      [{ StandardStatus: 'Coming Soon' }, { StandardStatus: 'Coming Soon', ContractStatus: 'Available', OnMarketDate: null, MajorChangeType: 'Coming Soon' }],
      [{ StandardStatus: 'Active' }, { StandardStatus: 'Active', MlsStatus: 'Active', ContractStatus: 'Available', MajorChangeType: 'New Listing' }],
      [{ ListPrice: 340000 }, { PreviousListPrice: '350000.5', OriginalListPrice: '350000.5', MajorChangeType: 'Price Change' }],
      [{ ListPrice: 340000 }, { PreviousListPrice: '350000.5' }],
      [{ ConstructionMaterials: ['Brick'] }, { ConstructionMaterials: ['Brick'] }],
      [{ StandardStatus: 'Sold', SoldPrice: 339000 }, { StandardStatus: 'Sold', MlsStatus: 'Sold', ContractStatus: 'Sold', SoldPrice: '339000', ClosePrice: '339000', MajorChangeType: 'Closed' }],
      [{ SoldPrice: 339500 }, { SoldPrice: '339500', ClosePrice: '339500' }],
    ] as const // biome-ignore format: one row a step
    let last = recordOf(draft)
    for (const [body, expected] of steps) {
      const next = recordOf(await change(key, { ...BY, ...body }))
      expect(next).toMatchObject({ ...expected, ListingKey: key })
      expect(String(next['ModificationTimestamp']) > String(last['ModificationTimestamp'])).toBe(true)
      last = next
    }
    const today = new Date().toISOString().slice(0, 10)
    expect(last).toMatchObject({ OnMarketDate: today, CloseDate: today, ContractStatusChangeDate: today })
    expect(await refusal(change(key, { ...BY, SoldPrice: null }))).toEqual([400, '1101 SoldPrice'])
    expect(await refusal(change(key, { ...BY, StandardStatus: 'Active' }))).toEqual([
      400,
      '1108 StandardStatus',
    ])
    expect(await events(key)).toHaveLength(1 + steps.length)
  })

  it('a sale requires a price', async () => {
    const { key } = await inStatus('Active')
    expect(await refusal(change(key, { ...BY, StandardStatus: 'Sold' }))).toEqual([400, '1101 SoldPrice'])
    expect(await refusal(change(key, { ...BY, StandardStatus: 'Sold', SoldPrice: 0 }))).toEqual([
      400,
      '1104 SoldPrice',
    ])
    await change(key, { ...BY, SoldPrice: 5 })
    expect(recordOf(await change(key, { ...BY, StandardStatus: 'Sold' }))).toMatchObject({
      StandardStatus: 'Sold',
      ClosePrice: '5',
    })
  })

  it('PUT replaces the fields that clients can write', async () => {
    const { key } = await inStatus('Active')
    const body = bodyOf({
      ...VALID,
      ...BY,
      City: 'Waco',
      GeoLocation: { type: 'Point', coordinates: [1, 2] },
    })
    expect(recordOf(await writing.replace(key, body, ANYONE, {}, VIEW))).toMatchObject({
      StandardStatus: 'Active', City: 'Waco', ListPrice: null, PreviousListPrice: '100', OriginalListPrice: '100', Longitude: '1', OriginatingSystemName: 'Here', ListingKey: key,
    }) // biome-ignore format: one record
    expect(await refusal(writing.replace(key, bodyOf({ City: 'X', ...BY }), ANYONE, {}, VIEW))).toEqual([
      400, '1101 PropertyType', '1101 StreetNumber', '1101 StreetName', '1101 ListAgentKey', '1101 ListOfficeKey',
    ]) // biome-ignore format: one list
  })

  it('DELETE also removes the Media, Rooms and OpenHouses of the listing (WRT-10)', async () => {
    const { key } = await create()
    await database.prisma.media.create({
      data: {
        MediaKey: `${key}-1`,
        ResourceName: 'Property',
        ResourceRecordKey: key,
        MediaCategory: 'Photo',
      },
    })
    await database.prisma.rooms.create({ data: { RoomKey: `${key}-1`, ListingKey: key } })
    await database.prisma.openHouse.create({ data: { OpenHouseKey: `${key}-1`, ListingKey: key } })
    await writing.remove(key, ANYONE, { ifMatch: '*' })
    expect(await refusal(writing.remove(key, ANYONE, {}))).toEqual([404, '4004'])
    expect(await reading.get(PROPERTY, key, VIEW, ANYONE)).toBeUndefined()
    for (const count of [
      database.prisma.media.count(),
      database.prisma.rooms.count(),
      database.prisma.openHouse.count(),
    ])
      expect(await count).toBe(0)
    expect((await events(key)).length).toBeGreaterThan(1)
  })

  it('with STRICT_LOOKUPS, non-empty lookups accept only their values', async () => {
    await database.prisma.lookup.create({
      data: { LookupKey: 'PropertyType-Land', LookupName: 'PropertyType', LookupValue: 'Land' },
    })
    const strict = new WriteService({
      database,
      plans,
      reading,
      config: { originatingSystemName: 'Here', strictLookups: true },
    })
    expect(await refusal(strict.create(bodyOf(VALID), ANYONE, VIEW))).toEqual([400, '1105 PropertyType'])
    expect(
      recordOf(await strict.create(bodyOf({ ...VALID, PropertyType: 'Land' }), ANYONE, VIEW))['PropertyType'],
    ).toBe('Land')
  })

  it('a row that was imported without owners or status can be completed', async () => {
    await database.prisma.property.create({ data: { ListingKey: 'imported' } })
    expect(
      recordOf(await change('imported', { ...BY, City: 'Waco', StandardStatus: 'Active' })),
    ).toMatchObject({
      City: 'Waco',
      StandardStatus: 'Active',
      MlsStatus: 'Active',
    })
  })

  it('none of 50 concurrent changes of one record is lost', async () => {
    const { key } = await create()
    const free = PROPERTY.scalars.filter(
      s => s.setBy === 'client' && !s.required && !s.collection && !/Key$|StandardStatus|tude$/.test(s.name),
    )
    const values = { String: 'x', Int32: 7, Decimal: '7' } as const
    const bodies = free
      .flatMap(({ name, type }) =>
        type === 'String' || type === 'Int32' || type === 'Decimal' ? [{ [name]: values[type] }] : [],
      )
      .slice(0, 50)
    expect(bodies.length).toBe(50)
    const written = await Promise.all(bodies.map(body => change(key, { ...BY, ...body })))
    expect(new Set(written.map(w => w.version)).size).toBe(50)
    expect(await get(key)).toMatchObject(Object.assign({}, ...bodies))
    expect(await events(key)).toHaveLength(51)
  })

  it('exactly one of 20 changes with the same ETag succeeds', async () => {
    const { key, version } = await create()
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        change(key, { ...BY, StreetNumber: String(i) }, ANYONE, { ifMatch: [String(version)] }),
      ),
    )
    expect(tries.filter(t => t.status === 'fulfilled')).toHaveLength(1)
  })

  it('200 changes in a row have rising timestamps (REP-02)', async () => {
    const { key } = await create()
    const times: string[] = []
    for (let i = 0; i < 200; i++)
      times.push(
        String(recordOf(await change(key, { ...BY, StreetNumber: String(i) }))['ModificationTimestamp']),
      )
    expect(times.every((time, i) => i === 0 || time > String(times[i - 1]))).toBe(true)
  }, 60_000)

  it('50 concurrent creates have 50 keys', async () => {
    const written = await Promise.all(Array.from({ length: 50 }, () => create()))
    expect(new Set(written.map(w => w.key)).size).toBe(50)
  })
})
