import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import { RequestScope } from '../../src/domain/request-scope.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toPlan } from '../support/oracle/plans.js'

// PrismaClient runs its statements on the connections of the SQL engine: in turn, within the same limits, and
// canceled with their request.

const POOL_SIZE = 4
const WITH_ROOMS = toPlan('$select=City&$expand=Rooms($select=RoomLevel)')
/** Sessions of the service that wait for a lock. */
const COUNT_WAITING = `select count(*)::int as n from pg_stat_activity
  where datname = current_database() and application_name = 'listing-service' and wait_event_type = 'Lock'`
const COUNT_SESSIONS = `select count(*)::int as n from pg_stat_activity
  where datname = current_database() and application_name = 'listing-service'`
const COUNT_OPEN_TRANSACTIONS = `${COUNT_SESSIONS} and state like 'idle in transaction%'`

describe.each(DATABASE_KINDS)('Prisma on the connections of the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind, { poolSize: POOL_SIZE, readEngine: 'prisma' })
    await database.prisma.office.create({ data: { OfficeKey: 'O1' } })
  })
  afterAll(() => database?.close())

  test('a transaction runs concurrent statements one after another', async () => {
    const found = await database.prisma.$transaction(async tx => {
      await tx.office.update({ where: { OfficeKey: 'O1' }, data: { OfficeName: 'inside' } })
      return Promise.all([1, 2, 3].map(() => tx.office.findFirst({ select: { OfficeName: true } })))
    })
    expect(found).toEqual([1, 2, 3].map(() => ({ OfficeName: 'inside' })))
  })

  test('a transaction that fails leaves a connection without a transaction', async () => {
    const failing = database.prisma.$transaction(async tx => {
      await tx.office.update({ where: { OfficeKey: 'O1' }, data: { OfficeName: 'undone' } })
      throw new Error('stop')
    })
    await expect(failing).rejects.toThrow('stop')
    const failingInSql = database.prisma.$transaction(async tx => {
      await tx.office.update({ where: { OfficeKey: 'O1' }, data: { OfficeName: 'undone' } })
      await tx.$queryRaw`select 1 / 0`
    })
    await expect(failingInSql).rejects.toMatchObject({
      meta: { driverAdapterError: { cause: { originalCode: '22012' } } },
    })
    expect(await database.prisma.office.findFirst()).toMatchObject({ OfficeName: 'inside' })
  })

  test('an aborted request sends no further statement, not even in a transaction', async () => {
    const scope = new RequestScope('client')
    scope.abort()
    const executor = database.executorsFor(scope).reader
    for (const plan of [toPlan('$select=City'), WITH_ROOMS])
      await expect(readPage(executor, plan, ODATA_REPRESENTATION)).rejects.toMatchObject({
        problems: [{ kind: 'Unavailable', reason: 'canceled' }],
      })
  })
})

// The embedded database runs one statement at a time and has no second session.
describe.runIf(DATABASE_KINDS.includes('server'))('Prisma beside others on a server', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('server', {
      poolSize: POOL_SIZE,
      poolWaitMs: 1000,
      readEngine: 'prisma',
    })
    await database.prisma.property.create({ data: { ListingKey: 'P1' } })
  })
  afterAll(() => database?.close())

  const numberOf = (query: string) => async () =>
    (await database.queryControl<{ readonly n: number }>({ text: query, values: [] }))[0]?.n

  /** Runs a test while the rows of Rooms are locked. */
  const withLockedRooms = (callback: () => Promise<void>) =>
    database.withClient(async writer => {
      await writer.query('begin')
      await writer.query('lock table "Rooms" in access exclusive mode')
      await callback()
      await writer.query('rollback')
    })

  const read = (scope: RequestScope) =>
    readPage(database.executorsFor(scope).reader, WITH_ROOMS, ODATA_REPRESENTATION)

  test('an aborted request ends its read in the database', async () => {
    await withLockedRooms(async () => {
      const scope = new RequestScope('client')
      const page = read(scope).catch((error: unknown) => error)
      await expect.poll(numberOf(COUNT_WAITING)).toBe(1)
      scope.abort()
      expect(await page).toMatchObject({ problems: [{ kind: 'Unavailable', reason: 'canceled' }] })
      await expect.poll(numberOf(COUNT_WAITING)).toBe(0)
      await expect.poll(numberOf(COUNT_OPEN_TRANSACTIONS)).toBe(1) // the one that holds the lock
    })
  })

  test('a client cannot hold all connections of POOL_SIZE', async () => {
    await withLockedRooms(async () => {
      const pages = Array.from({ length: 8 }, () => read(new RequestScope('greedy')).catch(() => undefined))
      await expect.poll(numberOf(COUNT_WAITING)).toBeGreaterThan(0)
      const other = database.executorsFor(new RequestScope('other')).reader
      const page = await readPage(other, toPlan('$select=City'), ODATA_REPRESENTATION)
      expect(page.records.length).toBe(1)
      // One for control, one that holds the lock.
      expect(await numberOf(COUNT_SESSIONS)()).toBeLessThanOrEqual(POOL_SIZE + 2)
      await Promise.all(pages)
    })
  })

  test('a read that waits for a lock is refused after POOL_WAIT_MS, and names the wait', async () => {
    await withLockedRooms(async () => {
      const error = await read(new RequestScope('client')).catch((error: unknown) => error)
      expect(error).toMatchObject({ problems: [{ kind: 'Unavailable', reason: 'busy' }] })
      expect(String((error as Error).cause)).toMatch(/waited for a lock of session \d+/)
    })
  })

  test('a connection that is lost is replaced', async () => {
    const lost = database.prisma.$transaction(async tx => {
      const [row] = await tx.$queryRaw<{ pid: number }[]>`select pg_backend_pid() as pid`
      await database.queryControl({ text: 'select pg_terminate_backend($1)', values: [row?.pid] })
      await sleep(50)
      await tx.property.count()
    })
    await expect(lost).rejects.toThrow()
    for (let time = 0; time < 2 * POOL_SIZE; time++) expect(await database.prisma.property.count()).toBe(1)
  })
})
