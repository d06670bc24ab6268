import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { readUsage } from '../../src/data/clients/client-usage.js'
import type { TestResponse } from '../support/app.js'
import { CSV, checkBrokenOff, Download, NDJSON } from '../support/clients/download.js'
import { socketUrl } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  basic,
  clientServiceOf,
  type PartnerApp,
  startPartnerApp,
  type TestClient,
} from '../support/partners.js'
import { createTestEnvironment, startService } from '../support/process.js'

const QUERY = '{ properties(first: 1) { nodes { ListingKey } } }'
const errorOf = (answer: TestResponse) => answer.json as { readonly error?: { readonly code: string } }
const numberOf = (answer: TestResponse, header: string) => Number(answer.headers[header])

describe.each(DATABASE_KINDS)('limits of clients over HTTP on the %s database', kind => {
  let app: PartnerApp
  beforeAll(async () => {
    app = await startPartnerApp({ kind, fixture: 'fixture.json', env: { CORS_ORIGINS: 'https://a.example' } })
  })
  afterAll(() => app?.close())

  const read = (client: TestClient, target = '/odata/Property?$top=1&$select=ListingKey', headers = {}) =>
    app.send(target, { headers: { Authorization: basic(client), ...headers } })
  const post = (client: TestClient, target: string, body: unknown) =>
    app.send(target, { method: 'POST', headers: { Authorization: basic(client) }, body })
  const batchOf = (count: number, group?: string) => ({
    requests: Array.from({ length: count }, (_, i) => ({
      id: String(i),
      method: group === undefined ? 'GET' : 'PATCH',
      url: group === undefined ? 'Property?$top=1&$select=ListingKey' : `Property('P0${i + 1}')`,
      ...(group !== undefined && { atomicityGroup: group, body: { ListPrice: 1, ChangedByMemberKey: 'M1' } }),
    })),
  })
  const statusesOf = (answer: TestResponse) =>
    (answer.json as { readonly responses: readonly { readonly status: number }[] }).responses.map(
      r => r.status,
    )

  /** Listings of the city Export, of which an export reads 500 at a time. */
  const insertListings = (count: number) =>
    app.database.withClient(connection =>
      connection.query(
        `insert into "Property" ("ListingKey", "StandardStatus", "City") select 'L' || 10000 + n, 'Active', 'Export'
           from generate_series(1, ${count}) n on conflict do nothing`,
      ),
    )

  test('LIM-03 headers of each response describe the limit that ends first, and refusals have the format of the adapter', async () => {
    // The helper has used one request.
    const client = await app.addClient({ RequestsPerMinute: 100, RequestsPerDay: 5 })
    const first = await read(client, '/odata/Property?$top=1', { Origin: 'https://a.example' })
    expect(first.headers).toMatchObject({
      'ratelimit-limit': '5',
      'ratelimit-remaining': '3',
      'ratelimit-policy': '100;w=60, 5;w=86400',
    })
    expect(first.headers['access-control-expose-headers']).toContain('RateLimit-Policy')
    expect((await read(client, '/odata/Property(%27none%27)')).headers['ratelimit-remaining']).toBe('2')
    expect((await post(client, '/graphql', { query: QUERY })).headers['ratelimit-remaining']).toBe('1')
    const preflight = {
      method: 'OPTIONS',
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
    }
    await app.send('/odata/Property', preflight)
    expect((await read(client)).headers['ratelimit-remaining']).toBe('0')
    const refused = await read(client)
    expect([refused.status, errorOf(refused).error?.code]).toEqual([429, '4029'])
    expect(refused.text).toContain('The limit of 5 requests per day is reached.')
    const retryAfter = numberOf(refused, 'retry-after')
    expect(retryAfter).toBeGreaterThanOrEqual(1)
    expect(retryAfter).toBeLessThanOrEqual(86_400)
    expect(refused.headers).toMatchObject({
      'ratelimit-limit': '5',
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(retryAfter),
      'ratelimit-policy': '100;w=60, 5;w=86400',
    })
    const graphql = await post(client, '/graphql', { query: QUERY })
    expect(graphql.status).toBe(429)
    expect(graphql.json).toMatchObject({
      errors: [{ extensions: { serviceCode: '4029', retryAfter: expect.any(Number) } }],
    })
    expect(graphql.headers['retry-after']).toMatch(/^\d+$/)
  })

  test('a client with several tokens and Basic authentication has one limit', async () => {
    const client = await app.addClient({ RequestsPerDay: 5 })
    const tokens = [await app.tokenOf(client), await app.tokenOf(client)]
    const statuses: number[] = []
    for (const authorization of [basic(client), ...tokens.map(token => `Bearer ${token}`)])
      for (let i = 0; i < 2; i++)
        statuses.push((await app.send('/odata/', { headers: { Authorization: authorization } })).status)
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429])
  })

  test('LIM-02 each request of a batch counts, and Remaining allows for them', async () => {
    const client = await app.addClient({ RequestsPerDay: 11 })
    const answer = await post(client, '/odata/$batch', batchOf(4))
    expect(statusesOf(answer)).toEqual([200, 200, 200, 200])
    expect(answer.headers['ratelimit-remaining']).toBe('6')
    const body = batchOf(8)
    const headers = { Authorization: basic(client), Prefer: 'continue-on-error' }
    const second = await app.send('/odata/$batch', { method: 'POST', headers, body })
    expect(statusesOf(second)).toEqual([200, 200, 200, 200, 200, 200, 429, 429])
    expect(second.text).toContain('"4029"')
    expect((await read(client)).status).toBe(429)
  })

  test('LIM-02 a change set is saved or refused as a whole', async () => {
    const client = await app.addClient({ RequestsPerDay: 4, Scopes: ['listings:read', 'listings:write:any'] })
    const before = await app.send("/odata/Property('P01')?$select=ListPrice")
    const refused = await post(client, '/odata/$batch', batchOf(5, 'g'))
    expect(new Set(statusesOf(refused))).toEqual(new Set([429, 424]))
    const after = await app.send("/odata/Property('P01')?$select=ListPrice")
    expect(after.json).toEqual(before.json)
    const saved = await post(client, '/odata/$batch', batchOf(2, 'g'))
    expect(statusesOf(saved)).toEqual([200, 200])
  })

  test('LIM-02 a multipart batch: each request counts, a change set is refused as a whole, aliases are one request', async () => {
    // The helper has sent one request, and the batch is its own first request.
    const client = await app.addClient({ RequestsPerDay: 5, Scopes: ['listings:read', 'listings:write:any'] })
    const before = (await app.send("/odata/Property('P03')?$select=ListPrice")).json
    const aliases = Array.from({ length: 20 }, (_, i) => `a${i}: __typename`).join(' ')
    expect((await post(client, '/graphql', { query: `{ ${aliases} }` })).headers['ratelimit-remaining']).toBe(
      '3',
    )
    const http = (text: string) =>
      `Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${text}`
    const joined = (parts: readonly string[], boundary: string) =>
      `${parts.map(part => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`
    const get = http('GET Property?$top=1&$select=ListingKey HTTP/1.1\r\n\r\n')
    const change = ['P03', 'P04'].map(key =>
      http(
        `PATCH Property('${key}') HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{"ListPrice":7,"ChangedByMemberKey":"M1"}`,
      ),
    )
    const changeSet = `Content-Type: multipart/mixed; boundary=c\r\n\r\n${joined(change, 'c')}`
    const answer = await app.send('/odata/$batch', {
      method: 'POST',
      headers: {
        Authorization: basic(client),
        'Content-Type': 'multipart/mixed; boundary=b',
        Prefer: 'continue-on-error',
      },
      rawBody: joined([get, get, changeSet, get, get], 'b'),
    })
    const statuses = [...answer.text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))
    expect(statuses, answer.text).toEqual([200, 200, 429, 200, 429])
    expect(answer.text.match(/^Retry-After: \d+/gim)).toHaveLength(2)
    expect((await app.send("/odata/Property('P03')?$select=ListPrice")).json).toEqual(before)
  })

  test('rows: a page is complete, the next one is refused, and an export is refused or ends without its last line', async () => {
    const client = await app.addClient({ RowsPerDay: 5 })
    const page = await read(client, '/odata/Property?$top=8&$select=ListingKey')
    expect((page.json as { readonly value: readonly unknown[] }).value).toHaveLength(8)
    const refused = await read(client)
    expect(refused.status).toBe(429)
    expect(refused.headers).toMatchObject({ 'ratelimit-limit': '5', 'ratelimit-remaining': '0' })
    expect(numberOf(refused, 'retry-after')).toBeGreaterThan(60)
    expect((await read(client, '/odata/Property', { Accept: 'application/x-ndjson' })).status).toBe(429)
    // Without records of the market a request needs no rows.
    expect((await read(client, '/odata/$metadata')).status).toBe(200)
    const graphql = await post(client, '/graphql', { query: QUERY })
    expect(graphql.json).toMatchObject({ errors: [{ extensions: { serviceCode: '4029' } }] })
  })

  test.each([
    [NDJSON, {}],
    [NDJSON, { encoding: 'gzip' }],
    [CSV, {}],
    [CSV, { version: '1.0' }],
  ] as const)(
    'LIM-11 an export of %s %o that the rows of the day end is aborted, and never looks complete',
    async (accept, http) => {
      const rowsPerDay = 700
      await insertListings(1200)
      const client = await app.addClient({ RowsPerDay: rowsPerDay })
      const options = { authorization: basic(client), accept, ...http }
      const response = await new Download(
        app.base,
        "/odata/Property?$select=ListingKey,City&$filter=City eq 'Export'",
        options,
      ).finish()
      checkBrokenOff(response, accept, http)
      expect((await read(client)).status).toBe(429)
    },
    60_000,
  )

  test('LIM-11 an operation over the limit gets an error, and its WebSocket stays open', async () => {
    const client = await app.addClient({ RequestsPerDay: 2 })
    const socket = new WebSocket(socketUrl(app.base), ['graphql-transport-ws'])
    try {
      const messages: Readonly<Record<string, unknown>>[] = []
      socket.on('message', message => messages.push(JSON.parse(String(message))))
      await once(socket, 'open')
      socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: basic(client) } }))
      await expect.poll(() => messages).toHaveLength(1)
      const run = async (id: string) => {
        socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query: QUERY } }))
        const find = () => messages.find(message => message['id'] === id)
        await expect.poll(find, { timeout: 10_000 }).toBeDefined()
        return find()
      }
      expect(await run('1')).toMatchObject({ type: 'next', payload: { data: expect.anything() } })
      for (const id of ['2', '3'])
        expect(await run(id)).toMatchObject({
          id,
          type: 'error',
          payload: [{ extensions: { serviceCode: '4029', retryAfter: expect.any(Number) } }],
        })
      expect(socket.readyState).toBe(socket.OPEN)
    } finally {
      socket.terminate()
    }
  })

  test('LIM-09 usage equals a ledger of requests over every adapter, and of the rows that were read', async () => {
    // The helper has sent one request.
    const client = await app.addClient({ RequestsPerDay: 10 })
    await read(client, '/odata/Property?$top=3')
    await post(client, '/graphql', { query: '{ properties(first: 2) { nodes { ListingKey } } }' })
    await read(client, '/odata/Property?$top=1', { Accept: 'application/x-ndjson' })
    // A batch is its first request.
    expect(statusesOf(await post(client, '/odata/$batch', batchOf(2)))).toEqual([200, 200])
    expect((await read(client, "/odata/Property('none')")).status).toBe(404)
    expect(
      (await app.send('/odata/', { method: 'HEAD', headers: { Authorization: basic(client) } })).status,
    ).toBe(200)
    const { headers } = await read(client, "/odata/Property('P05')")
    expect((await read(client, "/odata/Property('P05')", { 'If-None-Match': headers['etag'] })).status).toBe(
      304,
    )
    // The record of a 304 was read too.
    expect((await read({ ...client, secret: 'wrong' })).status).toBe(401)
    for (let i = 0; i < 2; i++) expect((await read(client)).status).toBe(429)
    await expect
      .poll(() => readUsage(app.database, { days: 1, clientId: client.id }), { interval: 500 })
      .toMatchObject([{ requests: 10, refused: 2, rows: 10 }])
  }, 40_000)

  test('a new or reduced limit takes effect within five seconds', async () => {
    const client = await app.addClient()
    expect((await read(client)).headers).not.toHaveProperty('ratelimit-limit')
    await app.clients.change(client.id, { RequestsPerDay: 3 })
    await expect.poll(async () => (await read(client)).status, { timeout: 5000, interval: 100 }).toBe(429)
    await app.clients.change(client.id, { RequestsPerDay: null })
    await expect.poll(async () => (await read(client)).status, { timeout: 5000, interval: 100 }).toBe(200)
  }, 20_000)

  test('FAI-01 a client runs no more statements than its limit, and permits are released', async () => {
    const client = await app.addClient({ RunningStatements: 1 })
    const answers = await Promise.all(Array.from({ length: 12 }, () => read(client)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const pools = app.database.poolStatistics()
    expect(pools.map(({ running, waiting }) => [running, waiting])).toEqual(pools.map(() => [0, 0]))
    expect((await read(client)).status).toBe(200)
  })
})

describe.runIf(DATABASE_KINDS.includes('server'))('limits of clients with two workers', () => {
  test('LIM-01 a limit holds for all processes together, and Remaining is never too high', async () => {
    const limit = 60
    const CONNECTIONS = 10
    const place = await createTestEnvironment('server')
    const database = await place.connect()
    const service = await startService(place, { WORKERS: '2' })
    try {
      const { client, secret } = await clientServiceOf(database).add({
        Name: 'Busy',
        RequestsPerDay: limit,
      })
      const headers = { Authorization: basic({ id: client.ClientId, secret }) }
      let passed = 0
      const tooHigh: unknown[] = []
      const refused: TestResponse[] = []
      const note = (remaining: number) => {
        passed += 1
        if (remaining > limit - passed + CONNECTIONS) tooHigh.push([passed, remaining])
      }
      const work = async () => {
        while (refused.length < 40) {
          const answer = await service.send('/odata/', { headers })
          // The other requests of this test may have passed meanwhile.
          if (answer.status === 200) note(numberOf(answer, 'ratelimit-remaining'))
          // The service may not have read the client yet.
          else if (answer.status !== 401) refused.push(answer)
        }
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, work))
      expect(passed).toBeLessThanOrEqual(limit * 1.05)
      expect(passed).toBeGreaterThanOrEqual(limit * 0.95)
      expect(tooHigh).toEqual([])
      for (const answer of refused) {
        expect(errorOf(answer).error?.code, answer.text).toBe('4029')
        expect(numberOf(answer, 'retry-after')).toBeLessThanOrEqual(86_400)
      }
    } finally {
      await service.stop('SIGTERM')
      await database.close()
      await place.remove()
    }
  }, 120_000)
})
