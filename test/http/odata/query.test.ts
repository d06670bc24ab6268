import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf } from '../../support/assertions.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
})
afterAll(() => app.close())

const post = (target: string, rawBody: string, headers = {}) =>
  app.send(`/odata/${target}`, {
    method: 'POST',
    rawBody,
    headers: { 'Content-Type': 'text/plain', ...headers },
  })
const keysIn = (body: Readonly<Record<string, unknown>>) =>
  (body['value'] as { readonly ListingKey: string }[]).map(record => record.ListingKey)

describe('a query in a body', () => {
  test('is answered like a GET', async () => {
    const query =
      "$filter=City%20eq%20'Vail'%20and%20contains(StreetName,'%20')&$orderby=ListPrice%20desc&$select=ListingKey&$count=true"
    const [posted, got] = [await post('Property/$query', query), await app.send(`/odata/Property?${query}`)]
    expect(posted.status).toBe(200)
    expect(bodyOf(posted)).toEqual(bodyOf(got))
  })

  test('of one record', async () => {
    const posted = await post("Property('P01')/$query", '$select=City&$expand=Media($select=MediaKey)')
    expect(bodyOf(posted)).toEqual(
      bodyOf(await app.send("/odata/Property('P01')?$select=City&$expand=Media($select=MediaKey)")),
    )
    expect((await post("Property('NOPE')/$query", '$select=City')).status).toBe(404)
  })

  test('of related records, and with parameter aliases', async () => {
    expect((await post("Property('P01')/Media/$query", '$top=1')).status).toBe(200)
    expect(
      keysIn(bodyOf(await post('Property/$query?$select=ListingKey', "$filter=City%20eq%20@c&@c='Vail'"))),
    ).toEqual(['P21', 'P22', 'P23'])
  })

  test('may be empty, end with a line and hold raw letters and blanks', async () => {
    expect((await post('Property/$query', '')).status).toBe(200)
    expect(
      keysIn(
        bodyOf(
          await post('Property/$query?$select=ListingKey', "$filter=City eq 'Vail' and City ne 'Zürich'\r\n"),
        ),
      ),
    ).toEqual(['P21', 'P22', 'P23'])
  })

  // biome-ignore format: table
  test.each([
    ['Property/$query?$top=1',     '$top=2',             {},                                     400],
    ['Property/$query?$top=1',     'TOP=1',              {},                                     400],
    ['Property/$query',            '$nonsense=1',        {},                                     400],
    ['Property/$query',            '$filter=%zz',        {},                                     400],
    ["Property('P01')/$query",     '$top=1',             {},                                     400],
    ['Property/$query',            '{}',                 { 'Content-Type': 'application/json' }, 415],
    ['Property/$query',            '$top=1',             { 'Content-Type': null },               415],
    ['Property/$query',            '$top=1',             { Accept: 'text/html' },                406],
    ['Property/$query/$count',     '$top=1',             {},                                     404],
    ['Nothing/$query',             '$top=1',             {},                                     404],
    ['Property/$query',            `x=${'a'.repeat(1_048_576)}`, {},                             413],
  ])('%s is refused (%#)', async (target, rawBody, headers, status) => {
    expect((await post(target, rawBody, headers)).status).toBe(status)
  })

  test.each([['GET'], ['PUT'], ['DELETE']])('is not available for %s', async method => {
    const answer = await app.send('/odata/Property/$query', { method })
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST, OPTIONS'])
  })
})

describe('the meaning of an expression', () => {
  // biome-ignore format: table
  test.each([
    ['$filter=cast(DaysOnMarket,Edm.Byte) eq 1',                          501],
    ['$filter=cast(DaysOnMarket,Edm.Nonsense) eq 1',                      400],
    ['$filter=cast(ConstructionMaterials,Edm.Int32) eq 1',                400],
    ['$filter=isof(City,Edm.Guid)',                                       200],
    ['$filter=isof(City,Edm.Nonsense)',                                   400],
    ["$filter=Rooms/any($it:$it/RoomType eq 'x')",                        400],
    ['$apply=aggregate($count as Edm.X)',                                 400],
    ['$filter=City in @c',                                                200],
    ['$filter=City in @c&@c=null',                                        200],
    ['$filter=contains(ConstructionMaterials,["Brick"])',                 501],
    ["$filter=contains(ConstructionMaterials,'x')",                       400],
    ["$filter=ListAgent/org.reso.metadata.Member/MemberKey eq 'M3'",      501],
    ['$select=org.reso.metadata.*',                                       501],
    ['$select=Foo.*',                                                     400],
  ])('%s is answered by %i', async (query, status) => {
    expect((await app.send(`/odata/Property?${query.replaceAll(' ', '%20').replaceAll('"', '%22')}`)).status).toBe(status)
  })
})

describe('the next page', () => {
  test('is read by GET, with all the options', async () => {
    const first = bodyOf(
      await post('Property/$query?$select=ListingKey', '$orderby=City%20desc&$top=15&$count=true'),
    )
    const keys = [...keysIn(first)]
    let link = first['@odata.nextLink']
    while (link !== undefined) {
      expect(String(link)).toContain(
        '/odata/Property?$select=ListingKey&$orderby=City%20desc&$top=15&$count=true&$skiptoken=',
      )
      const page = bodyOf(await app.send(String(link)))
      keys.push(...keysIn(page))
      link = page['@odata.nextLink']
    }
    expect(keys).toEqual(
      keysIn(bodyOf(await app.send('/odata/Property?$select=ListingKey&$orderby=City desc&$top=1000'))),
    )
  })

  test('whose next link would be too long is refused, not returned without one', async () => {
    const long = `$filter=ListingKey%20ne%20'${'x'.repeat(app.config.maxQueryLength)}'`
    expect((await post('Property/$query', long)).status).toBe(200)
    const refused = await post('Property/$query', `${long}&$top=1`)
    expect([refused.status, refused.json]).toMatchObject([400, { error: { code: '2023' } }])
  })
})
