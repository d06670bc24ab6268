import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RequestOptions, startTestApp, type TestApp, type TestResponse } from '../../support/app.js'
import {
  type GraphQLErrorBody,
  postQuery,
  queryError,
  withGrant,
} from '../../support/clients/graphql-client.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startCluster } from '../../support/postgres.js'
import { serverEnvironment, startService } from '../../support/process.js'

const PRODUCTION = { NODE_ENV: 'production', DATABASE_URL: 'postgresql://not/used' }
/** Options of the service. */
const INNER =
  /stack|exception|prisma|postgres|pglite|\bselect\b.*\bfrom\b|node_modules|\bat \S+ \(|\.(?:ts|js):\d|ECONN/i

const errorsOf = ({ json }: TestResponse) =>
  (json as { readonly errors?: readonly GraphQLErrorBody[] }).errors ?? []

describe.each(DATABASE_KINDS)('traps of GraphQL on the %s database', kind => {
  let app: TestApp
  let production: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
    production = await startTestApp({ kind, fixture: 'fixture.json', env: PRODUCTION })
  })
  afterAll(async () => {
    await app.close()
    await production.close()
  })

  test('GQL-10 the schema is hidden in production', async () => {
    for (const query of ['{ __schema { types { name } } }', '{ __type(name: "Property") { name } }'])
      expect(await postQuery(production, query)).toMatchObject({
        status: 400,
        errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }],
      })
    // biome-ignore format: table
    const guesses: readonly (readonly [query: string, variables?: Readonly<Record<string, unknown>>])[] = [
      ['{ propertis { x } }'],
      ['{ properties(frist: 1) { totalCount } }'],
      ['{ properties { totalCuont } }'],
      ['{ properties }'],
      ['{ properties(orderBy: { ListPrice: ASCC }) { totalCount } }'],
      ['{ properties(filter: { Ctiy: { eq: "x" } }) { totalCount } }'],
      ['query ($f: PropertyFiltr) { properties(filter: $f) { totalCount } }'],
      ['query ($f: PropertyFilter) { properties(filter: $f) { totalCount } }', { f: { Ctiy: { eq: 'x' } } }],
      ['query ($o: [PropertyOrder!]) { properties(orderBy: $o) { totalCount } }', { o: [{ ListPrice: 'ASCC' }] }],
      ['{ properties(where: "ListPrise eq null") { totalCount } }'],
      ['{ properties(where: "lenght(City) eq 1") { totalCount } }'],
      ['{ ... on Proprety { City } }'],
    ]
    for (const [query, variables] of guesses) {
      const [hidden, open] = [
        await postQuery(production, query, variables),
        await postQuery(app, query, variables),
      ]
      expect([query, hidden.errors?.length]).toEqual([query, open.errors?.length])
      expect(JSON.stringify(hidden)).not.toMatch(/did you mean/i)
      expect([query, JSON.stringify(open)]).toEqual([query, expect.stringMatching(/did you mean/i)])
    }
    const inBrowser: RequestOptions = {
      headers: { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' },
    }
    for (const target of ['/graphql', '/graphql?query={__typename}']) {
      const page = await production.send(target, inBrowser)
      expect([page.headers['content-type'], /<html/i.test(page.text)]).toEqual([
        'application/json; charset=utf-8',
        false,
      ])
    }
    expect([
      (await production.send('/graphiql')).status,
      (await production.send('/graphql/schema.graphql')).status,
    ]).toEqual([404, 404])
    const opened = await startTestApp({ kind, env: { ...PRODUCTION, INTROSPECTION: 'on' } })
    expect(await postQuery(opened, '{ __type(name: "Property") { name } }')).toMatchObject({
      data: { __type: { name: 'Property' } },
    })
    await opened.close()
  })

  test('GQL-11 costly operations', async () => {
    const times = (count: number, make: (i: number) => string) =>
      Array.from({ length: count }, (_, i) => make(i)).join(' ')
    const doubling = times(
      30,
      i => `fragment F${i} on Query { a: node(id: "x") { id } ...F${i + 1} ...F${i + 1} }`,
    )
    const costly = [
      `{ ${times(1000, i => `k${i}: properties(first: 100) { nodes { ListingKey } }`)} }`,
      `{ offices { nodes ${'{ ListingKey ListAgent '.repeat(18)} { id } ${'}'.repeat(18)} } }`,
      `{ ...F0 } ${doubling} fragment F30 on Query { __typename }`,
      `{ properties { totalCount ${'@skip(if: false) '.repeat(10_000)} } }`,
      '{ properties(first: 100000) { nodes { ListingKey } } }',
      `{ properties(first: 1) { totalCount } } # ${'x'.repeat(1_000_000)}`,
    ]
    for (const query of costly) {
      const { errors, status } = await postQuery(app, query)
      expect([query.slice(0, 50), status, errors?.[0]?.extensions]).toEqual([
        query.slice(0, 50),
        400,
        expect.objectContaining({ code: 'BAD_USER_INPUT', serviceCode: '2018' }),
      ])
    }
  })

  test('GQL-13 status codes and error codes', async () => {
    const UPDATE =
      'mutation { updateProperty(ListingKey: "P38", input: { StandardStatus: "Nonsense", ChangedByMemberKey: "M1" }) { id } }'
    const KEY = 'query ($k: String!) { property(ListingKey: $k) { City } }'
    // biome-ignore format: table
    const refused: readonly (readonly [query: string, variables: Readonly<Record<string, unknown>>, code: string])[] = [
      ['{ properties(', {}, 'GRAPHQL_PARSE_FAILED'],
      ['{ nonsense }', {}, 'GRAPHQL_VALIDATION_FAILED'],
      ['query ($first: Int) { properties(first: $first) { totalCount } }', { first: 'x' }, 'BAD_USER_INPUT'],
      [KEY, {}, 'BAD_USER_INPUT'],
    ]
    for (const [query, variables, code] of refused)
      for (const [Accept, status] of [['application/graphql-response+json', 400], ['application/json', 200]] as const)
        expect(await postQuery(app, query, variables, { headers: { Accept } })).toEqual({ status, errors: [expect.objectContaining({ extensions: expect.objectContaining({ code }) })] }) // biome-ignore format: one table
    expect(await postQuery(app, KEY, { k: 'nothing' })).toEqual({ status: 200, data: { property: null } })
    const fault = await queryError(app, UPDATE)
    expect(fault).toMatchObject({
      path: ['updateProperty'],
      extensions: {
        code: 'BAD_USER_INPUT',
        serviceCode: '1111',
        details: [{ code: '1105', target: 'StandardStatus' }],
      },
    })
    for (const Accept of ['application/graphql-response+json', 'application/json']) {
      const expired = await app.send('/graphql', {
        method: 'POST',
        body: { query: KEY },
        headers: { Accept, ...withGrant(app, { expiresIn: -600 }).headers },
      })
      expect([expired.status, errorsOf(expired)[0]?.extensions.code]).toEqual([401, 'UNAUTHENTICATED'])
    }
  })

  test('GQL-15 no stack traces', async () => {
    const body = async (rawBody: string) =>
      production.send('/graphql', {
        method: 'POST',
        rawBody,
        headers: { 'Content-Type': 'application/json' },
      })
    for (const answer of [
      await body('{"query":'),
      await body('{"query":"{ nonsense }"}'),
      await body('{"query":"{"}'),
      await body('[]'),
    ]) {
      expect(errorsOf(answer)).not.toEqual([])
      expect(answer.text).not.toMatch(INNER)
      for (const { extensions } of errorsOf(answer))
        expect(Object.keys(extensions).filter(name => /stack|exception/.test(name))).toEqual([])
    }
    const fault = await startTestApp({ kind, env: PRODUCTION })
    await fault.database.prisma.$executeRawUnsafe('alter table "Property" rename to "Elsewhere"')
    const answer = await fault.send('/graphql', {
      method: 'POST',
      body: { query: '{ properties(first: 1) { nodes { ListingKey } } }' },
    })
    const [error] = errorsOf(answer)
    expect(error?.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', serviceCode: '5000', details: [] })
    expect(error?.message).toContain(answer.headers['x-request-id'])
    expect(answer.text).not.toMatch(INNER)
    await fault.close()
  })
})

describe.runIf(DATABASE_KINDS.includes('server'))('a database that is away', () => {
  test('GQL-15 is reported without details', { timeout: 60_000 }, async () => {
    const cluster = await startCluster()
    if (!cluster) throw new Error('There is no PostgreSQL on this machine')
    const service = await startService(serverEnvironment(cluster.url('postgres')), {
      POOL_WAIT_MS: '1000',
      NODE_ENV: 'production',
    })
    const body = { query: '{ properties(first: 1) { nodes { ListingKey } } }' }
    expect((await service.send('/graphql', { method: 'POST', body })).json).toEqual({
      data: { properties: { nodes: [] } },
    })
    await cluster.shutdownFast()
    const answer = await service.send('/graphql', { method: 'POST', body })
    expect(errorsOf(answer)[0]?.extensions).toEqual({ code: 'UNAVAILABLE', serviceCode: '5003', details: [] })
    expect(answer.text).not.toMatch(INNER)
    await service.stop('SIGTERM')
    await cluster.stop()
  })
})
