import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../../src/data/write.js'
import { ProblemError } from '../../src/errors/problem.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const NO_KEYS = { Member: new Set<string>(), Office: new Set<string>() }

// The embedded database runs one transaction at a time, so there is no deadlock in it.
describe.runIf(DATABASE_KINDS.includes('server'))('a unit of work', () => {
  let database: TestDatabase
  // Longer than the second after which PostgreSQL looks for deadlocks.
  beforeAll(async () => {
    database = await openTestDatabase('server', { poolWaitMs: 3000 })
    for (const ListingKey of ['A', 'B']) await database.prisma.property.create({ data: { ListingKey } })
  })
  afterAll(() => database.close())

  it('that lost in a deadlock is run again', async () => {
    let waiting = 0
    let open = (): void => undefined
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    let runs = 0
    const cross = (first: string, second: string, City: string) =>
      inTransaction(database.prisma, async unit => {
        runs++
        await unit.lock(first, NO_KEYS)
        if (++waiting >= 2) open()
        await gate
        await unit.lock(second, NO_KEYS)
        await unit.update(first, { City })
      })
    await Promise.all([cross('A', 'B', 'one'), cross('B', 'A', 'two')])
    expect(runs).toBe(3)
    expect(await database.prisma.property.findMany({ select: { City: true }, orderBy: { ListingKey: 'asc' } })).toEqual([{ City: 'one' }, { City: 'two' }])
  })

  it('that waits too long for a record is refused as busy, and another fault is passed on', async () => {
    await inTransaction(database.prisma, async unit => {
      await unit.lock('A', NO_KEYS)
      const second: unknown = await inTransaction(database.prisma, other => other.lock('A', NO_KEYS)).catch((e: unknown) => e)
      expect(second instanceof ProblemError && second.problems).toEqual([{ kind: 'Unavailable', reason: 'busy' }])
    })
    await expect(inTransaction(database.prisma, () => Promise.reject(new TypeError('ours')))).rejects.toThrow(new TypeError('ours'))
  })
})
