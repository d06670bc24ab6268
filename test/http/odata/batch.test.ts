import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestResponse } from '../../support/app.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { createDrafts, DRAFT } from '../../support/drafts.js'

interface Reply {
  readonly id: string
  readonly status: number
  readonly atomicityGroup?: string
  readonly headers: Readonly<Record<string, string>>
  // The content of any record or error.
  // biome-ignore lint/suspicious/noExplicitAny: looked into at any depth
  readonly body?: any
}

describe.each(DATABASE_KINDS)('a batch on the database %s', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({
      kind,
      fixture: 'fixture.json',
      env: {
        STRICT_LOOKUPS: 'true',
        MAX_BATCH_REQUESTS: '20',
        MAX_BATCH_BYTES: '65536',
        MAX_HEADER_BYTES: '32768',
      },
    })
  })
  afterAll(() => app.close())

  const send = (requests: readonly object[], headers = {}) =>
    app.send('/odata/$batch', { method: 'POST', body: { requests }, headers })
  const run = async (requests: readonly object[], headers = {}): Promise<readonly Reply[]> => {
    const answer = await send(requests, headers)
    expect([answer.status, answer.headers['content-type']], answer.text).toEqual([200, 'application/json'])
    return (answer.json as { readonly responses: readonly Reply[] }).responses
  }
  const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status)
  const price = async (key = '') => (await app.send(`/odata/Property('${key}')/ListPrice/$value`)).text
  const patch = (id: string, key: string | undefined, body: object, more = {}) => ({
    id,
    method: 'PATCH',
    url: `Property('${key}')`,
    body: { ChangedByMemberKey: 'M1', ...body },
    ...more,
  })
  const get = (id: string, url: string, more = {}) => ({ id, method: 'get', url, ...more })
  const GO_ON = { Prefer: 'continue-on-error' }

  test('without content it is an empty batch', async () => {
    for (const headers of [{}, { 'Content-Type': 'application/json' }, { 'Content-Type': 'text/plain' }]) {
      const answer = await app.send('/odata/$batch', { method: 'POST', headers })
      expect([answer.status, answer.json]).toEqual([200, { responses: [] }])
    }
    for (const type of ['multipart/mixed; boundary=b', 'multipart/mixed']) {
      const answer = await app.send('/odata/$batch', {
        method: 'POST',
        headers: { 'Content-Type': type, 'Content-Length': '0' },
      })
      const [, boundary] =
        /^multipart\/mixed; boundary=(\S+)$/.exec(answer.headers['content-type'] ?? '') ?? []
      expect([answer.status, answer.text]).toEqual([200, `--${boundary}--\r\n`])
    }
    expect((await app.send('/odata/$batch', { method: 'POST', rawBody: ' ' })).status).toBe(415)
  })

  describe('in JSON', () => {
    test('answers each request like a single one', async () => {
      const [record, count, metadata, none] = await run([
        get('r', "Property('P01')?$select=City"),
        get('c', 'Property/$count'),
        get('m', '$metadata', { headers: { Accept: 'application/xml' } }),
        get('n', "Property('P01')/Media('NOPE')", { headers: { 'OData-MaxVersion': '4.0' } }),
      ])
      const alone = await app.send("/odata/Property('P01')?$select=City")
      expect(record).toMatchObject({
        id: 'r',
        status: 200,
        body: alone.json,
        headers: { etag: alone.headers['etag'], 'odata-version': '4.01' },
      })
      expect(count).toMatchObject({
        status: 200,
        body: (await app.send('/odata/Property/$count')).text,
        headers: { 'content-type': 'text/plain;charset=utf-8' },
      })
      expect(Buffer.from(metadata?.body, 'base64url').toString()).toContain('<edmx:Edmx')
      expect(none).toMatchObject({
        status: 404,
        body: { error: { code: '4004' } },
        headers: { 'odata-version': '4.0', 'content-language': 'en' },
      })
    })

    // biome-ignore format: table
    test.each([
      ["Property('P01')"], ["/Property('P01')"], ["/odata/Property('P01')"], ["http://elsewhere:99/odata/Property('P01')"], ['Property/P01/'], ["Property?$filter=ListingKey eq 'P01'"], ["Property?$filter=ListingKey eq 'P01' or City eq 'Zürich'"],
    ])('takes the URL %s', async url => {
      expect(JSON.stringify(await run([get('1', url)]))).toContain('"ListingKey":"P01"')
    })

    test('writes links that are valid outside of the batch', async () => {
      const [page] = await run([get('1', '/odata/Property?$top=2&$select=ListingKey')])
      expect(page?.body['@odata.context']).toBe(`${app.base}/odata/$metadata#Property(ListingKey)`)
      expect((await app.send(page?.body['@odata.nextLink'])).status).toBe(200)
    })

    test('keeps numbers exact in requests and responses', async () => {
      const raw = `{"requests":[{"id":"1","method":"post","url":"Property","body":${JSON.stringify({ ...DRAFT, ListPrice: 1 }).replace('1}', '123456789012.55}')}}]}`
      const answer = await app.send('/odata/$batch', {
        method: 'POST',
        rawBody: raw,
        headers: { 'Content-Type': 'application/json' },
      })
      expect(answer.text).toContain('"ListPrice":123456789012.55')
    })

    test('stops at the first error, unless it has continue-on-error', async () => {
      const requests = [
        get('1', "Property('P01')"),
        get('2', "Property('NOPE')"),
        get('3', "Property('P02')"),
        get('4', "Property('P03')", { dependsOn: ['2'] }),
      ]
      expect(statuses(await run(requests))).toEqual([200, 404, 424, 424])
      expect(statuses(await run(requests, GO_ON))).toEqual([200, 404, 200, 424])
      expect(statuses(await run(requests, { Prefer: 'odata.continue-on-error=false' }))).toEqual([
        200, 404, 424, 424,
      ])
      expect((await send(requests, GO_ON)).headers['preference-applied']).toBe('continue-on-error=true')
    })

    test('can refer to a created record, and to an ETag', async () => {
      const replies = await run([
        { id: 'new', method: 'POST', url: 'Property', body: DRAFT },
        patch('change', '', { City: 'Reffield' }, { url: '$new', headers: { 'If-Match': '$new' } }),
        get('read', '$new/City/$value', { dependsOn: ['new'] }),
        patch('stale', '', { City: 'Other' }, { url: '/$change', headers: { 'If-Match': '$new' } }),
        { id: 'gone', method: 'DELETE', url: '$stale' },
      ])
      expect(statuses(replies)).toEqual([201, 200, 200, 412, 424])
      expect(replies[2]?.body).toBe('Reffield')
      expect(statuses(await run([get('1', '$nothing/Media')]))).toEqual([400])
      expect(statuses(await run([get('1', "Property('P01')", { headers: { 'If-Match': '$0' } })]))).toEqual([
        400,
      ])
    })

    test('writes an atomicity group in one transaction', async () => {
      const [a, b] = await createDrafts(app, 'Groupton', [{ ListPrice: 5 }, { ListPrice: 6 }])
      const group = { atomicityGroup: 'g' }
      const replies = await run([
        { id: 'n', method: 'POST', url: 'Property', body: { ...DRAFT, ListPrice: 1 }, ...group },
        patch('x', b, { ListPrice: 7 }, group),
        patch('y', a, { ListPrice: 8 }, group),
        patch('z', '', { ListPrice: 9 }, { ...group, url: '$n', headers: { 'If-Match': '$n' } }),
        get('r', '$n?$select=ListPrice', { dependsOn: ['g'] }),
      ])
      expect(statuses(replies)).toEqual([201, 200, 200, 200, 200])
      expect(replies.map(reply => reply.atomicityGroup)).toEqual(['g', 'g', 'g', 'g', undefined])
      expect([await price(b), await price(a), replies[4]?.body.ListPrice]).toEqual(['7', '8', 9])
    })

    // biome-ignore format: table
    test.each([
      ['a fault of the body', { method: 'PATCH', url: "Property('P19')", body: { StandardStatus: 'Nonsense', ChangedByMemberKey: 'M1' } }, 400],
      ['a record that is not there', { method: 'DELETE', url: "Property('NOPE')" }, 404],
      ['a stale ETag', { method: 'DELETE', url: "Property('P19')", headers: { 'If-Match': 'W/"0"' } }, 412],
      ['a reading', { method: 'GET', url: "Property('P19')" }, 400],
      ['a reading by POST', { method: 'POST', url: 'Property/$query', headers: { 'Content-Type': 'text/plain' }, body: '$top=1' }, 400],
      ['a batch', { method: 'POST', url: '$batch', body: { requests: [] } }, 400],
      ['a URL that is none', { method: 'DELETE', url: 'Property(' }, 400],
      ['a reference to nothing', { method: 'DELETE', url: '$nothing' }, 400],
      ['a token that is none', { method: 'DELETE', url: "Property('P19')", headers: { Authorization: 'Bearer x' } }, 401],
    ])('rolls back a group after %s', async (_, fault, status) => {
      const [key] = await createDrafts(app, 'Backton', [{ ListPrice: 5 }])
      const count = (await app.send('/odata/Property/$count')).text
      const group = { atomicityGroup: 'g' }
      const before = [patch('a', key, { ListPrice: 7 }, group), { id: 'b', method: 'POST', url: 'Property', body: DRAFT, ...group }]
      const replies = await run([...before, { id: 'c', ...fault, ...group }, patch('d', key, { ListPrice: 8 }, group), patch('e', key, { ListPrice: 9 }, { dependsOn: ['g'] })], GO_ON)
      expect(statuses(replies)).toEqual([424, 424, status, 424, 424])
      expect([await price(key), (await app.send('/odata/Property/$count')).text]).toEqual(['5', count])
    })

    test('checks the permissions of each request separately', async () => {
      const reader = `Bearer ${app.tokenFor({ scopes: ['listings:read'] })}`
      const [key] = await createDrafts(app, 'Ownton', [{ ListPrice: 5 }])
      const replies = await run([
        get('1', "Property('P01')", { headers: { authorization: reader } }),
        patch('2', key, { ListPrice: 6 }, { headers: { Authorization: reader } }),
      ])
      expect(statuses(replies)).toEqual([200, 403])
      expect(statuses(await run([patch('1', key, { ListPrice: 6 })], { Authorization: reader }))).toEqual([
        403,
      ])
      expect((await send([get('1', "Property('P01')")], { Authorization: null })).status).toBe(401)
      expect(await price(key)).toBe('5')
    })

    test('passes on Accept and OData-MaxVersion, and no preference', async () => {
      const headers = {
        Accept: 'application/json;odata.metadata=none;IEEE754Compatible=true',
        'OData-MaxVersion': '4.0',
        Prefer: 'return=minimal',
      }
      const replies = await run(
        [
          get('1', "Property('P18')?$select=ListPrice"),
          { id: '2', method: 'POST', url: 'Property', body: DRAFT },
        ],
        headers,
      )
      expect(replies[0]).toMatchObject({ headers: { 'odata-version': '4.0' }, body: { ListPrice: '200000' } })
      expect(Object.keys(replies[0]?.body)).toEqual(['ListPrice'])
      expect(replies[1]?.status).toBe(201)
    })

    test('may be empty', async () => {
      expect(await run([])).toEqual([])
    })

    const one = get('1', "Property('P01')")
    // biome-ignore format: table
    test.each<readonly [object, number?]>([
      [[]], [{}], [{ requests: {} }], [{ requests: ['x'] }],
      [{ requests: [{ ...one, id: 1 }] }], [{ requests: [{ ...one, id: '' }] }], [{ requests: [{ id: '1', method: 'GET' }] }], [{ requests: [{ id: '1', url: 'Property' }] }],
      [{ requests: [{ ...one, method: 'MERGE' }] }], [{ requests: [{ ...one, headers: [] }] }], [{ requests: [{ ...one, headers: { a: 1 } }] }], [{ requests: [{ ...one, headers: { a: 'x\ny' } }] }],
      [{ requests: [one, one] }], [{ requests: [{ ...one, dependsOn: '1' }] }], [{ requests: [{ ...one, dependsOn: ['1'] }] }], [{ requests: [{ ...one, dependsOn: ['2'] }, get('2', 'Property')] }],
      [{ requests: [{ ...one, atomicityGroup: 'g' }, get('2', 'Property'), { ...one, id: '3', atomicityGroup: 'g' }] }], [{ requests: [{ ...one, atomicityGroup: '1' }] }],
      [{ requests: [{ ...one, atomicityGroup: 'g', dependsOn: ['g'] }] }], [{ requests: [get('g', 'Property'), { ...one, atomicityGroup: 'g' }] }],
      [{ requests: [{ ...one, if: '$0' }] }, 501],
      [{ requests: Array.from({ length: 21 }, (_, i) => get(String(i), 'Property')) }], [{ requests: [get('1', `x?${'y'.repeat(70_000)}`)] }, 413],
    ])('is refused as a whole (%#)', async (body, status = 400) => {
      const answer = await app.send('/odata/$batch', { method: 'POST', body })
      expect([answer.status, answer.json], answer.text).toMatchObject([status, { error: { details: [] } }])
    })

    // biome-ignore format: table
    test.each([
      ['$batch', { method: 'POST', body: { requests: [] } }, 400], ['$batch', { method: 'GET' }, 405], ['Property', { method: 'DELETE' }, 405],
      ['Property', { method: 'POST' }, 400], ['Property', { method: 'POST', body: [] }, 400], ['Property', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }, 415],
      [`Property?$filter=${'x'.repeat(17_000)}`, { method: 'GET' }, 414], ['Property', { method: 'GET', headers: { 'odata-maxversion': '3.0' } }, 400],  ['%zz', { method: 'GET' }, 400], ['Property', { method: 'GET', headers: { isolation: 'snapshot' } }, 412],
    ])('refuses a request alone: %s (%#)', async (url, request, status) => {
      expect(statuses(await run([{ id: '1', url, ...request }, get('2', "Property('P01')")], GO_ON))).toEqual([status, 200])
    })

    test('refuses the paths that the service refuses outside of a batch', async () => {
      const urls = [
        `Property('${'x'.repeat(33_000)}')`,
        `Property${'/$filter(true)'.repeat(2000)}`,
        `Property${'/'.repeat(32_000)}`,
      ]
      const requests = urls.map((url, i) => get(String(i), url))
      for (const [i, status] of [414, 400, 200].entries())
        expect(statuses(await run(requests.slice(i, i + 1)))).toEqual([status])
    })

    test('takes a query in a body', async () => {
      const [reply] = await run([
        {
          id: '1',
          method: 'POST',
          url: 'Property/$query',
          headers: { 'content-type': 'text/plain' },
          body: "$filter=City eq 'Vail'&$count=true&$top=0",
        },
      ])
      expect(reply).toMatchObject({ status: 200, body: { '@odata.count': 3 } })
    })

    test('groups that write the same records in different orders do not deadlock', async () => {
      const keys = await createDrafts(app, 'Circle', [{}, {}, {}, {}])
      const groupOf = (order: readonly string[], ListPrice: number) =>
        order.map((key, i) => patch(`${i}`, key, { ListPrice }, { atomicityGroup: 'g' }))
      const runs = Array.from({ length: 8 }, (_, n) =>
        run(groupOf(n % 2 === 0 ? keys : [...keys].reverse(), n + 1)),
      )
      const single = keys.map(key =>
        app.send(`/odata/Property('${key}')`, {
          method: 'PATCH',
          body: { City: 'Circle', ChangedByMemberKey: 'M1' },
        }),
      )
      expect(new Set((await Promise.all(runs)).flatMap(statuses))).toEqual(new Set([200]))
      expect(new Set((await Promise.all(single)).map(answer => answer.status))).toEqual(new Set([200]))
      expect(new Set(await Promise.all(keys.map(price))).size).toBe(1)
    })
  })

  describe('as multipart', () => {
    const post = (rawBody: string, headers = {}) =>
      app.send('/odata/$batch', {
        method: 'POST',
        rawBody,
        headers: { 'Content-Type': 'multipart/mixed; boundary=b', Accept: 'application/json', ...headers },
      })
    const part = (lines: readonly string[], head: readonly string[] = []) =>
      ['Content-Type: application/http', 'Content-Transfer-Encoding: binary', ...head, '', ...lines].join(
        '\r\n',
      )
    const joined = (parts: readonly string[], boundary = 'b') =>
      `${parts.map(p => `--${boundary}\r\n${p}\r\n`).join('')}--${boundary}--\r\n`
    const changeSet = (parts: readonly string[]) =>
      `Content-Type: multipart/mixed; boundary=c\r\n\r\n${joined(parts, 'c')}`
    const writeTo = (method: string, url: string, body: object, id: string) =>
      part(
        [`${method} ${url} HTTP/1.1`, 'Content-Type: application/json', '', JSON.stringify(body)],
        [`Content-ID: ${id}`],
      )
    const found = (answer: TestResponse) =>
      [...answer.text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))

    test('answers in the form of the request', async () => {
      const answer = await post(
        joined([
          part(
            ["GET Property('P01')?$select=City HTTP/1.1", 'OData-MaxVersion: 4.0', '', ''],
            ['Content-ID: one'],
          ),
        ]),
      )
      const boundary = /^multipart\/mixed; boundary=(batchresponse_[\w-]+)$/.exec(
        answer.headers['content-type'] ?? '',
      )?.[1]
      expect(answer.text.split('\r\n')).toEqual([
        `--${boundary}`,
        'Content-Type: application/http',
        'Content-Transfer-Encoding: binary',
        'Content-ID: one',
        '',
        'HTTP/1.1 200 OK',
        'OData-Version: 4.0',
        'Content-Type: application/json;odata.metadata=minimal',
        expect.stringMatching(/^ETag: W\/"\d+"$/),
        '',
        expect.stringContaining('"City":'),
        `--${boundary}--`,
        '',
      ])
    })

    // biome-ignore format: table
    test.each([
      ['line feeds',                "--b\nContent-Type: application/http\n\nGET Property('P01') HTTP/1.1\n\n--b--"],
      ['no blanks behind colons',   "--b\r\nContent-Type:application/http\r\nContent-Transfer-Encoding:binary\r\n\r\nGET Property('P01') HTTP/1.1\r\nAccept:application/json\r\n\r\n\r\n--b--\r\nGroup ID: $auto"],
      ['blanks at ends of lines',   "--b \r\nContent-Type: application/http \r\nContent-Transfer-Encoding: binary \r\n\r\nGET Property('P01') HTTP/1.1 \r\n\r\n--b--"],
      ['blanks in the URL',         "--b\r\nContent-Type: application/http\r\n\r\nGET Property?$filter=ListingKey eq 'P01'&$top=1 HTTP/1.1\r\n\r\n--b--"],
      ['empty lines everywhere',    "\r\n--b\r\nContent-Type: application/http\r\n\r\n\r\n\r\nGET Property('P01') HTTP/1.1\r\n\r\n\r\n\r\n--b--"],
      ['no empty line at the end',  "--b\r\nContent-Type: application/http\r\n\r\nGET /Property('P01') HTTP/1.1\r\nAccept: application/json\r\n--b--"],
      ['no version',                "--b\r\nContent-Type: application/http; msgtype=request\r\n\r\nget /odata/Property('P01')\r\n\r\n--b--"],
      ['an absolute URL',           "--b\r\nContent-Type: application/http\r\n\r\nGET http://host/odata/Property('P01') HTTP/1.1\r\nHost: host\r\n\r\n--b--"],
    ])('takes %s', async (_, body) => {
      const answer = await post(body)
      expect([answer.status, found(answer)], answer.text).toEqual([200, [200]])
      expect(answer.text).toContain('"ListingKey":"P01"')
    })

    test('omits requests that were not executed', async () => {
      const body = joined(
        ['P01', 'NOPE', 'P02'].map(key => part([`GET Property('${key}') HTTP/1.1`, '', ''])),
      )
      expect(found(await post(body))).toEqual([200, 404])
      expect(found(await post(body, { Prefer: 'odata.continue-on-error' }))).toEqual([200, 404, 200])
    })

    test('writes a change set in one transaction, and answers it in one part', async () => {
      const created = writeTo('POST', 'Property', { ...DRAFT, City: 'Zürich' }, '1')
      const changed = writeTo('PATCH', '$1', { ListPrice: 5, ChangedByMemberKey: 'M1' }, '2')
      const answer = await post(
        joined([changeSet([created, changed]), part(['GET $1/City HTTP/1.1', '', ''])]),
      )
      expect(found(answer)).toEqual([201, 200, 200])
      expect(answer.text).toMatch(
        /Content-Type: multipart\/mixed; boundary=(changesetresponse_[\w-]+)\r\n\r\n--\1\r\n[\s\S]*Content-ID: 1\r\n[\s\S]*Content-ID: 2\r\n[\s\S]*"ListPrice":5[\s\S]*\r\n--\1--\r\n--batchresponse[\s\S]*"Zürich"/,
      )
    })

    test('answers a failed change set once', async () => {
      const [key] = await createDrafts(app, 'Setton', [{ ListPrice: 5 }])
      const [good, bad] = [
        { ListPrice: 6, ChangedByMemberKey: 'M1' },
        { ListPrice: -1, Nonsense: 1 },
      ]
      const answer = await post(
        joined([
          changeSet([
            writeTo('PATCH', `Property('${key}')`, good, '1'),
            writeTo('PATCH', `Property('${key}')`, bad, '2'),
          ]),
        ]),
      )
      expect([found(answer), answer.text.match(/Content-ID: .*/g), await price(key)]).toEqual([
        [400],
        ['Content-ID: 2'],
        '5',
      ])
      expect(answer.text).not.toContain('changesetresponse')
    })

    test('echoes a Content-ID of the request', async () => {
      const answer = await post(
        joined([
          changeSet([
            part([
              'POST Property HTTP/1.1',
              'Content-Id: 0',
              'Content-Type: application/json; charset=utf-8 ',
              '',
              JSON.stringify(DRAFT),
            ]),
          ]),
        ]),
      )
      expect([found(answer), answer.text.match(/Content-ID: .*/g)]).toEqual([[201], ['Content-ID: 0']])
    })

    test('may be empty', async () => {
      const answer = await post('--b--')
      expect([answer.status, answer.text]).toEqual([
        200,
        expect.stringMatching(/^--batchresponse_[\w-]+--\r\n$/),
      ])
    })

    const write = writeTo('POST', 'Property', DRAFT, '1')
    // biome-ignore format: table
    test.each([
      ['blanks',                       ' '],
      ['a batch that was cut off',     joined([write]).slice(0, -8)],
      ['a part without a type',        joined([write, "\r\nGET Property('P01') HTTP/1.1"])],
      ['a part of another type',       joined([write, 'Content-Type: application/json\r\n\r\n{}'])],
      ['an encoding',                  joined([write, part(['GET Property HTTP/1.1']).replace('binary', 'base64')])],
      ['no request line',              joined([write, part(['', ''])])],
      ['a request line without a URL', joined([write, part(['GET', ''])])],
      ['a header that is none',        joined([write, part(['GET Property HTTP/1.1', 'nonsense', '', ''])])],
      ['a set in a set',               joined([write, changeSet([changeSet([write])])])],
      ['a set without a boundary',     joined([write, 'Content-Type: multipart/mixed\r\n\r\n'])],
      ['a name twice in a set',        joined([changeSet([write, write])])],
      ['too many requests',            joined(Array.from({ length: 21 }, () => write))],
    ])('is refused as a whole for %s', async (_, body) => {
      const count = (await app.send('/odata/Property/$count')).text
      const answer = await post(body)
      expect([answer.status, answer.json], answer.text).toMatchObject([400, { error: { code: '2001' } }])
      expect((await app.send('/odata/Property/$count')).text).toBe(count)
    })

    // biome-ignore format: table
    test.each([
      [{ 'If-Match': '*' }, 400], [{ 'If-None-Match': '*' }, 400], [{ 'Content-Type': 'text/plain' }, 415], [{ 'Content-Type': null }, 415], [{ 'Content-Type': 'multipart/form-data; boundary=b' }, 415], [{ Authorization: null }, 401],
    ])('is refused under %o', async (headers, status) => {
      expect((await post(joined([write]), headers)).status).toBe(status)
    })
  })
})
