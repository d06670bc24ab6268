import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { migrate, readMigrations } from '../../src/data/migrate.js'
import { createReadinessCheck } from '../../src/data/readiness.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

describe.each(DATABASE_KINDS)('%s database', kind => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterAll(() => database.close())

  it('answers and is migrated', async () => {
    const check = createReadinessCheck(database, await readMigrations())
    expect(await check()).toMatchObject({ isReady: true })
    expect(await migrate(database)).toEqual({ applied: [] })
  })

  it('has the same session settings', async () => {
    const sql = `select current_setting('TimeZone') as zone, current_setting('plan_cache_mode') as plan, current_setting('jit') as jit`
    expect(await database.prisma.$queryRawUnsafe(sql)).toEqual([
      { zone: 'UTC', plan: 'force_custom_plan', jit: 'off' },
    ])
  })
})

describe.runIf(DATABASE_KINDS.includes('server'))('an unused connection', () => {
  it('stays open for minutes with its plans, and not forever', async () => {
    const database = await openTestDatabase('server', { poolSize: 1 })
    const sessionAfter = async (minutes: number) => {
      await vi.advanceTimersByTimeAsync(minutes * 60_000)
      return (
        await database.reader.query<{ id: number }>({ text: 'select pg_backend_pid() as "id"', values: [] })
      )[0]?.id
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const session = await sessionAfter(0)
      expect(session).toBeTypeOf('number')
      expect(await sessionAfter(9)).toBe(session)
      expect(await sessionAfter(11)).not.toBe(session)
    } finally {
      vi.useRealTimers()
      await database.close()
    }
  })
})
