import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  printSchema,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rowsOf } from '../support/assertions.js'
import type { GraphQLErrorBody } from '../support/clients/graphql-client.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  basic,
  type PartnerApp,
  randomPartOf,
  startPartnerApp,
  type TestClient,
} from '../support/partners.js'

const SDL = readFileSync(new URL('../../schema/admin.graphql', import.meta.url), 'utf8')
const LISTING_SDL = readFileSync(new URL('../../schema/listing.graphql', import.meta.url), 'utf8')
const ROOT_FIELDS = ['clients', 'clientSecrets', 'feeds', 'clientUsages', 'auditEntries']
/** `ListingKey` is a field of listings, `ClientSecret` one of administration. */
const LISTINGS = /ListingKey|PropertyFilter|type (?:Property|Member|Office|EntityEvent)\b/
const ADMINISTRATION = /ClientSecret|AuditEntry|ClientUsage|type (?:Client|Feed)\b/
const LONG = { timeout: 180_000 }
type Headers = Readonly<Record<string, string | null>>

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly GraphQLErrorBody[]
}

describe.each(DATABASE_KINDS)('reads at /admin/graphql on the %s database', LONG, kind => {
  let app: PartnerApp
  let client: TestClient
  let admin: Headers
  beforeAll(async () => {
    app = await startPartnerApp({ kind, fixture: 'fixture.json', env: { MAX_BODY_BYTES: '65536' } })
    admin = { Authorization: `Bearer ${app.tokenFor({ scopes: ['admin'], subject: 'ops-7' })}` }
    client = await app.addClient({ Name: 'Acme IDX', RowsPerDay: 2_000_000_000 })
    for (const Name of ['Beta', 'Gamma', 'Delta']) await app.clients.add({ Name })
    await app.database.withClient(connection =>
      connection.query(
        `insert into "admin"."ClientUsage" ("ClientId", "Day", "Requests", "LastUsedTimestamp") values ($1, '2026-01-02', 7, now())`,
        [client.id],
      ),
    )
    const feed = { FeedName: 'idx', Filter: `City eq 'Vail'` }
    const created = await app.send('/admin/odata/Feed', { method: 'POST', body: feed, headers: admin })
    expect(created.status, created.text).toBe(201)
  }, LONG.timeout)
  afterAll(() => app.close())

  const post = async (body: object, headers: Headers = admin, path = '/admin/graphql'): Promise<Answer> => {
    const Accept = 'application/graphql-response+json'
    const answer = await app.send(path, { method: 'POST', body, headers: { Accept, ...headers } })
    return { ...answer, ...(answer.json as object) }
  }
  const ask = (query: string, variables: object = {}, headers: Headers = admin) =>
    post({ query, variables }, headers)
  const read = async (query: string, variables: object = {}) => {
    const answer = await ask(query, variables)
    expect(answer.errors, answer.text).toBeUndefined()
    return answer.data ?? {}
  }
  const codesOf = ({ status, errors = [] }: Answer) => {
    const [first] = errors
    return [status, first?.extensions.code, first?.extensions.serviceCode]
  }

  test('every entity is read by its key, by its connection and by its id, with the values of OData', async () => {
    for (const [one, many, key, set] of [
      ['client', 'clients', 'ClientId', 'Client'],
      ['clientSecret', 'clientSecrets', 'SecretId', 'ClientSecret'],
      ['feed', 'feeds', 'FeedName', 'Feed'],
      ['clientUsage', 'clientUsages', 'ClientUsageKey', 'ClientUsage'],
      ['auditEntry', 'auditEntries', 'AuditId', 'AuditEntry'],
    ] as const) {
      const path = `/admin/odata/${set}?$orderby=${key}&$top=1`
      const [record] = rowsOf(await app.send(path, { headers: admin }))
      const { '@odata.etag': etag, ...fields } = record ?? {}
      // The service sets LastUsedTimestamp some time after a request.
      const names = Object.keys(fields).filter(name => !/@|LastUsedTimestamp/.test(name))
      expect(names.length, set).toBeGreaterThan(2)
      const selection = `id __typename ${etag === undefined ? '' : 'etag'} ${names.join(' ')}`
      const list = await read(
        `{ ${many}(first: 1, orderBy: [{ ${key}: ASC }]) { totalCount nodes { ${selection} } } }`,
      )
      const {
        nodes: [node],
        totalCount,
      } = list[many] as { nodes: readonly { readonly id: string }[]; totalCount: number }
      expect(totalCount).toBeGreaterThan(0)
      const expected = { __typename: set, ...(etag === undefined ? {} : { etag }) }
      expect(node).toMatchObject({
        ...expected,
        ...Object.fromEntries(names.map(name => [name, fields[name]])),
      })
      const again = await read(
        `query ($id: ID!) { node(id: $id) { ... on ${set} { ${selection} } } ${one}(${key}: ${JSON.stringify(fields[key])}) { ${selection} } }`,
        { id: node?.id },
      )
      expect(again).toEqual({ node, [one]: node })
    }
    expect(await read('{ client(ClientId: "nobody") { Name } node(id: "UHJvcGVydHk6UDAx") { id } }')).toEqual(
      {
        client: null,
        node: null,
      },
    )
  })

  test('filter, where, order, pages, navigations and counts are those of /graphql', async () => {
    const names = async (args: string) => {
      const { clients } = await read(`{ clients${args} { nodes { Name } } }`)
      return (clients as { nodes: readonly { Name: string }[] }).nodes.map(({ Name }) => Name)
    }
    expect(await names('(orderBy: [{ Name: DESC }])')).toEqual(['Gamma', 'Delta', 'Beta', 'Acme IDX'])
    expect(await names('(filter: { RowsPerDay: { gt: "1999999999" } })')).toEqual(['Acme IDX'])
    expect(await names('(filter: { Scopes: { any: { eq: "listings:read" } }, Name: { startswith: "B" } })')).toEqual(['Beta'])
    expect(await names(`(where: "Usage/any(u:u/Requests eq 7) or Name eq 'Delta'", orderBy: [{ Name: ASC }])`)).toEqual(['Acme IDX', 'Delta'])
    expect(await names('(filter: { Usage: { any: { Day: { ge: "2026-01-02" } } } })')).toEqual(['Acme IDX'])
    const page = `query ($after: String) { clients(first: 3, after: $after, orderBy: [{ Name: ASC }]) { edges { node { Name Secrets { SecretId } } } pageInfo { hasNextPage endCursor } } }`
    const { clients: first } = await read(page)
    expect(first).toMatchObject({
      edges: [{ node: { Name: 'Acme IDX', Secrets: [{ SecretId: client.secret.split('_')[0] }] } }, {}, {}],
      pageInfo: { hasNextPage: true },
    })
    const { endCursor } = (first as { pageInfo: { endCursor: string } }).pageInfo
    expect(await read(page, { after: endCursor })).toMatchObject({
      clients: { edges: [{ node: { Name: 'Gamma' } }], pageInfo: { hasNextPage: false } },
    })
    const related = `{ clientUsages(filter: { Day: { eq: "2026-01-02" }, Client: { Name: { eq: "Acme IDX" } } }) { nodes { Requests Client { Name } } } }`
    expect(await read(related)).toEqual({
      clientUsages: { nodes: [{ Requests: 7, Client: { Name: 'Acme IDX' } }] },
    })
  }) // biome-ignore format: one filter a line

  test('CLI-09 every request needs the scope admin; other tokens, clients and Basic get no data', async () => {
    const staff = { Authorization: `Bearer ${app.tokenFor()}` }
    const reader = { Authorization: `Bearer ${await app.tokenOf(client)}` }
    const byPassword = { Authorization: basic(client) }
    for (const headers of [staff, reader, byPassword]) {
      for (const query of ['{ __typename }', '{ __schema { types { name } } }', '{ nonsense }', 'mutation { deleteClient(ClientId: "x") { id } }'])
        expect(codesOf(await ask(query, {}, headers)), query).toEqual([403, 'FORBIDDEN', '3003'])
      for (const path of ['/admin/graphql', '/admin/graphql/schema.graphql', '/admin/graphql/nothing'])
        expect((await app.send(path, { headers })).status, path).toBe(403)
    }
    for (const path of ['/admin/graphql', '/admin/graphql/schema.graphql']) {
      const answer = await app.send(path, { headers: { Authorization: null } })
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, expect.stringContaining('Bearer')])
    }
    const both = { Authorization: `Bearer ${app.tokenFor({ scopes: ['admin', 'listings:read'] })}` }
    expect((await ask('{ clients { totalCount } }', {}, both)).data).toEqual({ clients: { totalCount: 4 } })
  }) // biome-ignore format: one row a query

  test('a client of the database with the scope admin reads with its token and with Basic', async () => {
    const operator = await app.addClient({ Name: 'Operator', Scopes: ['admin'] })
    for (const Authorization of [basic(operator), `Bearer ${await app.tokenOf(operator)}`]) {
      const { data } = await ask(`{ client(ClientId: "${operator.id}") { Name State } }`, {}, { Authorization })
      expect(data).toEqual({ client: { Name: 'Operator', State: 'Active' } })
      expect(codesOf(await post({ query: '{ properties { totalCount } }' }, { Authorization }, '/graphql'))).toEqual([200, 'FORBIDDEN', '3003'])
    }
    await app.clients.remove(operator.id)
  }) // biome-ignore format: one table

  test('CLI-09 neither schema has types of the other', async () => {
    const introspect = async (path: string, headers: Headers) => {
      const { data } = await post({ query: getIntrospectionQuery() }, headers, path)
      return printSchema(buildClientSchema(data as unknown as IntrospectionQuery)) // of an introspection
    }
    const staff = { Authorization: `Bearer ${app.tokenFor()}` }
    const [administration, listings] = [
      await introspect('/admin/graphql', admin),
      await introspect('/graphql', staff),
    ]
    for (const text of [administration, SDL]) expect(text).not.toMatch(LISTINGS)
    for (const text of [listings, LISTING_SDL]) expect(text).not.toMatch(ADMINISTRATION)
    const served = await app.send('/admin/graphql/schema.graphql', { headers: admin })
    expect(served.text).toBe(SDL)
    expect(Object.keys(buildSchema(SDL).getQueryType()?.getFields() ?? {})).toEqual(
      expect.arrayContaining(ROOT_FIELDS),
    )
  })

  test('CLI-09 a document that one endpoint has accepted is refused by the other, also by its hash', async () => {
    const staff = { Authorization: `Bearer ${app.tokenFor()}` }
    // The same text at both endpoints, which share a cache of documents.
    for (const [own, query] of [['/admin/graphql', '{ clients { totalCount } }'], ['/graphql', '{ properties { totalCount } }']] as const) {
      const sha256Hash = createHash('sha256').update(query).digest('hex')
      const extensions = { persistedQuery: { version: 1, sha256Hash } }
      for (let round = 0; round < 2; round++)
        for (const [path, headers] of [['/admin/graphql', admin], ['/graphql', staff]] as const) {
          const answer = await post({ query, extensions }, headers, path)
          expect(codesOf(answer), `${path} ${query}`).toEqual(path === own ? [200, undefined, undefined] : [400, 'GRAPHQL_VALIDATION_FAILED', undefined])
        }
    }
  }) // biome-ignore format: one row an endpoint

  test('CLI-01 no query returns a secret or a hash, or finds a client by one', async () => {
    const everything = `{
      clients { nodes { Secret PublicKeys Secrets { SecretId Secret Client { Secret } } } }
      clientSecrets { nodes { SecretId Secret } }
      auditEntries { nodes { Action ChangedFields Before After } }
    }`
    const { text } = await ask(everything)
    const secret = randomPartOf(client.secret)
    expect(secret.length).toBeGreaterThan(20)
    for (const shown of [text, SDL]) {
      expect(shown).not.toContain(secret)
      expect(shown).not.toMatch(/scrypt|Hash/)
    }
    expect(text).toContain('"Secret":null')
    expect(await read('{ clients(filter: { Secret: { ne: null } }) { totalCount } }')).toEqual({
      clients: { totalCount: 0 },
    })
    expect(codesOf(await ask('{ clientSecrets { nodes { Hash } } }'))).toEqual([400, 'GRAPHQL_VALIDATION_FAILED', undefined])
  }) // biome-ignore format: one expectation a line

  test('faults have code, path and target; limits are those of /graphql', async () => {
    // biome-ignore format: table
    const faults: readonly (readonly [query: string, status: number, extensions: object, path?: string])[] = [
      ['{ clients(where: "Name eq") { totalCount } }',             200, { code: 'BAD_USER_INPUT', serviceCode: '2001', target: 'where' }, 'clients'],
      ['{ c: clients(where: "Nmae eq null") { totalCount } }',     200, { code: 'BAD_USER_INPUT', target: 'Nmae' }, 'c'],
      ['{ clients(first: 100000) { totalCount } }',                400, { code: 'BAD_USER_INPUT', serviceCode: '2018' }],
      ['{ clients(first: 1001) { nodes { Name } } }',              200, { code: 'BAD_USER_INPUT', target: 'first' }, 'clients'],
      ['{ clients(after: "x") { nodes { Name } } }',               200, { code: 'BAD_USER_INPUT', serviceCode: '2016', target: 'after' }, 'clients'],
      ['{ clients(filter: { Name: null }) { totalCount } }',       200, { code: 'BAD_USER_INPUT', target: 'filter' }, 'clients'],
      ['{ clients(search: "x") { totalCount } }',                  400, { code: 'GRAPHQL_VALIDATION_FAILED' }],
      ['{ clients { nodes { Secrets { Client { Secrets { Client { Secrets { Client { Secrets { Client { Secrets { Client { Secrets { Client { Name } } } } } } } } } } } } } } }', 400, { serviceCode: '2018' }],
      ['{ clients(first: 1000) { nodes { Secrets { Client { Usage { Rows } } } } } }', 400, { serviceCode: '2018' }],
      ['{',                                                        400, { code: 'GRAPHQL_PARSE_FAILED' }],
      ['{ digest(resourceName: "Client") { LastEventSequence } }', 400, { code: 'GRAPHQL_VALIDATION_FAILED' }],
      ['{ clientChanges { token } }',                              400, { code: 'GRAPHQL_VALIDATION_FAILED' }],
    ]
    for (const [query, status, extensions, path] of faults) {
      const answer = await ask(query)
      expect(answer.errors?.[0], query).toMatchObject({ extensions, ...(path && { path: [path] }) })
      expect(answer.status, query).toBe(status)
    }
    const bad = await ask('query ($n: Int) { clients(first: $n) { totalCount } }', { n: 'x' })
    expect(bad.errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', target: '$n' } })
    const large = await ask(`{ __typename } # ${'x'.repeat(70_000)}`)
    expect(codesOf(large)).toEqual([413, 'BAD_REQUEST', '4013'])
  })

  test('each model has its own type names', async () => {
    expect(await read(`{ clients(where: "isof(org.reso.metadata.Client)") { totalCount } }`)).toEqual({
      clients: { totalCount: 4 },
    })
    const [fault] =
      (await ask(`{ clients(where: "isof(org.reso.metadata.Property)") { totalCount } }`)).errors ?? []
    expect(fault).toMatchObject({
      path: ['clients'],
      extensions: { code: 'BAD_USER_INPUT', target: 'where' },
    })
    const statusOf = async (path: string, headers: Headers) => (await app.send(path, { headers })).status
    const staff = { Authorization: `Bearer ${app.tokenFor()}` }
    expect(await statusOf(`/odata/Property?$filter=isof(org.reso.metadata.Property)&$top=1`, staff)).toBe(200)
    expect(await statusOf(`/odata/Property?$filter=isof(org.reso.metadata.Client)&$top=1`, staff)).toBe(400)
    expect(await statusOf(`/admin/odata/Client?$filter=isof(org.reso.metadata.Client)`, admin)).toBe(200)
  })

  test('HTTP: media types, GET, HEAD, other methods and paths, no streams and no storing', async () => {
    const send = (target: string, method = 'GET', headers: Headers = {}) =>
      app.send(target, { method, headers: { ...admin, ...headers } })
    const hello = '/admin/graphql?query={__typename}'
    const answer = await send(hello)
    expect([answer.status, answer.json]).toEqual([200, { data: { __typename: 'Query' } }])
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      vary: expect.stringContaining('Authorization'),
    })
    expect((await send(hello, 'HEAD')).text).toBe('')
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect((await send('/admin/graphql', method)).headers['allow']).toBe('GET, HEAD, POST')
    const mutation = await send(`/admin/graphql?query=mutation{deleteClient(ClientId:"${client.id}"){id}}`)
    expect([mutation.status, mutation.headers['allow']]).toEqual([405, 'POST'])
    expect((await send('/admin/graphql/nothing')).text).toContain('/admin/graphql/nothing')
    expect((await send('/admin/graphql/schema.graphql', 'POST')).headers['allow']).toBe('GET, HEAD')
    for (const path of ['/admin', '/admin/', '/admin/graphiql']) expect((await send(path)).status).toBe(404)
    expect((await send(hello, 'GET', { Accept: 'text/event-stream' })).status).toBe(406)
    const subscription = await ask('subscription { propertyChanged { ListingKey } }')
    expect([subscription.status, subscription.data]).toEqual([400, undefined])
    expect((await read('{ clients { totalCount } }'))['clients']).toEqual({ totalCount: 4 })
  })
})
