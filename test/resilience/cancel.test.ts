import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sendCancelRequest } from '../../src/data/postgres/cancel-request.js'
import { startTestApp, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'
import { createDrafts } from '../support/drafts.js'

/** Reads that take many seconds: 8,000 combinations of media for each of 4,000 listings. */
const COMBINATIONS = 'Media/any(a:Media/any(b:Media/any(c:a/Order add b/Order add c/Order gt 1000)))'
const FILL = [
  `set session_replication_role = replica`,
  `insert into "Property" ("ListingKey", "StandardStatus", "ModificationTimestamp", "OriginatingSystemName") select 'H' || n, 'Active', now(), 'x' from generate_series(1, 4000) n`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "PropertyKey", "Order", "ModificationTimestamp", "MediaModificationTimestamp")
   select 'H' || n || '-' || o, 'Property', 'H' || n, 'H' || n, o, now(), now() from generate_series(1, 4000) n, generate_series(1, 20) o`,
]
/** A read of a billion combinations of the media of one listing. */
const FILL_EMBEDDED = [
  `insert into "Property" ("ListingKey", "StandardStatus") values ('H1', 'Active')`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "Order") select 'H1-' || o, 'Property', 'H1', o % 20 from generate_series(1, 1000) o`,
]
const START_MS = 5000
const CANCEL_MS = 3000

describe.runIf(DATABASE_KINDS.includes('server'))('a client that disconnects', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind: 'server' })
    await app.database.withClient(async client => {
      for (const sql of FILL) await client.query(sql)
    })
  }, 120_000)
  afterAll(() => app.close())

  const countRunning = async (): Promise<number> => {
    const [row] = await app.database.prisma.$queryRaw<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state = 'active' and query like '%"Media" r%' and pid <> pg_backend_pid()`
    return row?.count ?? 0
  }

  const batch = {
    requests: [
      { id: '1', method: 'GET', url: `Property?$filter=${encodeURIComponent(COMBINATIONS)}` },
      { id: '2', method: 'GET', url: `Property?$filter=${encodeURIComponent(`not ${COMBINATIONS}`)}` },
    ],
  }
  const graphql = { query: `{ properties(where: "${COMBINATIONS}") { nodes { ListingKey } } }` }

  test.each([
    ['a read', 'GET', `/odata/Property?$filter=${encodeURIComponent(COMBINATIONS)}`, undefined],
    [
      'an export',
      'GET',
      `/odata/Property?$format=ndjson&$filter=${encodeURIComponent(COMBINATIONS)}`,
      undefined,
    ],
    ['a read by HEAD', 'HEAD', `/odata/Property?$filter=${encodeURIComponent(COMBINATIONS)}`, undefined],
    ['a batch', 'POST', '/odata/$batch', batch],
    ['a GraphQL query', 'POST', '/graphql', graphql],
  ])('EXP-15, FAI-04: ends the statement of %s', async (_, method, path, body) => {
    const headers = { Authorization: `Bearer ${app.tokenFor()}`, 'Content-Type': 'application/json' }
    const req = request(app.base, { method, path, headers, agent: false })
    req.on('error', () => undefined)
    if (body) req.write(JSON.stringify(body))
    req.end()
    await expect.poll(countRunning, { timeout: START_MS }).toBe(1)
    req.destroy()
    await expect.poll(countRunning, { timeout: CANCEL_MS }).toBe(0)
    // The next part of the batch does not begin, and the connection serves others.
    await wait(300)
    expect(await countRunning()).toBe(0)
    expect((await app.send('/odata/Property?$top=1')).status).toBe(200)
  })
})

describe.runIf(DATABASE_KINDS.includes('server'))('a client that waits', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind: 'server', fixture: 'fixture.json' })
  })
  afterAll(() => app?.close())

  test('FAI-04 every method and kind of body is answered, however long the statement takes', async () => {
    const graphql = JSON.stringify({ query: '{ properties(first: 1) { totalCount } }' })
    const batch = JSON.stringify({ requests: [{ id: '1', method: 'GET', url: 'Property?$top=1' }] })
    const change = JSON.stringify({ City: 'Vail', ChangedByMemberKey: 'M1' })
    const requests = [
      ['GET', '/odata/Property?$top=1'],
      ['HEAD', '/odata/Property?$top=1'],
      ['POST', '/graphql', graphql],
      ['POST', '/odata/$batch', batch],
      ['PATCH', "/odata/Property('P01')", change],
    ] as const
    for (const [method, path, body] of requests)
      for (const bodyHeaders of body === undefined ? [{}] : BODY_HEADERS) {
        const answer = app.database.withClient(async client => {
          await client.query('begin; lock table "Property" in access exclusive mode')
          const req = request(app.base, { method, path, headers: { ...headersOf(app), ...bodyHeaders } })
          const response = once(req, 'response')
          if ('Expect' in bodyHeaders) req.once('continue', () => req.end(body))
          else req.end(body)
          await expect.poll(() => countWaiting(app)).toBe(1)
          await client.query('commit')
          const [message] = (await response) as [IncomingMessage]
          for await (const _ of message);
          return [message.statusCode, message.complete]
        })
        expect(await answer, `${method} ${path} ${JSON.stringify(bodyHeaders)}`).toEqual([200, true])
      }
  }, 60_000)
})

const headersOf = (app: TestApp) => ({
  Authorization: `Bearer ${app.tokenFor()}`,
  'Content-Type': 'application/json',
})
/** A length, chunks, and a body that is sent only when the service asks for it. */
const BODY_HEADERS = [
  {},
  { 'Transfer-Encoding': 'chunked' },
  { Expect: '100-continue', 'Transfer-Encoding': 'chunked' },
]
/** Statements that wait for a lock. */
async function countWaiting(app: TestApp): Promise<number> {
  const [row] = await app.database.queryControl<{ readonly count: number }>({
    text: `select count(distinct pid)::int as count from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
    values: [],
  })
  return row?.count ?? 0
}

describe.runIf(DATABASE_KINDS.includes('embedded'))('canceling in the embedded database', () => {
  let app: TestApp
  beforeAll(async () => {
    // A request waits longer than a restart of the engine takes, but not as long as a statement may run.
    app = await startTestApp({ kind: 'embedded', fixture: 'fixture.json', env: { POOL_WAIT_MS: '25000' } })
    await app.database.withClient(async client => {
      for (const sql of FILL_EMBEDDED) await client.query(sql)
    })
  }, 120_000)
  afterAll(() => app?.close())

  const readByKey = async (key: string) => (await app.send(`/odata/Property('${key}')`)).status
  const running = () => app.database.poolStatistics().reduce((sum, pool) => sum + pool.running, 0)

  test('FAI-07 a client that leaves holds others up for a second, and no acknowledged write is lost', async () => {
    const [key = ''] = await createDrafts(app, 'Kept', [{}])
    for (let round = 0; round < 2; round++) {
      const path = `/odata/Property?$filter=${encodeURIComponent(COMBINATIONS)}`
      const headers = { Authorization: `Bearer ${app.tokenFor()}` }
      const req = request(app.base, { path, headers, agent: false })
        .on('error', () => undefined)
        .end()
      await expect.poll(running).toBe(1)
      req.destroy()
      expect(await readByKey(key)).toBe(200)
    }
  }, 120_000)

  test('FAI-07 Ctrl-C of psql ends its statement', async () => {
    const { clientConfig } = app.database
    const client = new Client(clientConfig)
    client.on('error', () => undefined)
    await client.connect()
    const endless = client
      .query('select count(*) from generate_series(1, 2000000000)')
      .catch((e: unknown) => e)
    await expect.poll(() => app.database.isBusy()).toBe(true)
    expect(await sendCancelRequest(client, clientConfig)).toBe(true)
    expect(await endless).toMatchObject({ code: '57014' })
    await client.end()
    expect(await readByKey('H1')).toBe(200)
  }, 60_000)
})
