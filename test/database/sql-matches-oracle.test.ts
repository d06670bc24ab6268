import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import type { PrismaWhere } from '../../src/data/prisma/condition.js'
import { fieldReferencesOf } from '../../src/data/prisma/find-records.js'
import { NotExpressibleError } from '../../src/data/prisma/not-expressible.js'
import { toPrismaWhere } from '../../src/data/prisma/where.js'
import { readPage } from '../../src/data/read/read-records.js'
import { ProblemError } from '../../src/errors/problem.js'
import { getEntity } from '../../src/model/model.js'
import type { ValueType } from '../../src/query/functions.js'
import {
  columnOf,
  type Expansion,
  type Expr,
  type OrderByTerm,
  type Plan,
  rowSource,
} from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { readDataset } from '../support/oracle/dataset.js'
import { type Dataset, expandRecord, selectRecords } from '../support/oracle/oracle.js'
import {
  arbitraryExpression,
  generatorScope,
  nestedGeneratorScope,
} from '../support/oracle/random-expressions.js'

// Random expressions over every function, cast, lambda and navigation. The SQL engine, the Prisma engine
// (where it can express the filter) and the oracle must select the same records in the same order.
// PARITY_RUNS and PARITY_SEED extend the run.

const RUNS = Number(process.env.PARITY_RUNS ?? 300)
const SEED = Number(process.env.PARITY_SEED ?? 20261128)
const FIXTURE = new URL('../cases/fixture.json', import.meta.url).pathname
const PROPERTY = getEntity('Property')
const KEY: OrderByTerm = { expr: columnOf(PROPERTY.key, rowSource('r0')), descending: false }
const REPRESENTATION = { reference: '@odata.id', countSuffix: '@odata.count', numbersAsText: false }
const SORTED: readonly ValueType[] = [
  'Boolean',
  'Int32',
  'Decimal',
  'Double',
  'String',
  'DateTimeOffset',
  'Date',
  'TimeOfDay',
  'Duration',
]

const anyOrder: fc.Arbitrary<OrderByTerm> = fc
  .constantFrom(...SORTED)
  .chain(type =>
    fc.record({ expr: arbitraryExpression(type, generatorScope(PROPERTY, 2)), descending: fc.boolean() }),
  )
const anyQuestion = fc.record({
  filter: arbitraryExpression('Boolean', generatorScope(PROPERTY, 3)),
  order: fc.option(anyOrder, { freq: 3 }),
})

const toPlan = (filter: Expr, order: OrderByTerm | null): Plan => ({
  entity: PROPERTY,
  row: 'r0',
  filter,
  orderBy: order ? [order, KEY] : [KEY],
  select: [{ kind: 'field', scalar: PROPERTY.key }],
  expand: [],
  skip: 0,
  count: true,
})

/** Related records with a filter, an order and a window of their own. */
const anyExpansion: fc.Arbitrary<Expansion> = fc
  .constantFrom(...PROPERTY.navigations.filter(n => n.collection))
  .chain(navigation => {
    const of = getEntity(navigation.target)
    const around = nestedGeneratorScope(of, PROPERTY, 2)
    const order = fc
      .constantFrom(...SORTED)
      .chain(type => fc.record({ expr: arbitraryExpression(type, around), descending: fc.boolean() }))
    const key: OrderByTerm = { expr: columnOf(of.key, rowSource('r1')), descending: false }
    return fc
      .record({
        filter: arbitraryExpression('Boolean', around),
        order: fc.option(order, { freq: 2 }),
        top: fc.option(fc.nat(3), { freq: 2 }),
        skip: fc.nat(2),
        count: fc.boolean(),
      })
      .map(({ filter, order, top, skip, count }): Expansion => {
        const plan: Plan = {
          entity: of,
          row: 'r1',
          filter,
          orderBy: order ? [order, key] : [key],
          select: [{ kind: 'field', scalar: of.key }],
          expand: [],
          skip,
          count,
        }
        return { navigation, form: 'records', plan: { ...plan, ...(top !== null && { top }) } }
      })
  })

async function compareExpansion(
  { reader }: TestDatabase,
  world: Dataset,
  expansion: Expansion,
): Promise<void> {
  const { navigation, plan: nested } = expansion
  const plan: Plan = {
    entity: PROPERTY,
    row: 'r0',
    orderBy: [KEY],
    select: [{ kind: 'field', scalar: PROPERTY.key }],
    expand: [expansion],
    skip: 0,
    count: false,
  }
  const page = await readPage(reader, plan, REPRESENTATION).catch((error: unknown) =>
    isOutOfRange(error) ? undefined : Promise.reject(error),
  )
  if (!page) return
  const key = nested.entity.key.name
  const found = page.records.list
    .map(r => JSON.parse(r.json))
    .map(r => [
      r.ListingKey,
      r[`${navigation.name}@odata.count`],
      r[navigation.name].map((n: Readonly<Record<string, unknown>>) => n[key]),
    ])
  const truth = selectRecords(plan, world).map(from => {
    const { records, count } = expandRecord(expansion, from, world)
    return [from.ListingKey, nested.count ? count : undefined, records.map(r => r[key])]
  })
  expect(found, `${navigation.name} ${show(nested.filter)} ${show(nested.orderBy[0]?.expr)}`).toEqual(truth)
}

const keys = (records: readonly { readonly [name: string]: unknown }[]) => records.map(r => r.ListingKey)

/** An expression without the objects of the model, for messages. */
const show = (expr: Expr | undefined) =>
  JSON.stringify(expr, (name, value: unknown) =>
    name === 'scalar' || name === 'navigation' ? (value as { name: string }).name : value,
  ) // both are model objects

/** The Prisma `where` of a filter, or the reason why there is none. */
function whereOrReason(filter: Expr, prisma: TestDatabase['prisma']): PrismaWhere | string {
  try {
    return toPrismaWhere(filter, { entity: PROPERTY, row: 'r0', fieldReferences: fieldReferencesOf(prisma) })
  } catch (error) {
    if (error instanceof NotExpressibleError) return error.reason
    throw error
  }
}

/** A value that no column holds (the year 12,000) refuses the request; the oracle has no such bounds. */
const isOutOfRange = (error: unknown) =>
  error instanceof ProblemError && error.problems[0].kind === 'ImpossibleValue'

async function compare(
  { prisma, reader }: TestDatabase,
  world: Dataset,
  filter: Expr,
  order: OrderByTerm | null,
): Promise<void> {
  const plan = toPlan(filter, order)
  const page = await readPage(reader, plan, REPRESENTATION).catch((error: unknown) =>
    isOutOfRange(error) ? undefined : Promise.reject(error),
  )
  if (!page) return
  const truth = keys(selectRecords(plan, world))
  expect(
    page.records.list.map(r => JSON.parse(r.json).ListingKey).join(),
    `SQL lane: ${show(filter)} ${show(order?.expr)}`,
  ).toBe(truth.join())
  expect(page.count, 'count').toBe(truth.length)
  const where = whereOrReason(filter, prisma)
  if (typeof where === 'string') return
  expect(
    keys(await prisma.property.findMany({ where, orderBy: { ListingKey: 'asc' } })),
    `Prisma lane ${JSON.stringify(where)}`,
  ).toEqual(keys(selectRecords(toPlan(filter, null), world)))
}

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  let world: Dataset
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await importFile(database, FIXTURE)
    world = await readDataset(database)
  })
  afterAll(() => database?.close())

  test(`${RUNS} random queries have the result of the oracle`, { timeout: 60_000 + RUNS * 100 }, async () => {
    await fc.assert(
      fc.asyncProperty(anyQuestion, ({ filter, order }) => compare(database, world, filter, order)),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    )
  })

  test(`${RUNS} random expansions have the result of the oracle`, {
    timeout: 60_000 + RUNS * 100,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(anyExpansion, expansion => compareExpansion(database, world, expansion)),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    )
  })
})
