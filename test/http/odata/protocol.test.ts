import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf, rowsOf } from '../../support/assertions.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
})
afterAll(() => app.close())

const contextOf = async (url: string, headers = {}) =>
  String(bodyOf(await app.send(url, { headers }))['@odata.context']).replace(`${app.base}/odata/`, '')
/** Node joins a repeated header as `a, b`. */
const ONE_VERSION = /^4\.0(?:1)?$/

describe('the version header', () => {
  // biome-ignore format: table
  test.each([
    ['GET',     '/odata/Property?$top=1',     {},                                  200],
    ['GET',     '/odata/Property?$top=1',     { 'OData-MaxVersion': '4.0', MaxDataServiceVersion: '3.0' }, 200],
    ['HEAD',    "/odata/Property('P01')",     {},                                  200],
    ['OPTIONS', '/odata/Property',            {},                                  204],
    ['GET',     "/odata/Property('P04')/ListPrice", {},                            204],
    ['GET',     "/odata/Property('P01')",     { 'If-None-Match': '*' },            304],
    ['GET',     '/odata/Property',            { Authorization: null },             401],
    ['GET',     '/odata/Nope',                { Authorization: null },             401],
    ['GET',     '/odata/Nope',                {},                                  404],
    ['GET',     '/odata/Property?$nope=1',    {},                                  400],
    ['GET',     '/odata/Property',            { 'OData-MaxVersion': '3.0' },       400],
    ['GET',     '/odata/Property',            { 'OData-Version': '3.0' },          400],
    ['GET',     '/odata/Property',            { Accept: 'image/png' },             406],
    ['GET',     '/odata/Property',            { 'OData-Isolation': 'snapshot' },   412],
    ['DELETE',  '/odata/Property',            {},                                  405],
    ['PATCH',   "/odata/Property('P01')/City", {},                                 405],
    ['LOCK',    '/odata/Property',            {},                                  405],
    ['POST',    '/odata/$batch',              {},                                  200],
    ['POST',    '/odata/Property/$query',     {},                                  415],
  ])('%s %s %o: once, with %i', async (method, url, headers: Record<string, string | null>, status) => {
    const answer = await app.send(url, { method, headers })
    expect(answer.status).toBe(status)
    expect(answer.headers['odata-version']).toMatch(ONE_VERSION)
    if (headers['OData-MaxVersion'] === '4.0') expect(answer.headers['odata-version']).toBe('4.0')
    if (status >= 400 && method !== 'HEAD') expect(answer.json).toMatchObject({ error: { code: expect.any(String), message: expect.any(String), details: [] } })
    if (status >= 400) expect(answer.headers).toMatchObject({ 'content-language': 'en', 'content-type': 'application/json' })
    if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
    if (status === 405) expect(answer.headers['allow']).toMatch(/OPTIONS/)
    if (method === 'HEAD' || status === 204 || status === 304) expect(answer.text).toBe('')
  })
})

describe('methods by path', () => {
  // biome-ignore format: table
  test.each([
    ['/odata/',                       'GET, HEAD, OPTIONS'],
    ['/odata/$metadata',              'GET, HEAD, OPTIONS'],
    ['/odata/$batch',                 'POST, OPTIONS'],
    ['/odata/Property',               'GET, HEAD, POST, OPTIONS'],
    ["/odata/Property('P01')",        'GET, HEAD, PATCH, PUT, DELETE, OPTIONS'],
    ['/odata/Property/P01',           'GET, HEAD, PATCH, PUT, DELETE, OPTIONS'],
    ['/odata/Property/$count',        'GET, HEAD, OPTIONS'],
    ["/odata/Property('P01')/$ref",   'GET, HEAD, OPTIONS'],
    ["/odata/Property('P01')/City",   'GET, HEAD, OPTIONS'],
    ["/odata/Property('P01')/Media",  'GET, HEAD, OPTIONS'],
    ["/odata/Rooms('R011')/Listing",  'GET, HEAD, OPTIONS'],
    ['/odata/Member',                 'GET, HEAD, OPTIONS'],
    ["/odata/Member('M1')",           'GET, HEAD, OPTIONS'],
    ['/odata/EntityEvent(1)',         'GET, HEAD, OPTIONS'],
  ])('%s: %s', async (url, allow) => {
    expect((await app.send(url, { method: 'OPTIONS' })).headers['allow']).toBe(allow)
    expect((await app.send(url, { method: 'LOCK' })).headers['allow']).toBe(allow)
  })

  test('a method override in a header is ignored', async () => {
    const answer = await app.send("/odata/Property('P01')", {
      method: 'POST',
      headers: { 'X-HTTP-Method': 'DELETE', 'X-HTTP-Method-Override': 'DELETE' },
    })
    expect(answer.status).toBe(405)
    expect((await app.send("/odata/Property('P01')")).status).toBe(200)
  })
})

describe('context URLs', () => {
  // biome-ignore format: table
  test.each([
    ['',                                                     '$metadata'],
    ['Property',                                             '$metadata#Property'],
    ['Property?$select=City,ListPrice',                      '$metadata#Property(City,ListPrice)'],
    ['Property?$select=*',                                   '$metadata#Property(*)'],
    ['Property?$select=City&$expand=Media($select=MediaKey)', '$metadata#Property(City,Media(MediaKey))'],
    ['Property?$expand=Media',                               '$metadata#Property(Media())'],
    ['Property?$expand=Rooms($expand=Listing($select=City))', '$metadata#Property(Rooms(Listing(City)))'],
    ["Property('P01')",                                      '$metadata#Property/$entity'],
    ["Property('P01')?$select=City",                         '$metadata#Property(City)/$entity'],
    ["Property('P01')/Media?$select=MediaKey",               '$metadata#Media(MediaKey)'],
    ["Rooms('R011')/Listing",                                '$metadata#Property/$entity'],
    ["Property('P''00')/City",                               "$metadata#Property('P''00')/City"],
    ["Rooms('R011')/Listing/City",                           "$metadata#Rooms('R011')/Listing/City"],
    ['Property/$ref',                                        '$metadata#Collection($ref)'],
    ["Property('P01')/$ref",                                 '$metadata#$ref'],
  ])('%s: %s', async (url, context) => {
    expect(await contextOf(`/odata/${url}`)).toBe(context)
  })

  test('clients of 4.0 see no empty brackets', async () => {
    expect(await contextOf('/odata/Property?$expand=Media', { 'OData-MaxVersion': '4.0' })).toBe(
      '$metadata#Property',
    )
    expect(
      await contextOf('/odata/Property?$expand=Media($select=MediaKey)', { 'OData-MaxVersion': '4.0' }),
    ).toBe('$metadata#Property(Media(MediaKey))')
  })
})

describe('paths', () => {
  // biome-ignore format: table
  test.each([
    ['/odata',                                     200, '"kind":"EntitySet"'],
    ['/odata/',                                    200, '"kind":"EntitySet"'],
    ['/odata/Property/',                           200, '"value":['],
    ["/odata/Property('P''00')",                   200, `"ListingKey":"P'00"`],
    ["/odata/Property('P%2F00')",                  200, '"ListingKey":"P/00"'],
    ['/odata/Property(%27P01%27)',                 200, '"ListingKey":"P01"'],
    ['/odata/Property%28%27P01%27%29',             200, '"ListingKey":"P01"'],
    ["/odata/Property(ListingKey='P01')",          200, '"ListingKey":"P01"'],
    ["/odata/Property(@k)?@k='P01'",               200, '"ListingKey":"P01"'],
    ['/odata/Property/P01/Rooms/$count',           200, '3'],
    ["/odata/PropertyRooms('R011')",               200, '"RoomKey":"R011"'],
    ["/odata/Property('P01')/Rooms('R011')/Listing/Rooms/$count", 200, '3'],
    ["/odata/Property('P01')/Rooms('R071')",       404, '4004'],
    ["/odata/Property('NOPE')/Rooms('R011')",      404, '4004'],
    ["/odata/Property('P01')/Rooms('NOPE')/Listing", 404, '4004'],
    ["/odata/Property('P01')/ListOffice",          204, ''],
    ["/odata/Property('P01')/ListOffice/$ref",     204, ''],
    ["/odata/Property('P01')/ListOffice/Media",    404, '4004'],
    ["/odata/Property('P01')/GeoLocation/$value",  200, 'SRID=4326;POINT('],
    ["/odata/$entity?$id=Property('P01')",         200, '"ListingKey":"P01"'],
    ["/odata/$entity?$id=/odata/Property('P%252F00')&$select=ListingKey", 200, '"ListingKey":"P/00"'],
    ['/odata/$entity?$id=Property',                404, '4004'],
    ['/odata/$entity',                             400, '$id'],
    ["/odata/Property('a%20b%25')",                404, '4004'],
    ['/odata/Property(x)',                         400, '2020'],
    ["/odata/Property('x",                         400, '2020'],
    ['/odata/Nope',                                404, '4004'],
    ['/odata/Property/Nope',                       404, '4004'],
    ["/odata/Property('P01')/ChangedByMemberKey",  400, '2014'],
    ["/odata/Property('P01')/$value",              400, 'raw value'],
    ['/odata/EntityEvent(1)',                      200, '"EntityEventSequence":1,'],
    ['/nope',                                      404, '4004'],
    ['/odatax',                                    404, '4004'],
  ])('%s is %i', async (url, status, part) => {
    const answer = await app.send(url)
    expect(answer.status, answer.text).toBe(status)
    expect(answer.text).toContain(part)
    if (status >= 400) expect(answer.headers['content-type']).toBe('application/json')
  })

  test('filters in the path apply in addition to $filter', async () => {
    const answer = await app.send(
      "/odata/Property/$filter(City eq 'Vail')?$filter=ListPrice gt 1&$count=true",
    )
    expect(bodyOf(answer)['@odata.count']).toBe(2)
  })

  test('an address in absolute form is served like any other', async () => {
    const answer = await app.send(`/odata/Property?$top=1`.replace(/^/, app.base))
    expect(answer.status).toBe(200)
  })
})

describe('the form of data', () => {
  test('numbers are texts if the client requests it', async () => {
    const answer = await app.send(
      "/odata/Property?$filter=ListingKey eq 'P01'&$count=true&$expand=Rooms/$count",
      {
        headers: { Accept: 'application/json;IEEE754Compatible=true' },
      },
    )
    expect(answer.headers['content-type']).toBe(
      'application/json;odata.metadata=minimal;IEEE754Compatible=true',
    )
    expect(bodyOf(answer)).toMatchObject({
      '@odata.count': '1',
      value: [{ ListPrice: '250000', DaysOnMarket: 7, 'Rooms@odata.count': '3' }],
    })
  })

  test('an ETag in the header, in the record and in lists is the same; expanded records make 304 impossible', async () => {
    const one = await app.send("/odata/Property('P01')")
    const etag = one.headers['etag'] ?? ''
    expect(etag).toMatch(/^W\/"\d+"$/)
    expect(bodyOf(one)['@odata.etag']).toBe(etag)
    expect(rowsOf(await app.send("/odata/Property?$filter=ListingKey eq 'P01'"))[0]?.['@odata.etag']).toBe(
      etag,
    )
    const status = async (url: string, headers: Record<string, string>) =>
      (await app.send(url, { headers })).status
    expect(await status("/odata/Property('P01')", { 'If-None-Match': etag })).toBe(304)
    expect(await status("/odata/Property('P01')?$expand=Media", { 'If-None-Match': etag })).toBe(200)
    expect(await status("/odata/Property('P01')", { 'If-None-Match': 'W/"0"' })).toBe(200)
    expect(await status("/odata/Property('P01')", { 'If-Match': etag })).toBe(200)
    expect(await status("/odata/Property('P01')", { 'If-Match': '"0"' })).toBe(412)
    expect(await status("/odata/Property('P01')", { 'If-Match': 'nonsense' })).toBe(400)
  })

  test('responses have Vary, and are private', async () => {
    const { headers } = await app.send('/odata/Property?$top=1')
    expect(headers['vary']).toMatch(/Accept, Prefer, OData-MaxVersion, Authorization/)
    expect(headers['cache-control']).toBe('private, no-cache')
  })
})

describe('ignored as documented', () => {
  test.each([
    'respond-async, wait=10',
    'callback; url="https://example.org/"',
    'omit-values=defaults',
    'odata.include-annotations="*"',
    'odata.allow-entityreferences',
    'handling=strict',
  ])('Prefer: %s', async prefer => {
    const plain = await app.send('/odata/Property?$top=2')
    const answer = await app.send('/odata/Property?$top=2', { headers: { Prefer: prefer } })
    expect([answer.status, answer.text, answer.headers['preference-applied']]).toEqual([
      200,
      plain.text,
      undefined,
    ])
  })

  test.each(['X-HTTP-Method', 'X-HTTP-Method-Override'])('%s', async header => {
    for (const method of ['PATCH', 'MERGE', 'DELETE']) {
      const body = { ListPrice: 1, ChangedByMemberKey: 'M1' }
      const headers = { [header]: method }
      const answer = await app.send("/odata/Property('P01')", { method: 'POST', headers, body })
      expect([answer.status, answer.headers['allow']]).toEqual([
        405,
        'GET, HEAD, PATCH, PUT, DELETE, OPTIONS',
      ])
    }
    expect((await app.send("/odata/Property('P01')")).status).toBe(200)
  })
})

describe('a refusal names the fault', () => {
  // biome-ignore format: table
  test.each([
    ['PATCH',  "Property('P01')",                           { 'If-None-Match': '*' },      412, 'If-None-Match', 'satisfy'],
    ['DELETE', "Property('P01')",                           { 'If-None-Match': '*' },      412, 'If-None-Match', 'satisfy'],
    ['PATCH',  "Property('P01')",                           { 'If-Match': '"0"' },         412, 'If-Match',      'satisfy'],
    ['GET',    "Property('P01')",                           { 'If-Match': '"0"' },         412, 'If-Match',      'satisfy'],
    ['GET',    'Property?$format=xml',                      {},                            406, '$format',       'available'],
    ['GET',    'Property/$count?$format=image/png',         {},                            406, '$format',       'available'],
    ['GET',    '$metadata?$format=text/csv',                {},                            406, '$format',       'available'],
    ['GET',    'Property',                                  { Accept: 'application/xml' }, 406, 'Accept',        'available'],
    ['GET',    'Property?$deltatoken=x',                    {},                            400, '$deltatoken',   'another query'],
    ['GET',    'Property?$index=1',                         {},                            501, '$index',        'implement'],
    ['GET',    'Property?$skip=100001',                     {},                            400, '$skip',         '@odata.nextLink'],
  ])('%s %s with %o is %i, %s', async (method, url, headers, status, target, part) => {
    const answer = await app.send(`/odata/${url}`, { method, headers, ...(method === 'PATCH' && { body: { City: 'Vail', ChangedByMemberKey: 'M1' } }) })
    expect(answer.status, answer.text).toBe(status)
    expect(bodyOf(answer)).toMatchObject({ error: { target, message: expect.stringContaining(part) } })
  })

  test.each(['$top=1', '$skip=0', '$count=true', '$orderby=MemberKey'])(
    '%s of a single record that is expanded is refused, not ignored',
    async option => {
      const [name = ''] = option.split('=')
      const answer = await app.send(`/odata/Property?$expand=ListAgent(${option})`)
      expect(answer.status, answer.text).toBe(400)
      expect(bodyOf(answer)).toMatchObject({ error: { code: '2010', target: name } })
      expect(
        (await app.send(`/odata/Property?$expand=Media(${option.replace('MemberKey', 'MediaKey')})`)).status,
      ).toBe(200)
    },
  )
})
