import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { StatementExecutor } from '../../src/data/sql/statement.js'
import {
  createSnapshotCache,
  runInTransaction,
  runOptimistically,
  type UnitOfWork,
} from '../../src/data/write/unit-of-work.js'
import type { ReferencedKeys } from '../../src/domain/references.js'
import { fail, ProblemError } from '../../src/errors/problem.js'
import { type Expr, predicate, TRUE } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const NO_KEYS = { Member: new Set<string>(), Office: new Set<string>() }
const find = async (unit: UnitOfWork, key: string) =>
  (await unit.findListing(key, TRUE, NO_KEYS)) ?? expect.unreachable()

// The embedded database runs one transaction at a time, so no two of them wait for each other.
describe.runIf(DATABASE_KINDS.includes('server'))('a unit of work', () => {
  let database: TestDatabase
  // Longer than the second after which PostgreSQL looks for deadlocks.
  beforeAll(async () => {
    database = await openTestDatabase('server', { poolWaitMs: 3000 })
    for (const ListingKey of ['A', 'B']) await database.prisma.property.create({ data: { ListingKey } })
  })
  afterAll(() => database.close())

  const cityOf = async (ListingKey: string) =>
    (await database.prisma.property.findUnique({ where: { ListingKey } }))?.City

  it('waits for another one that wants the same records in the opposite order', async () => {
    let runs = 0
    const cross = (first: string, second: string, City: string) =>
      runInTransaction(database, async unit => {
        runs++
        const { version } = await find(unit, first)
        await sleep(100)
        await find(unit, second)
        await unit.update(first, version, { City }, undefined)
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
        const { version } = await find(unit, 'A')
        await find(unit, 'B')
        await unit.update('A', version, { City: 'ours' }, undefined)
      })
      await sleep(200)
      await other.query(`update "Property" set "City" = 'theirs'`)
      await other.query('commit')
      await written
    })
    expect([runs, await cityOf('A'), await cityOf('B')]).toEqual([2, 'ours', 'theirs'])
  })

  it('of one statement locks the log before its records', async () => {
    await database.withClient(async other => {
      await other.query(`begin; select lock_change_log()`)
      const waiting = database.prisma.property.update({ where: { ListingKey: 'A' }, data: { City: 'last' } })
      await sleep(200)
      // Until now the update held the record while it waited, and this was a deadlock.
      await other.query(`update "Property" set "City" = 'first' where "ListingKey" = 'A'`)
      await other.query('commit')
      await waiting
    })
    expect(await cityOf('A')).toBe('last')
  })

  it('that waits too long for a record is refused as busy, and another fault is passed on', async () => {
    await runInTransaction(database, async unit => {
      await find(unit, 'A')
      const second: unknown = await runInTransaction(database, other => find(other, 'A')).catch(
        (e: unknown) => e,
      )
      expect(second instanceof ProblemError && second.problems).toEqual([
        { kind: 'Unavailable', reason: 'busy' },
      ])
    })
    await expect(runInTransaction(database, () => Promise.reject(new TypeError('ours')))).rejects.toThrow(
      new TypeError('ours'),
    )
  })

  it('that is alone is judged again when another was faster', async () => {
    let runs = 0
    const hurry = (unit: UnitOfWork) =>
      find(unit, 'A').then(({ version }) => unit.update('A', version, { City: 'faster' }, undefined))
    await runOptimistically(database, createSnapshotCache(), async unit => {
      runs++
      const { version } = await find(unit, 'A')
      if (runs === 1) await runInTransaction(database, hurry)
      return unit.update('A', version, { StreetName: 'mine' }, undefined)
    })
    expect(runs).toBe(2)
    expect(await database.prisma.property.findUnique({ where: { ListingKey: 'A' } })).toMatchObject({
      City: 'faster',
      StreetName: 'mine',
    })
  })

  it('that is overtaken again and again waits for its turn', async () => {
    let wasFaster = 0
    const hurry = (unit: UnitOfWork) =>
      find(unit, 'B').then(({ version }) => unit.update('B', version, { City: String(wasFaster) }, undefined))
    const removed = runOptimistically(database, createSnapshotCache(), async unit => {
      const { version } = await find(unit, 'B')
      // Under the lock nobody gets ahead.
      const isFaster = await runInTransaction(database, hurry).then(
        () => true,
        () => false,
      )
      if (isFaster) wasFaster++
      return unit.remove('B', version)
    })
    await removed
    expect(wasFaster).toBe(2)
    expect(await database.prisma.property.count({ where: { ListingKey: 'B' } })).toBe(0)
  })
})

describe.each(DATABASE_KINDS)('a record that was written before, %s', kind => {
  let database: TestDatabase
  let statements: string[]
  const remembered = createSnapshotCache()
  const writer: StatementExecutor = {
    query: (statement, planning) => {
      statements.push(statement.text.slice(0, 6))
      return database.writer.query(statement, planning)
    },
  }
  const write = (work: (unit: UnitOfWork) => Promise<unknown>) =>
    runOptimistically({ ...database, writer }, remembered, work)
  const change = (City: string, keys = NO_KEYS, condition: Expr = TRUE) =>
    write(async unit => {
      const { listing, version, existingKeys } = await found(unit, keys, condition)
      if (listing.StandardStatus === 'Sold') fail({ kind: 'NotYours', entity: 'Property' })
      if (existingKeys.Member.size < keys.Member.size) fail({ kind: 'NotFound', what: 'a member' })
      return unit.update('R', version, { City }, undefined)
    })
  const found = async (unit: UnitOfWork, keys: ReferencedKeys, condition: Expr) => {
    const stored = await unit.findListing('R', condition, keys)
    return stored ?? fail({ kind: 'NotFound', what: 'the record' })
  }
  const stored = () => database.prisma.property.findUnique({ where: { ListingKey: 'R' } })

  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await database.prisma.member.create({ data: { MemberKey: 'M' } })
    await database.prisma.property.create({ data: { ListingKey: 'R', StandardStatus: 'Active' } })
  })
  beforeEach(async () => {
    statements = []
    await change('first')
    statements = []
  })
  afterAll(() => database?.close())

  it('is not looked at before it is written again', async () => {
    await change('again')
    expect(statements).toEqual(['update'])
    expect(await stored()).toMatchObject({ City: 'again' })
  })

  it('is looked at when somebody else has changed it', async () => {
    await database.prisma.property.update({ where: { ListingKey: 'R' }, data: { StreetName: 'theirs' } })
    await change('mine')
    expect(statements).toEqual(['update', 'select', 'update'])
    expect(await stored()).toMatchObject({ City: 'mine', StreetName: 'theirs' })
  })

  it('is refused for what is stored, not for what is remembered', async () => {
    await database.prisma.property.update({ where: { ListingKey: 'R' }, data: { StandardStatus: 'Sold' } })
    await expect(change('refused')).rejects.toThrow(ProblemError)
    expect(await stored()).toMatchObject({ City: 'first' })
    statements = []
    await expect(change('refused again')).rejects.toThrow(ProblemError)
    expect(statements).toEqual(['select'])
    // What is remembered is the sold record, and it is no longer sold.
    await write(async unit =>
      unit.update('R', (await found(unit, NO_KEYS, TRUE)).version, { City: 'sold' }, undefined),
    )
    await database.prisma.property.update({ where: { ListingKey: 'R' }, data: { StandardStatus: 'Active' } })
    await change('allowed')
    expect(await stored()).toMatchObject({ City: 'allowed' })
  })

  it.each([
    ['a key', { ...NO_KEYS, Member: new Set(['M']) }, 'written'],
    ['two keys, one of which is not there', { ...NO_KEYS, Member: new Set(['M', 'gone']) }, 'refused'],
    [
      'a key of an office that is not there',
      { Member: new Set<string>(), Office: new Set(['gone']) },
      'looked at',
    ],
  ] as const)('is written only if the keys are there: %s', async (_what, keys, outcome) => {
    await change('with keys', keys).catch(() => undefined)
    expect(statements).toEqual(
      { written: ['update'], refused: ['update', 'select'], 'looked at': ['select', 'update'] }[outcome],
    )
    expect((await stored())?.City).toBe(outcome === 'refused' ? 'first' : 'with keys')
  })

  it.runIf(kind === 'server')(
    'is looked at when somebody has changed it past the triggers, which leaves its version',
    async () => {
      await database.withClient(client =>
        client.query(
          `set session_replication_role = replica; update "Property" set "StandardStatus" = 'Sold' where "ListingKey" = 'R'`,
        ),
      )
      await expect(change('refused')).rejects.toThrow(ProblemError)
      await database.prisma.property.update({
        where: { ListingKey: 'R' },
        data: { StandardStatus: 'Active' },
      })
    },
  )

  it.runIf(kind === 'server')('is refused from a read alone, whoever holds the lock of the log', async () => {
    await database.withClient(async client => {
      await client.query('begin; select lock_change_log()')
      const refused = runOptimistically({ ...database, writer }, createSnapshotCache(), unit =>
        found(unit, NO_KEYS, predicate('not', TRUE)),
      )
      await expect(refused).rejects.toThrow(ProblemError)
      expect(statements).toEqual(['select'])
      await client.query('rollback')
    })
  })

  it('is not there for those who cannot see it', async () => {
    await expect(change('unseen', NO_KEYS, predicate('not', TRUE))).rejects.toThrow(ProblemError)
    expect(await stored()).toMatchObject({ City: 'first' })
  })

  it('is removed in one statement, and then neither written nor remembered', async () => {
    const remove = () => write(async unit => unit.remove('R', (await found(unit, NO_KEYS, TRUE)).version))
    await remove()
    expect(statements).toEqual(['delete'])
    await expect(remove()).rejects.toThrow(ProblemError)
    await expect(change('gone')).rejects.toThrow(ProblemError)
    await database.prisma.property.create({ data: { ListingKey: 'R', StandardStatus: 'Active' } })
  })
})
