import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { toUpdateStatement } from '../../src/data/sql/write-statements.js'
import {
  RecordChangedError,
  runInTransaction,
  runOptimistically,
  type UnitOfWork,
} from '../../src/data/write/unit-of-work.js'
import { NO_CHANGES } from '../../src/domain/listing-changes.js'
import { toWritePlan } from '../../src/domain/write-plan.js'
import { shapeOf, toParameters } from '../../src/domain/write-shape.js'
import { ProblemError } from '../../src/errors/problem.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const ANYONE = { scopes: new Set(['listings:write:any']), audience: 'staff' } as const
const find = async (unit: UnitOfWork, key: string) =>
  (await unit.findRuleInputs(key, [])).stored ?? expect.unreachable()
/** Writes a city if the record still has the version. */
function writeCity(unit: UnitOfWork, key: string, version: string, City: string) {
  const changes = { ...NO_CHANGES, values: { City } }
  const request = { mode: 'change' as const, actor: ANYONE, changes, precondition: { ifMatch: [version] } }
  return unit.write(
    toUpdateStatement(toWritePlan(shapeOf(request)), toParameters(request, key, new Date()), undefined),
  )
}

/** Waits until a session of the database waits for a lock. */
const untilBlocked = (client: Client) =>
  expect
    .poll(async () => {
      const { rowCount } = await client.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount
    })
    .toBe(1)

// The embedded database runs one transaction at a time, so no two of them wait for each other.
describe.runIf(DATABASE_KINDS.includes('server'))('a unit of work', () => {
  let database: TestDatabase
  // Longer than deadlock_timeout, which is a second.
  beforeAll(async () => {
    database = await openTestDatabase('server', { poolWaitMs: 5000 })
    for (const ListingKey of ['A', 'B']) await database.prisma.property.create({ data: { ListingKey } })
  })
  afterEach(() => vi.restoreAllMocks())
  afterAll(() => database.close())

  const cityOf = async (ListingKey: string) =>
    (await database.prisma.property.findUnique({ where: { ListingKey } }))?.City

  it('waits for another one that wants the same records in the opposite order', async () => {
    let runs = 0
    const cross = (first: string, second: string, City: string) =>
      runInTransaction(database, async unit => {
        runs++
        const { RecordVersion } = await find(unit, first)
        await sleep(100)
        await find(unit, second)
        await writeCity(unit, first, RecordVersion, City)
      })
    await Promise.all([cross('A', 'B', 'one'), cross('B', 'A', 'two')])
    expect([runs, await cityOf('A'), await cityOf('B')]).toEqual([2, 'one', 'two'])
  })

  it('runs again after a deadlock with a program that locks records before the log', async () => {
    let runs = 0
    await database.withClient(async other => {
      await other.query(`begin; select from "Property" where "ListingKey" = 'B' for update`)
      const written = runInTransaction(database, async unit => {
        runs++
        const { RecordVersion } = await find(unit, 'A')
        await find(unit, 'B')
        await writeCity(unit, 'A', RecordVersion, 'ours')
      })
      await untilBlocked(other)
      await other.query(`update "Property" set "City" = 'theirs'`)
      await other.query('commit')
      await written
    })
    expect([runs, await cityOf('A'), await cityOf('B')]).toEqual([2, 'ours', 'theirs'])
  })

  it('of one statement locks the log before its records', async () => {
    await database.withClient(async other => {
      await other.query(`begin; select lock_change_log()`)
      // Prisma sends a statement when its promise is used.
      const waiting = database.prisma.property
        .update({ where: { ListingKey: 'A' }, data: { City: 'last' } })
        .then(() => undefined)
      await untilBlocked(other)
      // If the update held the record while it waits, this would be a deadlock.
      await other.query(`update "Property" set "City" = 'first' where "ListingKey" = 'A'`)
      await other.query('commit')
      await waiting
    })
    expect(await cityOf('A')).toBe('last')
  })

  it('that waits too long for a record is refused as busy, and other errors are unchanged', async () => {
    await runInTransaction(database, async unit => {
      await find(unit, 'A')
      const second: unknown = await runInTransaction(database, other => find(other, 'A')).catch(
        (e: unknown) => e,
      )
      expect(second instanceof ProblemError && second.problems).toMatchObject([
        { kind: 'Unavailable', reason: 'busy', wait: expect.stringMatching(/^(connection|lock)$/) },
      ])
    })
    await expect(runInTransaction(database, () => Promise.reject(new TypeError('ours')))).rejects.toThrow(
      new TypeError('ours'),
    )
  })

  it('is not tried again when its attempts have taken long', async () => {
    const conflict = Object.assign(new Error('conflict'), { code: '40001' })
    const countRuns = async (run: (work: () => Promise<never>) => Promise<unknown>, attemptMs: number) => {
      let runs = 0
      const { now } = performance
      vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + runs * attemptMs)
      const attempt = () => {
        runs++
        return Promise.reject(conflict)
      }
      await expect(run(attempt)).rejects.toThrow(ProblemError)
      vi.restoreAllMocks()
      return runs
    }
    const locked = (work: () => Promise<never>) => runInTransaction(database, work)
    const unlocked = (work: () => Promise<never>) => runOptimistically(database, work)
    expect([await countRuns(locked, 0), await countRuns(unlocked, 0)]).toEqual([4, 6])
    // One attempt without a lock, and one with it.
    expect([await countRuns(locked, 15_000), await countRuns(unlocked, 15_000)]).toEqual([1, 2])
  })

  it('whose rules hold after a refusal is tried again, the third time under the lock of the record', async () => {
    let wasFaster = 0
    const overtake = (unit: UnitOfWork) =>
      find(unit, 'B').then(({ RecordVersion }) => writeCity(unit, 'B', RecordVersion, String(wasFaster)))
    const written = await runOptimistically(database, async unit => {
      const { RecordVersion } = await find(unit, 'B')
      // With the lock, no other write can be first.
      const isFaster = await runInTransaction(database, overtake).then(
        () => true,
        () => false,
      )
      if (isFaster) wasFaster++
      const result = await writeCity(unit, 'B', RecordVersion, 'mine')
      if (!result) throw new RecordChangedError()
      return result
    })
    expect([wasFaster, await cityOf('B')]).toEqual([2, 'mine'])
    expect((await find(await unitOf(database), 'B')).RecordVersion).toBe(written.version)
  })
})

const unitOf = (database: TestDatabase): Promise<UnitOfWork> =>
  runOptimistically(database, async unit => unit)
