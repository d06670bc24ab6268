import { Client } from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type RunningServer, startServer } from '../../src/app.js'
import { readConfig } from '../../src/config/config.js'
import { createSender, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'
import { createTestEnvironment, FULL_ACCESS_TOKEN, type TestEnvironment } from '../support/process.js'

type LogLine = Readonly<Record<string, unknown>>

// Another session holds a lock or makes a statement sleep, so the times do not depend on the machine.
describe.runIf(DATABASE_KINDS.includes('server'))('slow statements and waits that are too long', () => {
  const lines: LogLine[] = []
  let place: TestEnvironment
  let other: Client
  const servers: RunningServer[] = []
  beforeAll(async () => {
    place = await createTestEnvironment('server')
    other = new Client({ connectionString: place.env['DATABASE_URL'] })
    await other.connect()
  })
  afterEach(async () => {
    lines.length = 0
    for (const server of servers.splice(0)) await server.close()
  })
  afterAll(async () => {
    await other?.end()
    await place?.remove()
  })

  async function start(env: Readonly<Record<string, string>>): Promise<TestApp['send']> {
    const config = readConfig({ ...place.env, PORT: '0', LOG_LEVEL: 'info', ...env })
    const logger = pino({ level: 'info', base: null }, { write: line => lines.push(JSON.parse(line)) })
    const server = await startServer(config, logger, () => undefined)
    servers.push(server)
    return createSender(`http://127.0.0.1:${server.port}`, `Bearer ${FULL_ACCESS_TOKEN}`)
  }
  const linesWith = (message: string) => lines.filter(line => line['msg'] === message)
  const lock = () => other.query('begin; lock table "Property" in access exclusive mode')
  const unlock = () => other.query('rollback')
  /** Waits until a statement has waited for the lock at least this long, in ms. */
  const untilWaited = (ms: number) =>
    expect
      .poll(
        async () => {
          const { rows } = await other.query(
            `select coalesce(max(extract(epoch from clock_timestamp() - waitstart) * 1000), 0)::float8 as ms from pg_locks
              where relation = '"Property"'::regclass and not granted`,
          )
          return Number(rows[0].ms)
        },
        { timeout: 20_000, interval: 100 },
      )
      .toBeGreaterThan(ms)

  test('FAI-08 the start warns if the processes may open more connections than the server allows', async () => {
    await start({ POOL_SIZE: '400' })
    const [line = {}] = lines.filter(({ msg }) => String(msg).includes('max_connections'))
    expect(line).toMatchObject({
      level: 40,
      msg: expect.stringMatching(
        /^POOL_SIZE and WORKERS allow 403 connections; max_connections of the server leaves \d+\.$/,
      ),
    })
    lines.length = 0
    await start({ POOL_SIZE: '5' })
    expect(lines.filter(({ msg }) => String(msg).includes('max_connections'))).toEqual([])
  })

  test('a slow statement is logged with its shape, hash, rows and waits, and without values', async () => {
    const send = await start({ SLOW_QUERY_MS: '400' })
    await other.query(
      `insert into "Property" ("ListingKey", "City", "StandardStatus") values ('S1', 'SECRET CITY', 'Active')`,
    )
    await lock()
    const filter = "City eq 'SECRET CITY' and ListPrice ne 424242.5"
    const answer = send(
      `/odata/Property?$filter=${filter}&$compute=BedroomsTotal mul 2 as SecretName&$top=31`,
    )
    await untilWaited(1400)
    await unlock()
    expect((await answer).json).toMatchObject({ value: [{ ListingKey: 'S1' }] })
    const [line = {}] = linesWith('slow query')
    expect(line).toMatchObject({
      level: 40,
      operation: 'Property records',
      client: expect.any(String),
      rows: 1,
      hash: expect.stringMatching(/^[\w-]{27}$/),
      statement: expect.stringMatching(/from "Property" r0 .*"City".*\$\d/s),
    })
    expect(Number(line['ms'])).toBeGreaterThan(1000)
    expect(Number(line['lockWaitMs'])).toBeGreaterThan(100)
    expect(Number(line['waitedMs'])).toBeGreaterThan(100)
    expect(JSON.stringify(linesWith('slow query'))).not.toMatch(/SECRET CITY|424242|SecretName|limit 3\d/)
    await expect.poll(() => linesWith('request').map(({ id }) => id)).toContain(line['id'])
    await other.query(`delete from "Property"`)
  })

  test('SLOW_QUERY_MS=0 logs none', async () => {
    const send = await start({ SLOW_QUERY_MS: '0' })
    await lock()
    const answer = send('/odata/Property?$top=1')
    await untilWaited(1000)
    await unlock()
    expect((await answer).status).toBe(200)
    expect(linesWith('slow query')).toEqual([])
  })

  test('a long wait for a lock is reported to the client and in the log', async () => {
    const send = await start({ POOL_WAIT_MS: '2000', POOL_SIZE: '4' })
    await lock()
    const answer = await send('/odata/Property?$top=1')
    await unlock()
    expect(answer).toMatchObject({ status: 503, json: { error: { code: '5003' } } })
    expect(answer.text).toContain('waited too long for a lock')
    await expect
      .poll(() => linesWith('request'))
      .toMatchObject([
        { status: 503, wait: 'lock', reason: expect.stringContaining('for a lock of session') },
      ])
  })

  test('so does a wait for a connection', async () => {
    const send = await start({ POOL_WAIT_MS: '1500', POOL_SIZE: '1', STATEMENT_TIMEOUT_MS: '20000' })
    await lock()
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => send('/odata/Property?$top=1')))
    await unlock()
    const texts = answers.map(({ text }) => text).join()
    expect(texts).toContain('waited too long for a database connection')
    await expect
      .poll(() => linesWith('request').map(({ wait }) => wait))
      .toEqual(expect.arrayContaining(['connection']))
  })

  test('so does a statement that runs too long, by both adapters', async () => {
    const send = await start({ STATEMENT_TIMEOUT_MS: '2000', SLOW_QUERY_MS: '1500' })
    await other.query(`insert into "Member" ("MemberKey") values ('M1');
      insert into "Property" ("ListingKey", "StandardStatus", "ListAgentKey") values ('S2', 'Active', 'M1');
      create function sleep_on_update() returns trigger language plpgsql as $$ begin perform pg_sleep(20); return new; end $$;
      create trigger "AAA_sleep" before update on "Property" for each row execute function sleep_on_update()`)
    const answer = await send("/odata/Property('S2')", {
      method: 'PATCH',
      body: { City: 'X', ChangedByMemberKey: 'M1' },
    })
    expect(answer).toMatchObject({ status: 503, json: { error: { code: '5003' } } })
    expect(answer.text).toContain('its statement ran too long')
    const query =
      'mutation { updateProperty(ListingKey: "S2", input: { City: "X", ChangedByMemberKey: "M1" }) { City } }'
    const body = (await send('/graphql', { method: 'POST', body: { query } })).text
    expect(body).toContain('its statement ran too long')
    await expect
      .poll(() => linesWith('request'))
      .toMatchObject([
        { status: 503, wait: 'statement', reason: expect.stringContaining('statement timeout') },
        { wait: 'statement' },
      ])
    expect(linesWith('slow query')).toMatchObject([{ failed: true, rows: 0 }, { failed: true }])
  })
})
