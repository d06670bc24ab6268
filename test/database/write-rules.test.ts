import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StatementExecutor } from '../../src/data/sql/statement.js'
import { toDeleteStatement, toUpdateStatement } from '../../src/data/sql/write-statements.js'
import { runOptimistically, type UnitOfWork } from '../../src/data/write/unit-of-work.js'
import type { Actor } from '../../src/domain/actor.js'
import { assignedValues } from '../../src/domain/field-assignments.js'
import { STATUSES } from '../../src/domain/lifecycle.js'
import type { StoredListing } from '../../src/domain/listing.js'
import { NO_CHANGES } from '../../src/domain/listing-changes.js'
import type { FieldValue, Values } from '../../src/domain/values.js'
import { isAlwaysRefused, refusalsOf, toEvaluationContext, toWritePlan } from '../../src/domain/write-plan.js'
import { shapeOf, toParameters, type WriteRequest } from '../../src/domain/write-shape.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const NOW = new Date('2026-05-01T12:00:00.000Z')
const MEMBERS = { M1: 'O1', M2: 'O1', M3: 'O2', M4: null, M5: null } as const
const KEYS = ['M1', 'M2', 'M3', 'M4', 'M5', 'O1', 'O2', 'O3', 'gone']
const STATUS_LIST = [null, 'Other', ...STATUSES]
const PRICES = [null, '0', '5', '450000.5']

/** A deterministic generator (mulberry32). */
function randomFrom(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T // never empty
  return { pick, maybe: (probability: number) => next() < probability }
}

type Random = ReturnType<typeof randomFrom>

const randomRecord = ({ pick }: Random) => ({
  ListAgentKey: pick([null, ...KEYS]),
  ListOfficeKey: pick([null, ...KEYS]),
  StandardStatus: pick(STATUS_LIST),
  ContractStatus: pick([null, 'Draft', 'Available', 'Sold']),
  ListPrice: pick(PRICES),
  OriginalListPrice: pick(PRICES),
  SoldPrice: pick(PRICES),
  InternetEntireListingDisplayYN: pick([null, true, false]),
  OnMarketTimestamp: pick([null, new Date('2026-01-01T00:00:00.000Z')]),
})

const randomActor = ({ pick, maybe }: Random): Actor => ({
  scopes: new Set(maybe(0.25) ? ['listings:write:any'] : ['listings:write']),
  audience: pick(['public', 'member', 'staff']),
  ...(maybe(0.8) && { memberKey: pick(['M1', 'M2', 'M3', 'M4', 'gone']) }),
  ...(maybe(0.4) && { officeKey: pick(['O1', 'O2', 'gone']) }),
})

function randomValues({ pick, maybe }: Random): Values {
  const values: Record<string, FieldValue> = { City: 'Vail' }
  if (maybe(0.4)) values['ListAgentKey'] = pick(KEYS)
  if (maybe(0.4)) values['ListOfficeKey'] = pick(KEYS)
  if (maybe(0.2)) values['BuyerAgentKey'] = pick([null, ...KEYS])
  if (maybe(0.4)) values['ListPrice'] = pick(PRICES)
  if (maybe(0.4)) values['SoldPrice'] = pick(PRICES)
  return values
}

function randomRequest(random: Random, version: string): WriteRequest {
  const { pick, maybe } = random
  const versions = ['*', [version], ['1', 'x'], [], ['1', version]] as const
  const status = maybe(0.5) ? pick([...STATUSES]) : undefined
  return {
    mode: maybe(0.1) ? 'delete' : 'change',
    actor: randomActor(random),
    changes: { ...NO_CHANGES, values: randomValues(random), ...(status && { status: status as 'Active' }) },
    precondition: {
      ...(maybe(0.2) && { ifMatch: pick(versions) }),
      ...(maybe(0.1) && { ifNoneMatch: pick(versions) }),
    },
  }
}

const toText = (value: unknown): unknown =>
  value instanceof Date ? value.toISOString() : typeof value === 'object' && value ? String(value) : value

describe.each(DATABASE_KINDS)('rules of writes on the %s database', kind => {
  let database: TestDatabase
  let statements: string[] = []

  beforeAll(async () => {
    database = await openTestDatabase(kind)
    for (const [MemberKey, OfficeKey] of Object.entries(MEMBERS))
      await database.prisma.member.create({ data: { MemberKey, OfficeKey } })
    for (const OfficeKey of ['O1', 'O2']) await database.prisma.office.create({ data: { OfficeKey } })
  })
  afterAll(() => database?.close())

  const find = () => database.prisma.property.findUniqueOrThrow({ where: { ListingKey: 'R' } })
  const run = <T>(callback: (unit: UnitOfWork) => Promise<T>) => {
    const writer: StatementExecutor = {
      query: (statement, mode) => {
        statements.push(statement.text.slice(0, 6))
        return database.writer.query(statement, mode)
      },
    }
    return runOptimistically({ ...database, writer }, callback)
  }

  /** Sends the write, also if its rules refuse it, and compares the outcome with the rules in JavaScript. */
  async function compare(seed: number) {
    const random = randomFrom(seed)
    await database.prisma.property.deleteMany()
    await database.prisma.property.create({ data: { ListingKey: 'R', ...randomRecord(random) } })
    await run(async unit => {
      const facts = await unit.findRuleInputs('R', KEYS)
      const stored: StoredListing = facts.stored ?? expect.unreachable()
      const request = randomRequest(random, stored.RecordVersion)
      const plan = toWritePlan(shapeOf(request))
      const parameters = toParameters(request, 'R', NOW)
      const refusals = refusalsOf(plan, { ...request, body: {} }, 'R', parameters, facts)
      if (isAlwaysRefused(plan)) return expect(refusals, `seed ${seed}`).not.toEqual([])
      const statement =
        request.mode === 'delete'
          ? toDeleteStatement(plan, parameters)
          : toUpdateStatement(plan, parameters, undefined)
      const isWritten = (await unit.write(statement)) !== undefined
      expect([isWritten, refusals], `seed ${seed}`).toEqual([refusals.length === 0, refusals])
      if (!isWritten || request.mode === 'delete') return
      const expected = {
        ...request.changes.values,
        ...assignedValues(plan.assignments, toEvaluationContext(facts, parameters)),
      }
      const record: Readonly<Record<string, unknown>> = { ...(await find()) }
      const found = Object.keys(expected).map(name => [name, toText(record[name])])
      const dates = Object.entries(expected).map(([name, value]) => [
        name,
        record[name] instanceof Date ? new Date(String(value)).toISOString() : value,
      ])
      expect(found, `seed ${seed}`).toEqual(dates)
    })
  }

  it('are the same in SQL and in JavaScript, derived fields too', async () => {
    for (let seed = 1; seed <= 100; seed++) await compare(seed)
  }, 180_000)

  it('need one statement for a record that this process has never seen', async () => {
    await database.prisma.property.deleteMany()
    await database.prisma.property.create({ data: { ListingKey: 'R', StandardStatus: 'Active' } })
    const request: WriteRequest = {
      mode: 'change',
      actor: { scopes: new Set(['listings:write:any']), audience: 'staff' },
      changes: { ...NO_CHANGES, status: 'Hold' },
      precondition: {},
    }
    statements = []
    const write = () =>
      run(unit =>
        unit.write(
          toUpdateStatement(toWritePlan(shapeOf(request)), toParameters(request, 'R', NOW), undefined),
        ),
      )
    expect(await write()).toBeDefined()
    expect(statements).toEqual(['update'])
    expect(await find()).toMatchObject({ StandardStatus: 'Hold', ContractStatus: 'Unavailable' })
    // Another process writes the record between two writes of this one.
    await database.prisma.property.update({ where: { ListingKey: 'R' }, data: { StandardStatus: 'Sold' } })
    expect(await write()).toBeUndefined()
    expect(await find()).toMatchObject({ StandardStatus: 'Sold' })
  })
})
