import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RequestOptions, startTestApp, type TestApp, type TestResponse } from '../../support/app.js'
import type { GraphQLErrorBody } from '../../support/clients/graphql-client.js'

const OLD = 'application/json'
const NEW = 'application/graphql-response+json'
const ORIGIN = 'https://app.example'

let app: TestApp
let limited: TestApp
beforeAll(async () => {
  app = await startTestApp({
    fixture: 'fixture.json',
    env: { CORS_ORIGINS: ORIGIN, MAX_QUERY_LENGTH: '2048', MAX_BODY_BYTES: '65536' },
  })
  limited = await startTestApp({ env: { RATE_LIMIT: '2', INTROSPECTION: 'off', GRAPHIQL: 'off' } })
})
afterAll(async () => {
  await app.close()
  await limited.close()
})

const post = (body: unknown, parts: RequestOptions = {}, to = app) =>
  to.send('/graphql', { method: 'POST', body, ...parts })
const get = (parameters: Readonly<Record<string, string>>, parts: RequestOptions = {}) =>
  app.send(`/graphql?${new URLSearchParams(parameters)}`, parts)
const accepting = (Accept: string | null): RequestOptions => ({ headers: { Accept } })
const errorsOf = ({ json }: TestResponse) =>
  (json as { readonly errors?: readonly GraphQLErrorBody[] }).errors ?? []
const codeOf = (answer: TestResponse) => errorsOf(answer)[0]?.extensions.code
const HELLO = { query: '{ __typename }' }
const HELLO_DATA = { data: { __typename: 'Query' } }

describe('the media type of a response', () => {
  // biome-ignore format: table
  test.each([
    [null,                                         OLD],
    ['*/*',                                        OLD],
    [OLD,                                          OLD],
    [NEW,                                          NEW],
    ['application/graphql-response+json, application/json;q=0.9', NEW], // Apollo Client 4
    ['application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed', NEW], // urql
    ['application/json, multipart/mixed',          OLD], // GraphiQL
    ['text/html,application/xhtml+xml,*/*;q=0.8',  OLD], // a browser: no page
    ['application/json; charset=utf-8',            OLD], // machinebox/graphql in Go
    ['application/graphql-response+json; charset=utf-8', NEW],
  ])('Accept %s', async (accept, type) => {
    for (const answer of [await post(HELLO, accepting(accept)), await get(HELLO, accepting(accept))]) {
      expect([answer.status, answer.headers['content-type'], answer.json]).toEqual([200, `${type}; charset=utf-8`, HELLO_DATA])
      expect(answer.headers['cache-control']).toBe('private, no-cache')
      expect(answer.headers['vary']).toMatch(/Accept, Authorization/)
    }
  })

  test('an unsupported media type', async () => {
    const answer = await post(HELLO, accepting('text/html'))
    expect([answer.status, codeOf(answer), answer.headers['content-type']]).toEqual([
      406,
      'BAD_REQUEST',
      `${OLD}; charset=utf-8`,
    ])
  })
})

describe('the status', () => {
  // biome-ignore format: table
  test.each<readonly [name: string, body: unknown, code: string]>([
    ['a syntax error',            { query: '{' },                                   'GRAPHQL_PARSE_FAILED'],
    ['an unknown field',          { query: '{ nonsense }' },                        'GRAPHQL_VALIDATION_FAILED'],
    ['a variable of wrong type',  { query: 'query ($n: Int) { properties(first: $n) { totalCount } }', variables: { n: 'x' } }, 'BAD_USER_INPUT'],
    ['a missing variable',        { query: 'query ($k: String!) { property(ListingKey: $k) { City } }' }, 'BAD_USER_INPUT'],
    ['a hundred wrong values',    { query: 'query ($o: [PropertyOrder!]) { properties(orderBy: $o) { totalCount } }', variables: { o: Array(100).fill('x') } }, 'BAD_USER_INPUT'],
    ['an unknown operation',      { query: 'query A { __typename } query B { __typename }', operationName: 'C' }, 'OPERATION_RESOLUTION_FAILURE'],
    ['no operation named',        { query: 'query A { __typename } query B { __typename }' }, 'OPERATION_RESOLUTION_FAILURE'],
    ['too much',                  { query: '{ properties(first: 100000) { totalCount } }' }, 'BAD_USER_INPUT'],
  ])('%s: a well-formed request that is refused is 400, and 200 with the older media type', async (_, body, code) => {
    const [modern, old] = [await post(body, accepting(NEW)), await post(body, accepting(OLD))]
    expect([modern.status, codeOf(modern), old.status, codeOf(old)]).toEqual([400, code, 200, code])
    for (const { json } of [modern, old]) expect(json).not.toHaveProperty('data')
  })

  // biome-ignore format: table
  test.each<readonly [name: string, parts: RequestOptions]>([
    ['no JSON',          { rawBody: '{"query":', headers: { 'Content-Type': OLD } }],
    ['not UTF-8',        { rawBody: '', headers: { 'Content-Type': OLD } }],
    ['no query',         { body: { variables: {} } }],
    ['an empty query',   { body: { query: '' } }],
    ['no object',        { body: 'text' }],
    ['null',             { body: null }],
    ['a batch',          { body: [HELLO, HELLO] }],
    ['variables as text', { body: { ...HELLO, variables: '{}' } }],
    ['a member twice',   { rawBody: '{"query":"{a}","query":"{b}"}', headers: { 'Content-Type': OLD } }],
    ['a wrong hash',     { body: { ...HELLO, extensions: { persistedQuery: { version: 1, sha256Hash: 'x' } } } }],
    ['an odd hash',      { body: { extensions: { persistedQuery: { version: 2, sha256Hash: {} } } } }],
  ])('%s: a malformed request is 400 with both', async (_, parts) => {
    for (const type of [NEW, OLD]) {
      const answer = await app.send('/graphql', { method: 'POST', ...parts, headers: { ...parts.headers, Accept: type } })
      expect([answer.status, codeOf(answer), answer.headers['content-type']]).toEqual([400, 'BAD_REQUEST', `${type}; charset=utf-8`])
    }
  })

  test('errors of fields do not change it', async () => {
    const answer = await post({ query: '{ properties(where: "City eq") { totalCount } }' }, accepting(NEW))
    expect([answer.status, codeOf(answer)]).toEqual([200, 'BAD_USER_INPUT'])
    expect(errorsOf(answer)[0]).toMatchObject({
      path: ['properties'],
      extensions: { serviceCode: '2001', target: 'where', details: [] },
    })
  })

  test('a token without the scope', async () => {
    const Authorization = `Bearer ${app.tokenFor({ scopes: [] })}`
    expect(
      codeOf(await post({ query: '{ properties { totalCount } }' }, { headers: { Authorization } })),
    ).toBe('FORBIDDEN')
  })
})

describe('tokens', () => {
  test('a request without a token gets no data', async () => {
    for (const [method, target] of [['POST', '/graphql'], ['GET', '/graphql?query={__typename}'], ['DELETE', '/graphql'], ['GET', '/graphql/schema.graphql'], ['GET', '/graphql/nothing']] as const) {
      const answer = await app.send(target, { method, headers: { Authorization: null, Accept: NEW } })
      expect([answer.status, codeOf(answer), answer.headers['www-authenticate']]).toEqual([401, 'UNAUTHENTICATED', 'Bearer realm="listings", Basic realm="listings", charset="UTF-8"'])
      expect([answer.headers['content-type'], answer.headers['odata-version']]).toEqual([`${NEW}; charset=utf-8`, undefined])
    }
  }) // biome-ignore format: one table

  test('an expired token', async () => {
    const answer = await post(HELLO, {
      headers: { Authorization: `Bearer ${app.tokenFor({ expiresIn: -600 })}` },
    })
    expect([answer.status, errorsOf(answer)[0]?.extensions, answer.headers['www-authenticate']]).toEqual([
      401,
      { code: 'UNAUTHENTICATED', serviceCode: '3002', details: [] },
      expect.stringContaining('error="invalid_token"'),
    ])
  })
})

describe('HTTP requests', () => {
  test('methods', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await app.send('/graphql', { method })
      expect([method, answer.status, answer.headers['allow']]).toEqual([method, 405, 'GET, HEAD, POST'])
    }
    const mutation = await get({ query: 'mutation { deleteProperty(ListingKey: "L1") { id } }' })
    expect([mutation.status, mutation.headers['allow'], codeOf(mutation)]).toEqual([
      405,
      'POST',
      'BAD_REQUEST',
    ])
  })

  test('HEAD is answered as GET, without a body', async () => {
    const mutation = 'mutation { deleteProperty(ListingKey: "P01") { id } }'
    for (const Accept of [OLD, NEW, 'text/event-stream'])
      for (const query of [
        '{ __typename }',
        '{ nothing }',
        mutation,
        '{ properties(where: "City eq") { totalCount } }',
      ]) {
        const [byGet, byHead] = [
          await get({ query }, accepting(Accept)),
          await get({ query }, { ...accepting(Accept), method: 'HEAD' }),
        ]
        expect([query, byHead.status, byHead.text]).toEqual([query, byGet.status, ''])
        for (const name of ['content-type', 'cache-control', 'vary', 'allow'])
          expect([name, byHead.headers[name]]).toEqual([name, byGet.headers[name]])
      }
    const stream = await get(
      { query: 'subscription { propertyChanged { ListingKey } }' },
      { ...accepting('text/event-stream'), method: 'HEAD' },
    )
    expect([stream.status, stream.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect((await app.send("/odata/Property('P01')")).status).toBe(200)
  })

  test('other paths', async () => {
    const answer = await app.send('/graphql/nothing')
    expect([answer.status, codeOf(answer)]).toEqual([404, 'NOT_FOUND'])
    expect((await app.send('/GraphQL')).status).toBe(404)
  })

  test('bodies of another type or of too many bytes, and long URLs', async () => {
    const form = await app.send('/graphql', { method: 'POST', rawBody: 'query={__typename}', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } })
    const bare = await app.send('/graphql', { method: 'POST', rawBody: JSON.stringify(HELLO) })
    const large = await post({ query: `{ __typename } # ${'x'.repeat(70_000)}` })
    const long = await get({ query: `{ __typename } # ${'x'.repeat(3000)}` })
    for (const [answer, status, code] of [[form, 415, '4015'], [bare, 415, '4015'], [large, 413, '4013'], [long, 414, '4014']] as const)
      expect([answer.status, errorsOf(answer)[0]?.extensions]).toEqual([status, expect.objectContaining({ code: 'BAD_REQUEST', serviceCode: code })])
  }) // biome-ignore format: one table

  test('a limit of requests', async () => {
    const statuses = [
      await post(HELLO, {}, limited),
      await post(HELLO, {}, limited),
      await post(HELLO, {}, limited),
    ].map(answer => answer.status)
    expect(statuses).toEqual([200, 200, 429])
    const last = await post(HELLO, {}, limited)
    expect([errorsOf(last)[0]?.extensions.serviceCode, last.headers['retry-after']]).toEqual([
      '4029',
      expect.stringMatching(/^\d+$/),
    ])
    expect(last.headers['content-type']).toBe(`${OLD}; charset=utf-8`)
  })

  test('requests of a page of another origin, as Apollo Client and urql send them', async () => {
    for (const [method, names] of [['POST', 'accept,authorization,content-type'], ['GET', 'authorization'], ['POST', 'apollographql-client-name,authorization,content-type,x-apollo-operation-name']] as const) {
      const headers = { Origin: ORIGIN, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': names, Authorization: null }
      const preflight = await app.send('/graphql', { method: 'OPTIONS', headers })
      expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([204, names])
      expect(preflight.headers['access-control-allow-methods']).toContain(method)
    }
    const refused = await post(HELLO, { headers: { Origin: ORIGIN, Authorization: null } })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, ORIGIN])
  }) // biome-ignore format: one table

  test('GET without a Content-Type, as urql sends it', async () => {
    const query = 'query ($k: String!) { property(ListingKey: $k) { ListingKey } }'
    expect((await get({ query, variables: '{"k":"nothing"}' })).json).toEqual({ data: { property: null } })
    expect(codeOf(await get({ query, variables: 'nonsense' }))).toBe('BAD_REQUEST')
  })

  test('numbers of variables in all their digits', async () => {
    const query = 'query ($p: Decimal) { properties(filter: { ListPrice: { eq: $p } }) { totalCount } }'
    for (const number of ['12345678901234567.89', '1e2', '0.10', '450000'])
      expect((await app.send('/graphql', { method: 'POST', rawBody: `{"query":${JSON.stringify(query)},"variables":{"p":${number}}}`, headers: { 'Content-Type': OLD } })).json).toHaveProperty('data')
  }) // biome-ignore format: one request
})

describe('persisted queries', () => {
  const query = 'query Persisted { __typename }'
  const extensions = {
    persistedQuery: { version: 1, sha256Hash: createHash('sha256').update(query).digest('hex') },
  }

  test('are requested once, then found by their hash', async () => {
    const unknown = await post({ extensions }, accepting(NEW))
    expect([unknown.status, codeOf(unknown)]).toEqual([200, 'PERSISTED_QUERY_NOT_FOUND'])
    expect((await post({ query, extensions })).json).toEqual(HELLO_DATA)
    expect((await post({ extensions })).json).toEqual(HELLO_DATA)
    expect((await get({ extensions: JSON.stringify(extensions) })).json).toEqual(HELLO_DATA)
  })

  test('a refused document is not cached', async () => {
    const large = `{ ${Array.from({ length: 200 }, (_, i) => `k${i}: __typename`).join(' ')} }`
    const hashed = {
      persistedQuery: { version: 1, sha256Hash: createHash('sha256').update(large).digest('hex') },
    }
    expect(codeOf(await post({ query: large, extensions: hashed }))).toBe('BAD_USER_INPUT')
    expect(codeOf(await post({ extensions: hashed }))).toBe('PERSISTED_QUERY_NOT_FOUND')
  })
})

/** GraphQL specification of September 2025, 3.13. */
const DIRECTIVE_LOCATIONS = [
  'QUERY', 'MUTATION', 'SUBSCRIPTION', 'FIELD', 'FRAGMENT_DEFINITION', 'FRAGMENT_SPREAD', 'INLINE_FRAGMENT',
  'VARIABLE_DEFINITION', 'SCHEMA', 'SCALAR', 'OBJECT', 'FIELD_DEFINITION', 'ARGUMENT_DEFINITION', 'INTERFACE',
  'UNION', 'ENUM', 'ENUM_VALUE', 'INPUT_OBJECT', 'INPUT_FIELD_DEFINITION',
] // biome-ignore format: as many to a line as fit

interface Introspected {
  readonly __schema: {
    readonly directives: readonly { readonly name: string; readonly locations: readonly string[] }[]
  }
  readonly __type: { readonly enumValues: readonly { readonly name: string }[] }
}

describe('the schema', () => {
  test('as text', async () => {
    const answer = await app.send('/graphql/schema.graphql')
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(answer.text).toMatch(/^type Query \{/m)
    expect((await app.send('/graphql/schema.graphql', { method: 'HEAD' })).status).toBe(200)
    expect((await app.send('/graphql/schema.graphql', { method: 'POST' })).headers['allow']).toBe('GET, HEAD')
  })

  test('introspection lists the locations of directives that the specification of September 2025 has', async () => {
    const { json } = await post({
      query:
        '{ __schema { directives { name locations } } __type(name: "__DirectiveLocation") { enumValues { name } } }',
    })
    const { __schema, __type } = (json as { data: Introspected }).data
    expect(__type.enumValues.map(({ name }) => name)).toEqual(DIRECTIVE_LOCATIONS)
    expect(__schema.directives.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['include', 'skip', 'deprecated', 'specifiedBy', 'oneOf']),
    )
    for (const { name, locations } of __schema.directives)
      for (const location of locations) expect(DIRECTIVE_LOCATIONS, name).toContain(location)
  })

  test('is absent without introspection, and the front page does not list it', async () => {
    const app = await startTestApp({ env: { INTROSPECTION: 'off', GRAPHIQL: 'off', FRONT_PAGE: 'on' } })
    const answer = await app.send('/graphql/schema.graphql')
    expect([answer.status, codeOf(answer)]).toEqual([404, 'NOT_FOUND'])
    const page = await app.send('/')
    expect([
      page.text.includes('href="/graphql"'),
      page.text.includes('schema.graphql'),
      page.text.includes('graphiql'),
    ]).toEqual([true, false, false])
    expect((await app.send('/graphiql')).status).toBe(404)
    await app.close()
  })
})
