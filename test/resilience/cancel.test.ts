import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'

/** Reads that take many seconds: 8,000 combinations of media for each of 4,000 listings. */
const COMBINATIONS = 'Media/any(a:Media/any(b:Media/any(c:a/Order add b/Order add c/Order gt 1000)))'
const FILL = [
  `set session_replication_role = replica`,
  `insert into "Property" ("ListingKey", "StandardStatus", "ModificationTimestamp", "OriginatingSystemName") select 'H' || n, 'Active', now(), 'x' from generate_series(1, 4000) n`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "PropertyKey", "Order", "ModificationTimestamp", "MediaModificationTimestamp")
   select 'H' || n || '-' || o, 'Property', 'H' || n, 'H' || n, o, now(), now() from generate_series(1, 4000) n, generate_series(1, 20) o`,
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
    ['a batch', 'POST', '/odata/$batch', batch],
    ['a GraphQL query', 'POST', '/graphql', graphql],
  ])('EXP-15 ends the statement of %s', async (_, method, path, body) => {
    const headers = { Authorization: `Bearer ${app.tokenFor()}`, 'Content-Type': 'application/json' }
    const req = request(app.base, { method, path, headers, agent: false })
    req.on('error', () => undefined)
    req.end(body && JSON.stringify(body))
    await expect.poll(countRunning, { timeout: START_MS }).toBe(1)
    req.destroy()
    await expect.poll(countRunning, { timeout: CANCEL_MS }).toBe(0)
    // The next part of the batch does not begin, and the connection serves others.
    await wait(300)
    expect(await countRunning()).toBe(0)
    expect((await app.send('/odata/Property?$top=1')).status).toBe(200)
  })
})
