import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import type { Logger } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/data/database.js'
import { runSoldPriceJob } from '../../src/service/feeds/sold-price-job.js'
import type { RequestOptions, TestResponse } from '../support/app.js'
import { bodyOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import { basic, clientServiceOf, READING_CLIENT } from '../support/partners.js'
import { type Cluster, startCluster } from '../support/postgres.js'
import { type StartedService, serverEnvironment, startService } from '../support/process.js'
import { DATABASE_LIMITS } from '../support/setup.js'
import { expectErrorResponse } from '../support/test-service.js'

/** The wait that the service is configured with, and the time within which every refusal must arrive. */
const WAIT_MS = 3000
const BOUND_MS = 20_000

describe.runIf(DATABASE_KINDS.includes('server'))('an unreachable or busy database', () => {
  let cluster: Cluster
  let service: StartedService
  const url = () => cluster.url('postgres')
  beforeAll(async () => {
    const started = await startCluster()
    if (!started) throw new Error('There is no PostgreSQL on this machine')
    cluster = started
    service = await startService(serverEnvironment(url()), {
      POOL_SIZE: '2',
      POOL_WAIT_MS: String(WAIT_MS),
      NODE_ENV: 'production',
      PUBLIC_URL: 'http://service.test',
    })
    const database = await openDatabase({ ...DATABASE_LIMITS, databaseUrl: url(), dataDir: '' }, 'command')
    await database.prisma.member.createMany({ data: ['M1', 'M4'].map(MemberKey => ({ MemberKey })) })
    await database.close()
  })
  afterAll(async () => {
    await service.stop('SIGTERM')
    await cluster.stop()
  })

  /** Returns the status. A refusal must arrive in time, have Retry-After and no internal details. */
  async function ask(target: string, parts: RequestOptions = {}): Promise<number> {
    const started = performance.now()
    const answer: TestResponse = await service.send(target, parts)
    const took = performance.now() - started
    if (answer.status === 503) expect(took).toBeLessThan(BOUND_MS)
    if (answer.status !== 503 || target.startsWith('/health')) return answer.status
    expectErrorResponse(answer)
    expect(bodyOf(answer)).toMatchObject({ error: { code: '5003' } })
    expect(answer.headers['retry-after']).toMatch(/^\d+$/)
    return 503
  }
  const askAll = () =>
    Promise.all([
      ask('/odata/Property?$top=1'),
      ask("/odata/Property('x')"),
      ask('/odata/Property/$count'),
      ask('/odata/EntityEvent?$filter=EntityEventSequence gt 0&$orderby=EntityEventSequence'),
      ask('/odata/Member', { headers: { Accept: 'application/x-ndjson' } }),
      ask('/odata/Member?$deltatoken=latest'),
      ask('/odata/Member', { headers: { Prefer: 'odata.track-changes' } }),
      ask("/odata/Digest(ResourceName='Member')"),
      ask('/odata/Property', { method: 'POST', body: DRAFT }),
      ask("/odata/Property('x')", { method: 'PATCH', body: { City: 'X', ChangedByMemberKey: 'M1' } }),
      ask("/odata/Property('x')", { method: 'DELETE' }),
    ])
  const HEALTHY = [200, 404, 200, 200, 200, 200, 200, 200, 201, 404, 404]
  /** Lines of the log about requests below a path. */
  const linesOf = (path: string) =>
    service.process.output.out
      .split('\n')
      .filter(line => line.includes(`"path":"${path}`))
      .map(line => JSON.parse(line) as { readonly status: number })

  test('ERR-02 stopped while the service runs: 503 within seconds, also for the log, exports, delta links and digests, and it recovers without a restart', {
    timeout: 180_000,
  }, async () => {
    expect(await askAll()).toEqual(HEALTHY)
    await cluster.shutdownFast()
    for (let n = 0; n < 2; n++) expect(await askAll()).toEqual(HEALTHY.map(() => 503))
    const asked = { query: '{ properties { totalCount } }' }
    expect(await service.send('/graphql', { method: 'POST', body: asked })).toMatchObject({
      text: expect.stringContaining('5003'),
    })
    // The log has the cause for every kind of request.
    const refused = () => linesOf('/odata').filter(line => line.status === 503)
    await expect.poll(() => refused().length).toBe(2 * HEALTHY.length)
    await expect.poll(() => linesOf('/graphql').length).toBe(1)
    for (const line of [...refused(), ...linesOf('/graphql')])
      expect(line).toMatchObject({ reason: expect.stringMatching(/connect|terminat/i) })
    expect([await ask('/health/ready'), await ask('/health/live')]).toEqual([503, 200])
    await cluster.restart()
    await expect.poll(() => ask('/health/ready'), { timeout: 60_000 }).toBe(200)
    // FAI-08: the log says why it was not ready, and when it was again.
    await service.process.waitForOutput(/"reasons":\["The database does not answer: .*"msg":"not ready"}\n/)
    await service.process.waitForOutput(/"msg":"ready again"/)
    expect(await askAll()).toEqual(HEALTHY)
  })

  test('CHA-02 a server that has become read-only: writes are 503 and leave its connections, reads work', {
    timeout: 120_000,
  }, async () => {
    const database = await openDatabase({ ...DATABASE_LIMITS, databaseUrl: url(), dataDir: '' }, 'command')
    const query = (sql: string) =>
      database.withClient(async client => (await client.query<{ pid: number }>(sql)).rows)
    const sessions = async () =>
      (
        await query(`select pid from pg_stat_activity where backend_type = 'client backend'
          and pid <> pg_backend_pid() order by pid`)
      ).map(({ pid }) => pid)
    const write = () => ask('/odata/Property', { method: 'POST', body: DRAFT })
    await expect.poll(write, { timeout: 20_000 }).toBe(201)
    const before = await sessions()
    try {
      await query('alter system set default_transaction_read_only = on')
      await query('select pg_reload_conf()')
      await expect.poll(write, { timeout: 20_000 }).toBe(503)
      const countLeft = async () => {
        expect(await write()).toBe(503)
        const now = await sessions()
        return before.filter(pid => now.includes(pid)).length
      }
      await expect.poll(countLeft, { timeout: 20_000 }).toBeLessThan(before.length)
      await expect.poll(() => ask('/odata/Property?$top=1'), { timeout: 20_000 }).toBe(200)
    } finally {
      await query('alter system reset default_transaction_read_only')
      await query('select pg_reload_conf()')
    }
    await expect.poll(write, { timeout: 20_000 }).toBe(201)
    await database.close()
  })

  test('DBX-03 the pool runs out: 503 in bounded time, and it recovers without a restart', {
    timeout: 180_000,
  }, async () => {
    const database = await openDatabase({ ...DATABASE_LIMITS, databaseUrl: url(), dataDir: '' }, 'command')
    await database.withClient(async client => {
      await client.query('begin')
      await client.query('lock table "Property" in access exclusive mode')
      const many = await Promise.all(Array.from({ length: 30 }, () => ask('/odata/Property?$top=1')))
      expect(new Set(many)).toEqual(new Set([503]))
      const [busy] = await Promise.all([
        ask('/health/ready'),
        ...Array.from({ length: 4 }, () => ask('/odata/Property/$count')),
      ])
      expect([200, 503]).toContain(busy)
      expect(await ask('/health/live')).toBe(200)
      await client.query('rollback')
    })
    await database.close()
    await expect.poll(() => ask('/health/ready'), { timeout: 60_000 }).toBe(200)
    expect(await askAll()).toEqual(HEALTHY)
  })

  test('FAI-08 ready while other programs have all connections of the server; light reads are served or 503', {
    timeout: 120_000,
  }, async () => {
    const others: Client[] = []
    try {
      for (let isFull = false; !isFull; ) {
        const client = new Client({ connectionString: url() })
        client.on('error', () => undefined)
        isFull = await client.connect().then(
          () => false,
          () => true,
        )
        if (!isFull) others.push(client)
      }
      expect(others.length).toBeGreaterThan(1)
      for (let i = 0; i < 5; i++) {
        expect(await ask('/health/ready')).toBe(200)
        expect([200, 503]).toContain(await ask('/odata/Property?$top=1'))
        await wait(200)
      }
      const command = openDatabase({ ...DATABASE_LIMITS, databaseUrl: url(), dataDir: '' }, 'command')
      await expect(command).rejects.toThrow(
        /^The database of DATABASE_URL cannot be reached: .*too many clients/,
      )
    } finally {
      await Promise.all(others.map(client => client.end()))
    }
    await expect.poll(() => ask('/odata/Property?$top=1'), { timeout: 20_000 }).toBe(200)
  })

  test('revocation is refused while the database is unavailable, and works afterwards', {
    timeout: 60_000,
  }, async () => {
    const database = await openDatabase({ ...DATABASE_LIMITS, databaseUrl: url(), dataDir: '' }, 'command')
    const { client, secret } = await clientServiceOf(database).add({ Name: 'Partner', ...READING_CLIENT })
    await database.close()
    const post = (endpoint: string, form: Readonly<Record<string, string>>) =>
      service.send(`/oauth/${endpoint}`, {
        method: 'POST',
        headers: {
          Authorization: basic({ id: client.ClientId, secret }),
          'Content-Type': 'application/x-www-form-urlencoded',
        },
        rawBody: new URLSearchParams(form).toString(),
      })
    const requestToken = () => post('token', { grant_type: 'client_credentials' })
    await expect.poll(async () => (await requestToken()).status, { timeout: 10_000 }).toBe(200)
    const { access_token: token } = (await requestToken()).json as { readonly access_token: string }
    await cluster.shutdownFast()
    const refused = await post('revoke', { token })
    await cluster.restart()
    expect([refused.status, refused.json]).toEqual([
      503,
      expect.objectContaining({ error: 'temporarily_unavailable' }),
    ])
    await expect.poll(async () => (await post('revoke', { token })).status, { timeout: 10_000 }).toBe(200)
    await expect
      .poll(async () => (await post('introspect', { token })).json, { timeout: 10_000 })
      .toEqual({ active: false })
  })

  test('background work logs an outage as a warning without a stack, and continues after it', {
    timeout: 60_000,
  }, async () => {
    const database = await openDatabase({ ...DATABASE_LIMITS, databaseUrl: url(), dataDir: '' }, 'command')
    const warnings: unknown[] = []
    const errors: unknown[] = []
    const logger = {
      warn: (line: unknown) => warnings.push(line),
      error: (line: unknown) => errors.push(line),
    } as unknown as Pick<Logger, 'warn' | 'error'>
    const stop = new AbortController()
    await cluster.shutdownFast()
    const job = runSoldPriceJob(database, logger, stop.signal, 20)
    await expect.poll(() => warnings.length).toBeGreaterThan(0)
    // While it starts, PostgreSQL answers "the database system is starting up" and similar.
    await cluster.restart()
    const count = () => warnings.length
    await expect
      .poll(
        async () => {
          const before = count()
          await wait(200)
          return count() - before
        },
        { timeout: 10_000 },
      )
      .toBe(0)
    stop.abort()
    await job
    await database.close()
    expect(errors).toEqual([])
    for (const line of warnings) expect(line).toEqual({ cause: expect.stringMatching(/./) })
    expect(service.process.output.out.split('\n').filter(line => line.includes('"stack"'))).toEqual([])
  })
})
