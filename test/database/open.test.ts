import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isMigrated, migrate, readMigrations } from '../../src/data/migrate.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

describe.each(DATABASE_KINDS)('%s database', kind => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterAll(() => database.close())

  it('answers and is migrated', async () => {
    expect(await database.isReady()).toBe(true)
    expect(await isMigrated(database, await readMigrations())).toBe(true)
    expect(await migrate(database)).toEqual({ applied: [] })
  })

  it('has the same session settings', async () => {
    const sql = `select current_setting('TimeZone') as zone, current_setting('plan_cache_mode') as plan, current_setting('jit') as jit`
    expect(await database.prisma.$queryRawUnsafe(sql)).toEqual([{ zone: 'UTC', plan: 'force_custom_plan', jit: 'off' }])
  })
})
