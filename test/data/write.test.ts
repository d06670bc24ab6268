import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inTransaction, type UnitOfWork, writeAlone } from '../../src/data/write.js'
import { ProblemError } from '../../src/errors/problem.js'
import { TRUE } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const NO_KEYS = { Member: new Set<string>(), Office: new Set<string>() }
const find = async (unit: UnitOfWork, key: string) => (await unit.find(key, TRUE, NO_KEYS)) ?? expect.unreachable()

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
      inTransaction(database, async unit => {
        runs++
        const { version } = await find(unit, first)
        if (++waiting >= 2) open()
        await gate
        await find(unit, second)
        await unit.update(first, version, { City }, undefined)
      })
    await Promise.all([cross('A', 'B', 'one'), cross('B', 'A', 'two')])
    expect(runs).toBe(3)
    expect(await database.prisma.property.findMany({ select: { City: true }, orderBy: { ListingKey: 'asc' } })).toEqual([{ City: 'one' }, { City: 'two' }])
  })

  it('that waits too long for a record is refused as busy, and another fault is passed on', async () => {
    await inTransaction(database, async unit => {
      await find(unit, 'A')
      const second: unknown = await inTransaction(database, other => find(other, 'A')).catch((e: unknown) => e)
      expect(second instanceof ProblemError && second.problems).toEqual([{ kind: 'Unavailable', reason: 'busy' }])
    })
    await expect(inTransaction(database, () => Promise.reject(new TypeError('ours')))).rejects.toThrow(new TypeError('ours'))
  })

  it('that is alone is judged again when another was faster', async () => {
    let runs = 0
    const hurry = (unit: UnitOfWork) => find(unit, 'A').then(({ version }) => unit.update('A', version, { City: 'faster' }, undefined))
    await writeAlone(database, async unit => {
      runs++
      const { version } = await find(unit, 'A')
      if (runs === 1) await inTransaction(database, hurry)
      return unit.update('A', version, { StreetName: 'mine' }, undefined)
    })
    expect(runs).toBe(2)
    expect(await database.prisma.property.findUnique({ where: { ListingKey: 'A' } })).toMatchObject({ City: 'faster', StreetName: 'mine' })
  })

  it('that is overtaken again and again waits for its turn', async () => {
    let wasFaster = 0
    const hurry = (unit: UnitOfWork) => find(unit, 'B').then(({ version }) => unit.update('B', version, { City: String(wasFaster) }, undefined))
    const removed = writeAlone(database, async unit => {
      const { version } = await find(unit, 'B')
      // Under the lock nobody gets ahead.
      const isFaster = await inTransaction(database, hurry).then(() => true, () => false) // biome-ignore format: one line
      if (isFaster) wasFaster++
      return unit.remove('B', version)
    })
    await removed
    expect(wasFaster).toBe(2)
    expect(await database.prisma.property.count({ where: { ListingKey: 'B' } })).toBe(0)
  })
})
