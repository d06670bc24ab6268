import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { format } from 'sql-formatter'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { PooledConnection } from '../../src/data/postgres/pooled-connection.js'
import { toFindArgs } from '../../src/data/prisma/find-args.js'
import { fieldReferencesOf, PrismaRecordFinder } from '../../src/data/prisma/find-records.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toAuthorizedPlan } from '../support/oracle/plans.js'

// The arguments and statements in docs/prisma.md are those of these requests.
// `npx vitest run test/sql -u` writes them again.

const PAGE = 'docs/prisma.md'
const PUBLIC = { scopes: new Set(['listings:read'] as const), audience: 'public' } as const
const REQUESTS = {
  filter: "$filter=City eq 'Vail' and ListPrice lt 600000&$orderby=ListPrice desc&$select=City&$top=2",
  related:
    "$filter=Rooms/any(r:r/RoomType eq 'Kitchen')&$select=City&$expand=Rooms($select=RoomType;$top=3)&$top=2",
} as const

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase(DATABASE_KINDS.at(-1) ?? 'embedded')
  await importFile(database, fileURLToPath(new URL('../cases/fixture.json', import.meta.url)))
})
afterAll(async () => {
  vi.restoreAllMocks()
  await database?.close()
})

/** Returns the arguments of a request, and the statements that Prisma executes for them. */
async function observe(options: string): Promise<{ readonly args: string; readonly sql: string }> {
  const plan = toAuthorizedPlan(PUBLIC, options)
  const limit = (plan.top ?? 0) + 1
  const args = toFindArgs(plan, {
    representation: ODATA_REPRESENTATION,
    parameters: [],
    limit,
    fieldReferences: fieldReferencesOf(database.prisma),
  })
  const execute = vi.spyOn(PooledConnection.prototype, 'queryArrays')
  await new PrismaRecordFinder(database.prisma).findRecords(plan, ODATA_REPRESENTATION, [], limit)
  const statements = execute.mock.calls.map(([{ text, values = [] }]) =>
    [
      format(text.replaceAll('"public".', ''), {
        language: 'postgresql',
        keywordCase: 'preserve',
        expressionWidth: 100,
      }),
      ...values.map((value: unknown, i: number) => `-- $${i + 1} = ${JSON.stringify(value)}`),
    ].join('\n'),
  )
  vi.restoreAllMocks()
  return { args: inspect(args, { depth: null, breakLength: 110 }), sql: statements.join('\n\n') }
}

/** Replaces the content of a named code block. */
function withBlock(page: string, name: string, content: string): string {
  const block = new RegExp(`(?<=^\`\`\`\\w+ ${name}\\n).*?(?=^\`\`\`$)`, 'ms')
  if (!block.test(page)) throw new Error(`${PAGE} has no block ${name}`)
  return page.replace(block, () => `${content}\n`)
}

test('the page shows the arguments and statements of both requests', async () => {
  let page = await readFile(PAGE, 'utf8')
  for (const [name, options] of Object.entries(REQUESTS)) {
    const { args, sql } = await observe(options)
    page = withBlock(page, `${name}-options`, options)
    page = withBlock(page, `${name}-args`, args)
    page = withBlock(page, `${name}-sql`, sql)
  }
  await expect(page).toMatchFileSnapshot(`../../${PAGE}`)
})
