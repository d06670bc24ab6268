import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, type PartnerApp, startPartnerApp, type TestClient } from '../support/partners.js'

// The limit on running statements, and requests whose clients close their connection or its writing side.

/** 125,000 combinations of media for each of 1,000 listings: a statement that runs until its time is over. */
const FILL = [
  `set session_replication_role = replica`,
  `insert into "Property" ("ListingKey", "StandardStatus", "ModificationTimestamp", "OriginatingSystemName")
   select 'H' || n, 'Active', now(), 'x' from generate_series(1, 1000) n`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "PropertyKey", "Order", "ModificationTimestamp", "MediaModificationTimestamp")
   select 'H' || n || '-' || o, 'Property', 'H' || n, 'H' || n, o, now(), now() from generate_series(1, 1000) n, generate_series(1, 50) o`,
]
const SLOW = `/odata/Property?$filter=${encodeURIComponent(
  'Media/any(a:Media/any(b:Media/any(c:a/Order add b/Order add c/Order gt 1000)))',
)}`
const QUICK = '/odata/Property?$top=1&$select=ListingKey'
const GRAPHQL = { query: '{ properties(first: 1) { nodes { ListingKey } } }' }
const BATCH = { requests: ['1', '2', '3'].map(id => ({ id, method: 'GET', url: 'Property?$top=1' })) }
const POLL = { timeout: 30_000, interval: 50 }

describe.runIf(DATABASE_KINDS.includes('server'))('running statements of a client on PostgreSQL', () => {
  let app: PartnerApp
  beforeAll(async () => {
    app = await startPartnerApp({ kind: 'server', env: { POOL_WAIT_MS: '2000' } })
    await app.database.withClient(async connection => {
      for (const sql of FILL) await connection.query(sql)
    })
  }, 120_000)
  afterAll(() => app?.close())

  const send = (client: TestClient, path: string, body?: unknown) =>
    app.send(path, { method: body ? 'POST' : 'GET', headers: { Authorization: basic(client) }, body })
  const running = () => app.database.poolStatistics().reduce((sum, pool) => sum + pool.running, 0)

  /** Opens a request. `leave` closes its connection. */
  function open(client: TestClient, path: string, body?: unknown) {
    const req = request(app.base, {
      path,
      method: body ? 'POST' : 'GET',
      headers: { Authorization: basic(client), 'Content-Type': 'application/json' },
      agent: false,
    })
    // A request that ends early reports an error first.
    const ended = once(req, 'close').catch(() => undefined)
    req.on('error', () => undefined).on('response', res => res.on('error', () => undefined).resume())
    req.end(body && JSON.stringify(body))
    return { ended, leave: () => req.destroy() }
  }

  test('a request that waits too long for its turn gets 429 with Retry-After, on both adapters', async () => {
    const client = await app.addClient({ RunningStatements: 1 })
    const slow = open(client, SLOW)
    try {
      await expect.poll(running, POLL).toBe(1)
      const [refused, graphql] = await Promise.all([send(client, QUICK), send(client, '/graphql', GRAPHQL)])
      expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5'])
      expect(refused.text).toContain('"4029"')
      expect(refused.text).toContain('The limit of 1 running statements is reached.')
      expect(graphql.json).toMatchObject({
        errors: [{ extensions: { serviceCode: '4029', retryAfter: 5 } }],
      })
      // The limit is one of this client.
      expect((await send(await app.addClient(), QUICK)).status).toBe(200)
    } finally {
      slow.leave()
    }
    await expect.poll(async () => (await send(client, QUICK)).status, POLL).toBe(200)
  }, 60_000)

  test('FAI-02 every request releases its permit, even if it fails or is aborted', async () => {
    const client = await app.addClient({ RunningStatements: 2, RequestsPerDay: 1_000_000 })
    const kinds = [
      [QUICK],
      [SLOW],
      ['/graphql', GRAPHQL],
      ['/odata/$batch', BATCH],
      [`${QUICK}&$format=ndjson`],
    ] as const
    const leaveEarly = async (i: number) => {
      const [path, body] = kinds[i % kinds.length] ?? [QUICK]
      const { ended, leave } = open(client, path, body)
      // Some have not begun, some wait for their turn, some run, some are answered.
      await Promise.race([ended, wait((i * 7) % 60)])
      leave()
    }
    for (let round = 0; round < 10; round++)
      await Promise.all(Array.from({ length: 20 }, (_, i) => leaveEarly(round * 20 + i)))
    const counts = () => app.database.poolStatistics().map(pool => [pool.running, pool.waiting])
    await expect.poll(counts, POLL).toEqual(counts().map(() => [0, 0]))
    // After the loss of one permit, one would remain; after the loss of two, none.
    const slow = open(client, SLOW)
    try {
      await expect.poll(running, POLL).toBe(1)
      for (let i = 0; i < 3; i++) expect((await send(client, QUICK)).status).toBe(200)
    } finally {
      slow.leave()
    }
  }, 120_000)

  test('FAI-05 a client that closes its writing side gets the whole response, or one that is recognizably incomplete', async () => {
    const client = await app.addClient()
    const { hostname, port } = new URL(app.base)
    const ask = async (head: string, body = '') => {
      const socket = connect(Number(port), hostname)
      const chunks: Buffer[] = []
      socket.on('data', chunk => chunks.push(chunk)).on('error', () => undefined)
      const closed = once(socket, 'close')
      socket.end(
        `${head}Host: x\r\nAuthorization: ${basic(client)}\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      )
      await closed
      return Buffer.concat(chunks).toString()
    }
    for (const answer of [
      await ask(`GET ${QUICK} HTTP/1.1\r\nConnection: close\r\n`),
      await ask(`GET ${QUICK} HTTP/1.0\r\n`),
      await ask('POST /graphql HTTP/1.1\r\nConnection: close\r\n', JSON.stringify(GRAPHQL)),
    ])
      expect(answer).toSatisfy(
        (text: string) => text === '' || (/^HTTP\/1\.1 200 /.test(text) && text.includes('"ListingKey"')),
      )
  }, 60_000)
})
