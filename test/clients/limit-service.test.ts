import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/data/database.js'
import type { Client, ClientLimits } from '../../src/domain/clients/client.js'
import type { RequestQuotaState } from '../../src/domain/clients/limiter.js'
import { ProblemError } from '../../src/errors/problem.js'
import { LimitService } from '../../src/service/limits/limit-service.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// The limits of clients without HTTP. Each LimitService represents a process.

let clientCount = 0
const clientOf = (limits: ClientLimits): Client => {
  clientCount += 1
  return {
    id: `client-${clientCount}`,
    name: 'Client',
    scopes: [],
    audience: 'public',
    limits,
    secrets: [],
    publicKeys: [],
    isDisabled: false,
    isRemoved: false,
  }
}

/** A process whose directory has these clients. */
function createProcess(database: Pick<Database, 'queryControl'>) {
  const clients = new Map<string, Client>()
  const listeners = new Set<() => void>()
  const statements: { readonly at: number; readonly subject: unknown }[] = []
  const refusals: string[] = []
  const service = new LimitService({
    database: {
      queryControl: statement => {
        if (statement.text.includes('take_quotas'))
          statements.push({ at: performance.now(), subject: statement.values[1] })
        return database.queryControl(statement)
      },
    },
    directory: {
      find: id => clients.get(id),
      subscribe: listener => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    usage: { add: () => undefined },
    onRefusal: (limit, { audience }) => refusals.push(`${limit} ${audience}`),
  })
  const set = (client: Client) => {
    clients.set(client.id, client)
    for (const listener of listeners) listener()
  }
  return { service, set, statements, refusals }
}

type Outcome = RequestQuotaState | { readonly refused: ProblemError }

async function take(
  { service }: Pick<ReturnType<typeof createProcess>, 'service'>,
  client: Client,
  count = 1,
): Promise<Outcome> {
  try {
    return (await service.allowanceOf(client).takeRequests(count)) ?? expect.fail('no limit')
  } catch (error) {
    if (error instanceof ProblemError) return { refused: error }
    throw error
  }
}
const isRefused = (outcome: Outcome) => 'refused' in outcome
const retryAfterOf = (outcome: Outcome) => {
  const [problem] = 'refused' in outcome ? outcome.refused.problems : []
  return problem?.kind === 'TooManyRequests' ? problem.retryAfter : undefined
}

describe.each(DATABASE_KINDS)('limits of clients on the %s database', kind => {
  let database: TestDatabase
  const processes: ReturnType<typeof createProcess>[] = []
  const open = (of: Pick<Database, 'queryControl'> = database) => {
    const process = createProcess(of)
    processes.push(process)
    return process
  }
  const setWindows = (client: Client, interval: string) =>
    database.queryControl({
      text: `update "admin"."Quota" set "WindowStart" = "WindowStart" - $2::interval where "Subject" = $1`,
      values: [client.id, interval],
    })
  const takenOf = async (client: Client, quota: string) => {
    const [row] = await database.queryControl<{ readonly taken: number }>({
      text: 'select "Taken"::int as taken from "admin"."Quota" where "Subject" = $1 and "Kind" = $2',
      values: [client.id, quota],
    })
    return row?.taken
  }
  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterEach(() => Promise.all(processes.splice(0).map(({ service }) => service.close())))
  afterAll(() => database?.close())

  test('LIM-01 four processes together accept as many requests as the limit, and Remaining is never too high', async () => {
    const four = [open(), open(), open(), open()]
    const client = clientOf({ requestsPerDay: 200 })
    // Each process counts the others.
    const other = clientOf({ requestsPerDay: 1000 })
    await expect
      .poll(
        async () => {
          const states = await Promise.all(four.map(process => take(process, other)))
          return states.every(state => 'remaining' in state && state.remaining < 900)
        },
        { timeout: 15_000, interval: 500 },
      )
      .toBe(true)
    let passed = 0
    const wrong: unknown[] = []
    const work = async (process: (typeof four)[number]) => {
      for (;;) {
        const outcome = await take(process, client)
        if (isRefused(outcome)) return outcome
        passed += 1
        if ('remaining' in outcome && outcome.remaining > 200 - passed)
          wrong.push([passed, outcome.remaining])
      }
    }
    const outcomes = await Promise.all(four.flatMap(process => [work(process), work(process), work(process)]))
    expect(passed).toBeLessThanOrEqual(200)
    expect(passed).toBeGreaterThanOrEqual(190)
    expect(wrong).toEqual([])
    expect(outcomes.map(retryAfterOf)).toEqual(outcomes.map(() => expect.any(Number)))
    for (const { statements } of four) {
      const own = statements.filter(({ subject }) => subject === client.id)
      const gaps = own.slice(1).map(({ at }, i) => at - (own[i]?.at ?? 0))
      expect(Math.min(...gaps, 1000)).toBeGreaterThanOrEqual(990)
    }
  }, 60_000)

  test('a single process returns the exact remainder without a statement for each request', async () => {
    const process = open()
    const client = clientOf({ requestsPerMinute: 1000 })
    const remaining: number[] = []
    for (let i = 0; i < 20; i++) {
      const outcome = await take(process, client)
      if ('remaining' in outcome) remaining.push(outcome.remaining)
    }
    expect(remaining).toEqual(Array.from({ length: 20 }, (_, i) => 999 - i))
    expect(process.statements).toHaveLength(1)
  })

  test('LIM-07 a restart does not renew the allowance, and a process that stops returns its portion', async () => {
    const client = clientOf({ requestsPerMinute: 100 })
    const first = open()
    await take(first, client)
    expect(await takenOf(client, 'minute')).toBeGreaterThan(1)
    await first.service.close()
    expect(await takenOf(client, 'minute')).toBe(1)
    expect(await take(open(), client)).toMatchObject({ limit: 100, remaining: 98 })
  })

  test('an idle process returns its reserve for bursts', async () => {
    const client = clientOf({ requestsPerDay: 100 })
    const process = open()
    // The process retains 5 % of the limit.
    await Promise.all(Array.from({ length: 30 }, () => take(process, client)))
    await expect.poll(() => takenOf(client, 'day'), { timeout: 15_000 }).toBe(35)
  }, 30_000)

  test('LIM-07 a new window has the whole limit, and minutes of clients end at different seconds', async () => {
    const client = clientOf({ requestsPerMinute: 2 })
    const process = open()
    const outcomes = [await take(process, client), await take(process, client), await take(process, client)]
    expect(outcomes.map(isRefused)).toEqual([false, false, true])
    await setWindows(client, '1 minute')
    expect(await take(open(), client)).toMatchObject({ remaining: 1 })
    const resets = new Set<number>()
    for (let i = 0; i < 6; i++) {
      const outcome = await take(process, clientOf({ requestsPerMinute: 5 }))
      if ('resetSeconds' in outcome) resets.add(outcome.resetSeconds)
    }
    expect(resets.size).toBeGreaterThan(1)
  })

  test('LIM-08 days are in UTC, whatever the time zone of the session', async () => {
    const client = clientOf({ requestsPerDay: 10 })
    const [row] = await database.withClient(async connection => {
      await connection.query(`set timezone = 'America/New_York'`)
      const sql = `select extract(epoch from window_start::timestamptz)::float8 as start, milliseconds_left
        from "admin"."take_quotas"('p', $1, '{day}', '{10}', '{null}', '{0}', '{1}')`
      return (await connection.query<{ start: number; milliseconds_left: number }>(sql, [client.id])).rows
    })
    await database.queryControl({
      text: `delete from "admin"."LimitProcess" where "ProcessId" = 'p'`,
      values: [],
    })
    const now = Date.now()
    const midnight = Math.floor(now / 86_400_000) * 86_400
    expect(row?.start).toBe(midnight)
    expect(Math.abs((row?.milliseconds_left ?? 0) - ((midnight + 86_400) * 1000 - now))).toBeLessThan(60_000)
  })

  test('LIM-03 Retry-After is that of the limit with the latest end, and refusals are not counted', async () => {
    const client = clientOf({ requestsPerMinute: 3, requestsPerDay: 3 })
    const process = open()
    for (let i = 0; i < 3; i++) expect(isRefused(await take(process, client))).toBe(false)
    const refused = await take(process, client)
    const now = Date.now()
    const untilMidnight = (Math.ceil(now / 86_400_000) * 86_400_000 - now) / 1000
    expect(Math.abs((retryAfterOf(refused) ?? 0) - untilMidnight)).toBeLessThan(60)
    expect(await takenOf(client, 'day')).toBe(3)
    expect(process.refusals).toEqual(['requestsPerDay public'])
  })

  test('LIM-02 a change set is counted or refused as a whole', async () => {
    const client = clientOf({ requestsPerDay: 10 })
    const process = open()
    expect(isRefused(await take(process, client, 8))).toBe(false)
    expect(isRefused(await take(process, client, 3))).toBe(true)
    expect(await take(process, client, 2)).toMatchObject({ remaining: 0 })
    expect(isRefused(await take(process, client))).toBe(true)
  }, 30_000)

  test('a reduced limit includes earlier usage, and a removed limit no longer applies', async () => {
    const client = clientOf({ requestsPerDay: 1000 })
    const process = open()
    process.set(client)
    for (let i = 0; i < 5; i++) await take(process, client)
    process.set({ ...client, limits: { requestsPerDay: 6 } })
    const outcomes = [await take(process, client), await take(process, client)]
    expect(outcomes.map(isRefused)).toEqual([false, true])
    process.set({ ...client, limits: {} })
    expect(process.service.allowanceOf(client).takeRequests(1)).toBeUndefined()
  }, 30_000)

  test('rows: a page may exceed the remainder, and the next one is refused', async () => {
    const client = clientOf({ rowsPerDay: 100 })
    const process = open()
    const allowance = process.service.allowanceOf(client)
    await allowance.checkRows()
    allowance.addRows(70)
    await allowance.checkRows()
    allowance.addRows(70)
    await expect(Promise.resolve().then(() => allowance.checkRows())).rejects.toThrow('TooManyRequests')
    await expect
      .poll(async () => {
        await Promise.resolve()
          .then(() => allowance.checkRows())
          .catch(() => undefined)
        return takenOf(client, 'rows')
      })
      .toBe(140)
    await expect(
      Promise.resolve().then(() => open().service.allowanceOf(client).checkRows()),
    ).rejects.toThrow()
  }, 30_000)

  test('while the database is unavailable, a process uses up its portion, then answers 503', async () => {
    let isAway = false
    const process = open({
      queryControl: statement =>
        isAway ? Promise.reject(new Error('connection refused')) : database.queryControl(statement),
    })
    const client = clientOf({ requestsPerDay: 100 })
    await take(process, client)
    isAway = true
    const outcomes: Outcome[] = []
    for (let i = 0; i < 6; i++) outcomes.push(await take(process, client))
    expect(outcomes.map(isRefused)).toEqual([false, false, false, false, true, true])
    expect(outcomes.at(-1)).toMatchObject({
      refused: { problems: [{ kind: 'Unavailable', reason: 'clients' }] },
    })
    isAway = false
    expect(isRefused(await take(process, client))).toBe(false)
  }, 30_000)

  test('running statements are divided by the number of processes', async () => {
    const client = clientOf({ runningStatements: 4 })
    const two = [open(), open()]
    const permits = two.map(
      ({ service }) => service.allowanceOf(client).statements ?? expect.fail('no limit'),
    )
    const heldBy = (i: number) => {
      let held = 0
      while (permits[i]?.tryAcquire('x')) held += 1
      for (let n = 0; n < held; n++) permits[i]?.release('x')
      return held
    }
    await expect.poll(() => [heldBy(0), heldBy(1)], { timeout: 20_000, interval: 200 }).toEqual([2, 2])
    await wait(0)
  }, 30_000)
})
