import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Migration, migrate, readMigrations } from '../../src/data/migrate.js'
import { createReadinessCheck } from '../../src/data/readiness.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const toMigration = (name: string, sql: string): Migration => ({
  name,
  sql,
  checksum: `checksum of ${name}`.padEnd(64, '0').slice(0, 64),
})

describe.each(DATABASE_KINDS)('migrations of the %s database', kind => {
  let database: TestDatabase
  let known: readonly Migration[]

  beforeAll(async () => {
    database = await openTestDatabase(kind)
    known = await readMigrations()
  })
  afterAll(() => database.close())

  it('are written into the table of Prisma', async () => {
    const rows = await database.prisma.$queryRawUnsafe(
      `select migration_name as name, checksum, applied_steps_count as steps, finished_at >= started_at as done, rolled_back_at, logs from "_prisma_migrations" order by 1`,
    )
    expect(rows).toEqual(
      known.map(({ name, checksum }) => ({
        name,
        checksum,
        steps: 1,
        done: true,
        rolled_back_at: null,
        logs: null,
      })),
    )
  })

  it('roll back a migration that fails, and report its name and line', async () => {
    const broken = toMigration('99999999999998_broken', 'create table half (id int);\nselect nonsense;')
    await expect(migrate(database, [...known, broken])).rejects.toThrow(
      /99999999999998_broken failed, .*nonsense.* \(line 2 /,
    )
    expect(await database.prisma.$queryRawUnsafe(`select to_regclass('half') is null as gone`)).toEqual([
      { gone: true },
    ])
    expect(await createReadinessCheck(database, known)()).toMatchObject({ isReady: true })
    expect(await createReadinessCheck(database, [...known, broken])()).toMatchObject({ isReady: false })
  })

  it('are applied once by several processes that start together', async () => {
    const added = toMigration('99999999999999_added', 'create table added (id int)')
    const results = await Promise.all([1, 2, 3].map(() => migrate(database, [...known, added])))
    expect(results.flatMap(({ applied }) => applied)).toEqual([added.name])
  })

  it('refuse a database that is newer than the code', async () => {
    await expect(migrate(database, known)).rejects.toThrow(/newer .* 99999999999999_added/)
  })

  it('refuse a file that was changed after it was applied', async () => {
    const changed = known.map((migration, i) =>
      i === 0 ? { ...migration, checksum: '0'.repeat(64) } : migration,
    )
    await expect(migrate(database, changed)).rejects.toThrow(/was changed after it was applied/)
  })
})
