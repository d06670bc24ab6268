import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { readPage } from '../../src/data/read/read-records.js'
import { ProblemError } from '../../src/errors/problem.js'
import { readQueryArguments } from '../../src/graphql/execute/query-arguments.js'
import { DEFAULT_PARSE_LIMITS } from '../../src/language/parse-limits.js'
import { parseFilter } from '../../src/language/parser.js'
import { ENTITIES, type Entity, getEntity } from '../../src/model/model.js'
import type { Query } from '../../src/query/ast.js'
import { bind } from '../../src/query/bind/bind.js'
import { FUNCTIONS } from '../../src/query/functions.js'
import type { Expr, Plan } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { coerceLiteral, coerceVariable, PARSE_OPTIONS } from '../support/oracle/filter-arguments.js'
import { printFilter } from '../support/oracle/print-expression.js'
import { printFilterInput } from '../support/oracle/print-filter-input.js'
import { arbitraryCondition } from '../support/oracle/random-filters.js'

// A condition is written in every notation: as `$filter` of OData, as `where`, and as the typed `filter` of
// GraphQL, in a document and in a variable. All of them must have the same plan, and find the same records.
// PARITY_RUNS and PARITY_SEED make a longer run.

const RUNS = Number(process.env.PARITY_RUNS ?? 300)
const SEED = Number(process.env.PARITY_SEED ?? 20261128)
const FIXTURE = new URL('../cases/fixture.json', import.meta.url).pathname
const LIMITS = { pageSize: 1000, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 5 }
const REPRESENTATION = { reference: '@odata.id', countSuffix: '@odata.count', numbersAsText: false }
const PROPERTY = getEntity('Property')

interface Question {
  readonly of: Entity
  readonly asked: Expr
  /** Notation for several conditions on one field. */
  readonly inside: boolean
}

const question = (of: Entity): fc.Arbitrary<Question> =>
  fc.record({ of: fc.constant(of), asked: arbitraryCondition(of, 3), inside: fc.boolean() })
const anyQuestion = fc.oneof(
  { weight: 3, arbitrary: question(PROPERTY) },
  { weight: 1, arbitrary: fc.constantFrom(...ENTITIES.values()).chain(question) },
)

/** The plan of a query, or the kinds of problems for which it is refused. */
type Meaning = { readonly plan: Plan } | { readonly refused: readonly string[] }

function meaningOf(of: Entity, read: () => Query): Meaning {
  try {
    return {
      plan: bind({ ...read(), select: [{ name: of.key.name, at: { source: 'select' } }] }, of, LIMITS),
    }
  } catch (error) {
    if (error instanceof ProblemError) return { refused: error.problems.map(p => p.kind) }
    throw error
  }
}

/** Null has no type in a document, so it is written without one in the text too. */
const toText = (asked: Expr) => printFilter(asked).replace(/cast\(null,Edm\.\w+\)/g, 'null')

function notationsOf({ of, asked, inside }: Question): Readonly<Record<string, () => Query>> {
  const text = toText(asked)
  const { literal, json } = printFilterInput(asked, inside)
  return {
    [`where ${text}`]: () => readQueryArguments(PARSE_OPTIONS, of, { where: text }),
    [`filter ${literal}`]: () =>
      readQueryArguments(PARSE_OPTIONS, of, { filter: coerceLiteral(of, literal) }),
    [`variable ${JSON.stringify(json)}`]: () =>
      readQueryArguments(PARSE_OPTIONS, of, { filter: coerceVariable(of, json) }),
  }
}

/** Returns the keys that a plan selects, or `undefined` if a value exceeds the range of columns. */
async function keysOf({ reader }: TestDatabase, plan: Plan): Promise<readonly string[] | undefined> {
  try {
    return (await readPage(reader, plan, REPRESENTATION)).records.list.map(r => r.json)
  } catch (error) {
    if (error instanceof ProblemError && error.problems[0].kind === 'ImpossibleValue') return undefined
    throw error
  }
}

async function compare(database: TestDatabase, asked: Question): Promise<void> {
  const meant = meaningOf(asked.of, () => ({
    filter: parseFilter(toText(asked.asked), { limits: DEFAULT_PARSE_LIMITS, aliases: new Map() }),
  }))
  const found = 'plan' in meant ? await keysOf(database, meant.plan) : undefined
  for (const [representation, read] of Object.entries(notationsOf(asked))) {
    const other = meaningOf(asked.of, read)
    expect(other, representation).toEqual(meant)
    if ('plan' in other) expect(await keysOf(database, other.plan), representation).toEqual(found)
  }
}

test('most generated conditions are valid, and together they use every function with a first argument', () => {
  const sample = fc.sample(anyQuestion, { numRuns: 3000, seed: SEED })
  const meanings = sample.slice(0, 300).map(q =>
    meaningOf(q.of, () => ({
      filter: parseFilter(toText(q.asked), { limits: DEFAULT_PARSE_LIMITS, aliases: new Map() }),
    })),
  )
  expect(meanings.filter(m => 'plan' in m).length).toBeGreaterThan(250)
  const texts = sample
    .map(q =>
      JSON.stringify(q.asked, (name, value: unknown) =>
        ['scalar', 'navigation', 'entity'].includes(name) ? undefined : value,
      ),
    )
    .join()
  const unused = Object.keys(FUNCTIONS).filter(fn => !texts.includes(`"fn":"${fn}"`))
  expect(unused).toEqual(['now', 'mindatetime', 'maxdatetime'])
})

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await importFile(database, FIXTURE)
  })
  afterAll(() => database?.close())

  test(`${RUNS} random conditions have the same meaning in every notation`, {
    timeout: 60_000 + RUNS * 200,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(anyQuestion, asked => compare(database, asked)),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    )
  })
})
