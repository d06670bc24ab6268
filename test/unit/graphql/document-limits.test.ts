import express from 'express'
import { afterEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config/config.js'
import { LISTING_GRAPHQL, serveGraphQL } from '../../../src/graphql/transport/handler.js'
import { PlanCache } from '../../../src/query/plan-cache.js'
import type { AdminService } from '../../../src/service/admin/administration.js'
import type { DeltaService } from '../../../src/service/deltas.js'
import type { DigestService } from '../../../src/service/digest.js'
import type { ReadService } from '../../../src/service/reading.js'
import type { WriteService } from '../../../src/service/writing.js'
import type { GraphQLErrorBody } from '../../support/clients/graphql-client.js'
import { request, serve } from '../http/exchange.js'

const ENV = { DATABASE_URL: 'postgresql://db/listings', JWT_SECRET: 's'.repeat(32) }

type Asked = readonly [query: string, variables: Readonly<Record<string, unknown>>]

/** Records the calls of the database, which does not exist. */
const asked: string[] = []
afterEach(() => {
  asked.splice(0)
})

/** A fake dependency that only records its calls. */
function noting<T extends object>(): T {
  const note = (_: object, name: string | symbol) =>
    name === 'forRequest'
      ? () => port
      : async () => {
          asked.push(String(name))
          return null
        }
  const port = new Proxy({}, { get: note }) as T // every member is a function here
  return port
}

/** Starts only the adapter, on a port. */
async function start(env: Readonly<Record<string, string>> = {}) {
  const config = readConfig({ ...ENV, ...env })
  const verifier = {
    findCached: () => undefined,
    findClaimedClient: () => undefined,
    authenticate: async () => ({
      actor: { scopes: new Set(['listings:read']), audience: 'public' as const },
      validUntil: Number.POSITIVE_INFINITY,
      name: 'a token',
      clientId: 'a client',
    }),
  }
  const handlers = serveGraphQL({
    service: LISTING_GRAPHQL,
    reading: noting<ReadService>(),
    administration: noting<AdminService>(),
    writing: noting<WriteService>(),
    plans: new PlanCache(),
    deltas: noting<DeltaService>(),
    digests: noting<DigestService>(),
    config,
    verifier,
    report: () => 'fault',
    serviceRoot: () => 'http://127.0.0.1/odata/',
  })
  const { port } = await serve(express().use('/graphql', handlers))
  return async (query: string, variables: Readonly<Record<string, unknown>> = {}) => {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/graphql-response+json' }
    const { status, body } = await request(
      port,
      'POST',
      '/graphql',
      headers,
      JSON.stringify({ query, variables }),
    )
    const { errors: [first] = [] } = JSON.parse(body) as { readonly errors?: readonly GraphQLErrorBody[] }
    return {
      status,
      message: first?.message,
      code: first?.extensions.code,
      serviceCode: first?.extensions.serviceCode,
    }
  }
}

const tooMany = (what: string) => ({
  status: 400,
  code: 'BAD_USER_INPUT',
  serviceCode: '2018',
  message: expect.stringContaining(`too many ${what}`),
})
const times = (count: number, make: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ')
/** Returns `{a{a{x}}}` with `count` levels of `part`, and `leaf` inside. */
const nest = (count: number, part: string, leaf: string): string =>
  `${`${part}{`.repeat(count)}${leaf}${'}'.repeat(count)}`
const KEYS = '{ nodes { ListingKey } }'

describe('limits of documents, before validation', () => {
  // biome-ignore format: table
  test.each([
    ['characters',             `{ ${'x '.repeat(40_000)} }`],
    ['tokens',                 `{ ${'x '.repeat(10_000)} }`],
    ['tokens',                 `{ property(ListingKey: "K") { City ${'@skip(if: false) '.repeat(10_000).slice(0, 60_000)} } }`],
    ['nested brackets', `{ properties(filter: ${'{and: ['.repeat(200)}${']}'.repeat(200)}) ${KEYS} }`],
    ['nested brackets', `{ ${nest(2000, 'a', 'x')} }`],
    ['levels of fields',       `{ ${nest(20, 'a', 'x')} }`],
    ['levels of fields',       `{ ...A } fragment A on Query { ${nest(16, 'a', '...B')} } fragment B on Query { x }`],
    ['aliases',                `{ property(ListingKey: "K") { ${times(101, i => `k${i}: City`)} } }`],
    ['fields at its root',     `{ ${times(21, i => `k${i}: properties(first: 1) ${KEYS}`)} }`],
    ['fields at its root',     `mutation { ${times(21, i => `k${i}: deleteProperty(ListingKey: "K") { id }`)} }`],
    ['fields at its root',     `{ ...A } fragment A on Query { ${times(21, () => '__typename')} }`],
    ['directives on one element', `{ property(ListingKey: "K") { City ${'@skip(if: false) '.repeat(9)} } }`],
    ['directives on one element', `{ property(ListingKey: "K") { ...F ${'@skip(if: false) '.repeat(9)} } } fragment F on Property { City }`],
    ['directives on one element', `query ${'@skip(if: false) '.repeat(9)} { __typename }`],
    ['fields',                 `{ property(ListingKey: "K") { ...F0 } } ${times(30, i => `fragment F${i} on Property { ...F${i + 1} ...F${i + 1} }`)} fragment F30 on Property { City }`],
    ['fields',                 `{ property(ListingKey: "K") { ...F0 } } ${times(12, i => `fragment F${i} on Property { a: ListAgent { City ...G${i} } b: ListAgent { City ...G${i} } } fragment G${i} on Member { ...G${i + 1} ...G${i + 1} }`)} fragment F12 on Property { City } fragment G12 on Member { City }`],
  ])('too many %s', async (what, query) => {
    const ask = await start()
    expect(await ask(query)).toEqual(tooMany(what))
    expect(asked).toEqual([])
  })

  test('an operation at the limits passes', async () => {
    const ask = await start({
      MAX_ALIASES: '2',
      MAX_ROOT_FIELDS: '2',
      MAX_SELECTION_DEPTH: '4',
      MAX_FIELD_DIRECTIVES: '1',
    })
    const query = `{ a: property(ListingKey: "K") { City @skip(if: false) } b: __typename }`
    expect(await ask(query)).toMatchObject({ status: 200, message: undefined })
    expect(await ask(query.replace('b: __typename', 'b: __typename c: __typename'))).toEqual(
      tooMany('aliases'),
    )
  })

  test('fragments that spread themselves are a fault of the document, not of its size', async () => {
    const ask = await start()
    expect(await ask('{ ...A } fragment A on Query { ...A }')).toMatchObject({
      status: 400,
      code: 'GRAPHQL_VALIDATION_FAILED',
    })
  })

  test('each operation of a document has its own limits, and all share one limit of fields', async () => {
    const ask = await start({ MAX_ALIASES: '1', MAX_NODES: '100' })
    const operation = (i: number) => `query Q${i} { a: __typename }`
    expect((await ask(times(10, operation))).message).toMatch(/operation name/)
    expect(await ask(times(101, operation))).toEqual(tooMany('fields'))
  })

  test('introspection as tools send it is accepted', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    const ask = await start()
    expect(
      await ask(getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, oneOf: true })),
    ).toMatchObject({
      status: 200,
      message: undefined,
    })
  })

  test('the error for disabled introspection addresses the client, not the author of the server', async () => {
    const ask = await start({ INTROSPECTION: 'off' })
    const { message } = await ask('{ __schema { queryType { name } } }')
    expect(message).toContain('INTROSPECTION')
    expect(message).not.toContain('Apollo')
  })
})

describe('limits on the records that an operation may read', () => {
  const MEDIA = 'nodes { Media { MediaKey } Rooms { RoomKey } }'
  // biome-ignore format: table
  test.each<Asked>([
    [`{ properties(first: 100000) ${KEYS} }`, {}],
    [`query ($n: Int) { properties(first: $n) ${KEYS} }`, { n: 100_000 }],
    [`query ($n: Int = 100000) { properties(last: $n) ${KEYS} }`, {}],
    [`{ property(ListingKey: "K") { Media(first: 100000) { MediaKey } } }`, {}],
    [`{ properties(first: 1000) { ${MEDIA} } }`, {}],
    [`{ properties(first: 1000) { edges { node { ...M } } } } fragment M on Property { ... on Property { Media { MediaKey } Rooms { RoomKey } } }`, {}],
    [`{ ${times(20, i => `k${i}: properties { ${MEDIA} }`)} }`, {}],
    [`{ properties(first: 1000) { nodes { ${times(20, i => `k${i}: ListAgent { MemberKey }`)} } } }`, {}],
    [`{ node(id: "x") { ... on Property { Media(first: 20001) { MediaKey } } } }`, {}],
    // Aliases multiply a response.
    [`query ($r: [KeyRange!]) { digest(resourceName: "Property", ranges: $r) { ${times(99, i => `k${i}: Ranges { From To }`)} } }`, { r: [{ From: 'A' }] }],
    [`{ digest(resourceName: "Property") { Ranges { ${times(5, i => `k${i}: Buckets { Hash }`)} } } }`, {}],
    [`{ digest(resourceName: "Property") { ${times(5, i => `Ranges { k${i}: From }`)} } }`, {}],
    [`{ digest(resourceName: "Property") { ...A ...B } } ${['A', 'B'].map((name, n) => `fragment ${name} on Digest { ${times(3, i => `k${n}${i}: Ranges { From }`)} }`).join(' ')}`, {}],
    [`{ properties(first: 1000) { nodes { ${times(21, i => `k${i}: PublicRemarks`)} } } }`, {}],
    [`{ properties(first: 1000) { nodes { ${times(21, i => `k${i}: __typename`)} } } }`, {}],
    [`{ properties(first: 1000) { ${times(21, i => `k${i}: nodes { ListingKey }`)} } }`, {}],
    [`{ properties(first: 1000) { edges { ${times(21, i => `k${i}: node { ListingKey }`)} } } }`, {}],
    [`{ property(ListingKey: "K") { Media(first: 1000) { ${times(21, i => `k${i}: ShortDescription`)} } } }`, {}],
    [`{ __schema { ${times(22, i => `k${i}: types { name }`)} } }`, {}],
    [`{ __type(name: "Property") { ${times(22, i => `k${i}: fields { name }`)} } }`, {}],
  ])('%s is too much', async (query, variables) => {
    const ask = await start()
    expect(await ask(query, variables)).toEqual(tooMany('records to read'))
    expect(asked).toEqual([])
  })

  // biome-ignore format: table
  test.each<Asked>([
    [`{ properties(first: 1000) ${KEYS} }`, {}],
    [`{ properties(first: 1000) { edges { cursor node { ListingKey ListAgent { MemberKey } } } nodes { ListingKey } pageInfo { endCursor } } }`, {}],
    [`{ properties(first: 100) { ${MEDIA} } }`, {}],
    [`query ($n: Int = 100000) { properties(first: $n) ${KEYS} }`, { n: 10 }],
    [`{ ${times(20, i => `k${i}: properties ${KEYS}`)} }`, {}],
    [`{ ${times(4, i => `k${i}: digest(resourceName: "Property") { Ranges { From To Buckets { First Count Hash } } }`)} }`, {}],
    [`{ properties(first: 100) { nodes { ${times(99, i => `k${i}: PublicRemarks`)} } } }`, {}],
    [`{ properties(first: 1000) { nodes { ${times(19, i => `k${i}: City l${i}: PostalCode`)} } } }`, {}],
  ])('%s is not', async (query, variables) => {
    const ask = await start()
    expect((await ask(query, variables)).serviceCode).not.toBe('2018')
    expect(asked).not.toEqual([])
  })

  test.each(['first', 'last'])(
    'a document that passed with one size of %s is checked again with another',
    async size => {
      const ask = await start()
      const query = `query ($n: Int = 100000) { properties(${size}: $n) ${KEYS} }`
      const sizes = [10, 100_000, 10, undefined, null, 100_000]
      const judged: boolean[] = []
      for (const n of sizes)
        judged.push((await ask(query, n === undefined ? {} : { n })).serviceCode === '2018')
      expect(judged).toEqual([false, true, false, true, false, true])
    },
  )

  test('the limit is a setting', async () => {
    const ask = await start({ MAX_COST: '100', PAGE_SIZE: '101', PAGE_SIZE_MAX: '200' })
    expect(await ask(`{ properties ${KEYS} }`)).toEqual(tooMany('records to read'))
  })
})

describe('operations that are not executed', () => {
  test('a subscription without a lasting connection', async () => {
    const ask = await start()
    expect(await ask('subscription { propertyChanged { ListingKey } }')).toMatchObject({
      status: 400,
      code: 'BAD_REQUEST',
    })
    expect(asked).toEqual([])
  })
})
