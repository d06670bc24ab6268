import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, type Row, rowsOf } from '../../support/assertions.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { DRAFT } from '../../support/drafts.js'
import { type ErrorSummary, errorSummaryOf } from '../../support/error-summary.js'
import { startTestService, type TestService } from '../../support/test-service.js'

const keyOf = (record: Row) => String(record['ListingKey'])
const timeOf = (record: Row) => String(record['ModificationTimestamp'])

describe.each(DATABASE_KINDS)('traps of writing on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, keys, list, read, post, patch, remove, draft, send }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, keys, list, read, post, patch, remove, draft, send } = market)
    await given([])
  })
  afterAll(() => market.close())

  const countAll = async () => (await send('/odata/Property/$count')).text
  /** Sends a write that must be refused and leave the number of records unchanged. */
  const refusedPost = async (body: unknown): Promise<ErrorSummary> => {
    const before = await countAll()
    const refusal = errorSummaryOf(await post(body))
    expect(await countAll()).toBe(before)
    return refusal
  }

  test('WRT-01 PATCH does not change other fields', async () => {
    const created = await draft({ Roof: ['Tile'], TaxYear: 2020 })
    expect((await patch(keyOf(created), { ListPrice: 5 })).status).toBe(200)
    expect((await patch(keyOf(created), { City: 'Waco' })).status).toBe(200)
    expect(await read(keyOf(created))).toMatchObject({
      ...DRAFT,
      Roof: ['Tile'],
      TaxYear: 2020,
      ListPrice: 5,
      City: 'Waco',
    })
  })

  test('WRT-02 null clears an optional field, not a required one', async () => {
    const key = keyOf(await draft({ ListPrice: 5 }))
    expect(bodyOf(await patch(key, { ListPrice: null }))['ListPrice']).toBeNull()
    expect(errorSummaryOf(await patch(key, { City: null }))).toMatchObject({
      status: 400,
      details: ['1101 City'],
    })
    expect(await read(key)).toMatchObject({ ListPrice: null, City: DRAFT.City })
  })

  test('WRT-04 unknown fields', async () => {
    expect(await refusedPost({ ...DRAFT, Citty: 'x' })).toMatchObject({
      status: 400,
      code: '1111',
      details: ['1102 Citty'],
    })
    const created = await draft({ ListPrice: 7 })
    expect(errorSummaryOf(await patch(keyOf(created), { listprice: 5 }))).toMatchObject({
      status: 400,
      details: ['1102 listprice'],
    })
    expect(await read(keyOf(created))).toMatchObject({ ListPrice: 7, ModificationTimestamp: timeOf(created) })
  })

  test('WRT-05 fields that the service sets, at create', async () => {
    const evil = {
      ContractStatus: 'Available',
      MlsStatus: 'X',
      ListingKey: 'mine',
      ModificationTimestamp: '2001-01-01T00:00:00Z',
      OriginatingSystemName: 'evil',
    }
    const created = await draft(evil)
    expect(created).toMatchObject({
      ContractStatus: 'Draft',
      MlsStatus: 'Draft',
      StandardStatus: 'Incomplete',
      OriginatingSystemName: 'Listing Service',
    })
    expect(keyOf(created)).toMatch(/^Draft/)
    expect(Math.abs(Date.now() - Date.parse(timeOf(created)))).toBeLessThan(60_000)
    expect((await refusedPost({ ...DRAFT, ...evil, StandardStatus: 'Active' })).details).toEqual([
      expect.stringMatching(/ StandardStatus$/),
    ])
    expect(keyOf(await draft({ StandardStatus: 'Incomplete' }))).toMatch(/^Draft/)
  })

  test('WRT-06 all faults are reported together', async () => {
    const required = Object.keys(DRAFT)
    const empty = await refusedPost({})
    expect([empty.status, empty.code, [...empty.details].sort()]).toEqual([
      400,
      '1111',
      required.map(name => `1101 ${name}`).sort(),
    ])
    const wrong = await refusedPost({ City: 5, StreetName: '', PropertyType: '   ' })
    const missing = ['ListAgentKey', 'ListOfficeKey', 'StreetNumber'].map(name => `1101 ${name}`)
    expect([...wrong.details].sort()).toEqual(
      ['1103 City', '1101 StreetName', '1101 PropertyType', ...missing].sort(),
    )
  })

  test('WRT-07 keys that are no member', async () => {
    expect((await refusedPost({ ...DRAFT, ListAgentKey: 'nobody' })).details).toEqual(['1107 ListAgentKey'])
    expect((await refusedPost({ ...DRAFT, ListOfficeKey: '' })).details).toEqual(['1101 ListOfficeKey'])
    expect((await refusedPost({ ...DRAFT, ListAgentKey: 5 })).details).toEqual(['1103 ListAgentKey'])
    const created = await draft()
    expect(errorSummaryOf(await patch(keyOf(created), { ListAgentKey: 'nobody' })).details).toEqual([
      '1107 ListAgentKey',
    ])
    expect((await read(keyOf(created)))['ListAgentKey']).toBe(DRAFT.ListAgentKey)
  })

  test('WRT-09 PATCH of a key that does not exist', async () => {
    const before = await countAll()
    expect(errorSummaryOf(await patch('nope', { City: 'X' }))).toMatchObject({ status: 404, code: '4004' })
    expect(await countAll()).toBe(before)
  })

  test('WRT-10 DELETE with children, and twice', async () => {
    const [Media, Rooms, OpenHouses] = [[{ MediaKey: 'm' }], [{ RoomKey: 'r' }], [{ OpenHouseKey: 'o' }]]
    await given([{ Media, Rooms, OpenHouses }])
    expect((await send('/odata/Rooms/$count')).text).toBe('1')
    expect((await remove('L001')).status).toBe(204)
    expect([(await remove('L001')).status, (await send("/odata/Property('L001')")).status]).toEqual([
      404, 404,
    ])
    for (const set of ['Rooms', 'Media', 'OpenHouse'])
      expect((await send(`/odata/${set}/$count`)).text).toBe('0')
    for (const path of ["Rooms('r')", "Media('m')", "OpenHouse('o')", "Property('L001')/Rooms"])
      expect((await send(`/odata/${path}`)).status).toBe(404)
  })

  test('WRT-11 all or nothing', async () => {
    const created = await draft()
    expect(
      errorSummaryOf(await patch(keyOf(created), { City: 'Waco', StandardStatus: 'Nonsense' })),
    ).toMatchObject({
      status: 400,
      code: '1111',
      details: ['1105 StandardStatus'],
    })
    const { '@odata.context': _, ...before } = created
    expect(await read(keyOf(created))).toMatchObject(before)
  })

  test('WRT-13 bodies that are no JSON object', async () => {
    const key = keyOf(await draft())
    const headers = { 'Content-Type': 'application/json' }
    for (const rawBody of [undefined, '', '{', '[]', 'null', '"x"', '{"City":"A",}']) {
      const before = await countAll()
      expect([rawBody, (await send('/odata/Property', { method: 'POST', headers, rawBody })).status]).toEqual(
        [rawBody, 400],
      )
      expect([
        rawBody,
        (await send(`/odata/Property('${key}')`, { method: 'PATCH', headers, rawBody })).status,
      ]).toEqual([rawBody, 400])
      expect(await countAll()).toBe(before)
    }
  })

  test('WRT-16 the key before and after publishing', async () => {
    const key = keyOf(await draft())
    expect((await patch(key, { ListPrice: 5 })).status).toBe(200)
    expect(bodyOf(await patch(key, { StandardStatus: 'Active' }))['ListingKey']).toBe(key)
    expect(await keys(`$filter=ListingKey eq '${key}'`)).toEqual([key])
    expect((await patch(key, { City: 'Waco' })).status).toBe(200)
    expect(await read(key)).toMatchObject({ ListingKey: key, StandardStatus: 'Active', City: 'Waco' })
    expect([(await remove(key)).status, (await send(`/odata/Property('${key}')`)).status]).toEqual([204, 404])
  })

  test('WRT-17 each accepted PATCH changes the timestamp, and nothing else does', async () => {
    let last = await draft()
    const key = keyOf(last)
    for (const body of [
      { ListPrice: 5 },
      { ListPrice: 5 },
      { ConstructionMaterials: ['Brick'] },
      { StandardStatus: 'Active' },
    ]) {
      expect((await patch(key, { StandardStatus: 'Banana' })).status).toBe(400)
      expect(timeOf(await read(key))).toBe(timeOf(last))
      const next = bodyOf(await patch(key, body))
      expect(timeOf(next) > timeOf(last)).toBe(true)
      expect(timeOf(await read(key))).toBe(timeOf(next))
      last = next
    }
  })

  test('JSN-01 decimals are JSON numbers', async () => {
    const key = keyOf(await draft())
    await patch(key, { ListPrice: 450000.5 })
    expect((await send(`/odata/Property('${key}')`)).text).toContain('"ListPrice":450000.5,')
  })

  test('JSN-02 IEEE754Compatible', async () => {
    await given([{ ListPrice: 5.5 }])
    const answer = await send('/odata/Property?$count=true&$top=1', {
      headers: { Accept: 'application/json;IEEE754Compatible=true' },
    })
    expect(answer.headers['content-type']).toContain('IEEE754Compatible=true')
    expect(bodyOf(answer)).toMatchObject({ '@odata.count': '1', value: [{ ListPrice: '5.5' }] })
    const key = keyOf(await draft())
    for (const type of ['application/json;IEEE754Compatible=true', 'application/json']) {
      const body = { ...DRAFT, ListPrice: '450000.50', ChangedByMemberKey: 'M1' }
      const created = await send('/odata/Property', {
        method: 'POST',
        headers: { 'Content-Type': type },
        body,
      })
      expect([created.status, bodyOf(created)['ListPrice']]).toEqual([201, 450000.5])
      const changed = await send(`/odata/Property('${key}')`, {
        method: 'PATCH',
        headers: { 'Content-Type': type },
        body,
      })
      expect([changed.status, bodyOf(changed)['ListPrice']]).toEqual([200, 450000.5])
    }
    expect(errorSummaryOf(await patch(key, { ListPrice: 'much' })).details).toEqual(['1103 ListPrice'])
  })

  test('JSN-04 a returned timestamp finds its own record', async () => {
    await given([])
    const created = await draft()
    const found = (op: string) => keys(`$filter=ModificationTimestamp ${op} ${timeOf(created)}`)
    expect([await found('eq'), await found('ge'), await found('gt'), await found('lt')]).toEqual([
      [keyOf(created)],
      [keyOf(created)],
      [],
      [],
    ])
  })

  test('JSN-07 nulls and empty lists are present', async () => {
    await given([])
    const created = await draft()
    const { Property } = bodyOf(await send('/odata/$metadata?$format=json'))['org.reso.metadata'] as {
      readonly Property: Record<string, Row>
    } // the model
    const declared = Object.keys(Property).filter(
      name => /^[A-Z]/.test(name) && Property[name]?.['$Kind'] !== 'NavigationProperty',
    )
    const shown = await read(keyOf(created))
    expect(Object.keys(shown)).toEqual(
      expect.arrayContaining(declared.filter(name => name !== 'ChangedByMemberKey')),
    )
    expect(shown).toMatchObject({ ListPrice: null, ConstructionMaterials: [] })
    expect((await list('$select=ListPrice,ConstructionMaterials')).text).toMatch(
      /"ListPrice":null,"ConstructionMaterials":\[\]/,
    )
  })

  test('JSN-08 everyday decimals survive', async () => {
    const key = keyOf(await draft())
    for (const [sent, shown] of [['83261.85', '83261.85'], ['0.1', '0.1'], ['1000000', '1000000'], ['1e2', '100']] as const) {
      const rawBody = `{"ListPrice":${sent},"ChangedByMemberKey":"M1"}`
      await send(`/odata/Property('${key}')`, { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, rawBody })
      expect((await send(`/odata/Property('${key}')/ListPrice/$value`)).text).toBe(shown)
      expect(rowsOf(await list(`$filter=ListingKey eq '${key}' and ListPrice eq ${sent}`))).toHaveLength(1)
      expect(String(await market.database.prisma.property.findUnique({ where: { ListingKey: key } }).then(row => row?.ListPrice))).toBe(shown)
    }
  }) // biome-ignore format: one table
})
