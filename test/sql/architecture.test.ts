import { readFile } from 'node:fs/promises'
import { format } from 'sql-formatter'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { FairPool } from '../../src/data/postgres/fair-pool.js'
import { authorize } from '../../src/domain/authorize.js'
import { bind } from '../../src/query/bind.js'
import { createCursorSeal } from '../../src/query/cursor.js'
import type { Plan } from '../../src/query/plan.js'
import { ReadService } from '../../src/service/reading.js'
import { startTestApp, type TestApp } from '../support/app.js'
import { describePlan, describeQuery } from '../support/plan-notation.js'

// The values in docs/architecture.md are those of two requests that this test sends.
// `npx vitest run test/sql -u` writes them again, together with the golden SQL.

const PAGE = 'docs/architecture.md'
const PUBLIC_URL = 'https://listings.example.org'
const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }

const ODATA_TARGET =
  "/odata/Property?$filter=City%20eq%20'Aspen'%20and%20ListPrice%20lt%20600000&$orderby=ListPrice%20desc&$select=ListingKey,ListPrice&$expand=Rooms($select=RoomType)&$top=2"

const GRAPHQL_QUERY = `query ($city: String!) {
  properties(filter: { City: { eq: $city } }, orderBy: [{ ListPrice: DESC }], first: 2) {
    totalCount
    nodes { ListingKey price: ListPrice }
  }
}`

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({
    fixture: 'fixture.json',
    env: { PUBLIC_URL },
    grant: { scopes: ['listings:read'], audience: 'public' },
  })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await app.close()
})

interface ObservedRead {
  readonly query: string
  readonly plan: Plan
  readonly authorized: string
  readonly sql: string
  readonly rows: string
}

/** Sends a request and observes the read that answers it, from the query to the rows of the database. */
async function observe(
  method: 'findPage' | 'findWindow',
  send: () => Promise<string>,
): Promise<ObservedRead & { readonly response: string }> {
  const read = vi.spyOn(ReadService.prototype, method)
  const execute = vi.spyOn(FairPool.prototype, 'query')
  const response = await send()
  const [entity, request, actor] = read.mock.calls[0] ?? []
  if (!entity || !request || !actor) throw new Error(`The request did not reach ${method}`)
  const { query } = request
  const plan = bind(query, entity, LIMITS)
  const statements = execute.mock.calls.map(([{ text, values }]) => printStatement(text, values))
  const rows = await Promise.all(execute.mock.results.map(({ value }) => value))
  vi.restoreAllMocks()
  return {
    query: describeQuery(query),
    plan,
    authorized: describePlan(authorize(plan, actor, { nonDisclosure: false })),
    sql: statements.join('\n\n'),
    rows: rows
      .flat()
      .map(row => JSON.stringify(row))
      .join('\n'),
    response,
  }
}

const printStatement = (text: string, values: readonly unknown[]): string =>
  [
    format(text, { language: 'postgresql', keywordCase: 'preserve', expressionWidth: 100 }),
    ...values.map((value, i) => `-- $${i + 1} = ${JSON.stringify(value)}`),
  ].join('\n')

/** Numbers the versions in ETags from 1: they depend on what the database wrote before. */
function withStableVersions(text: string): string {
  const versions = new Map<string, string>()
  return text.replace(/(?<=W\/\\*")\d+/g, version => {
    const stable = versions.get(version) ?? String(versions.size + 1)
    versions.set(version, stable)
    return stable
  })
}

/** Replaces the content of a named code block. */
function withBlock(page: string, name: string, content: string): string {
  const block = new RegExp(`(?<=^\`\`\`\\w+ ${name}\\n).*?(?=^\`\`\`$)`, 'ms')
  if (!block.test(page)) throw new Error(`${PAGE} has no block ${name}`)
  return page.replace(block, () => `${withStableVersions(content)}\n`)
}

test('the page shows the values of both requests at every stage', async () => {
  const odata = await observe('findPage', async () => (await app.send(ODATA_TARGET)).text)
  const { '@odata.nextLink': nextLink } = JSON.parse(odata.response)
  const token = new URL(nextLink).searchParams.get('$skiptoken') ?? ''
  const graphql = await observe(
    'findWindow',
    async () =>
      (
        await app.send('/graphql', {
          method: 'POST',
          body: { query: GRAPHQL_QUERY, variables: { city: 'Aspen' } },
        })
      ).text,
  )
  const blocks: Readonly<Record<string, string>> = {
    'odata-request': `GET ${ODATA_TARGET}`,
    'odata-query': odata.query,
    'odata-plan': describePlan(odata.plan),
    'odata-authorized': odata.authorized,
    'odata-sql': odata.sql,
    'odata-rows': odata.rows,
    'odata-response': odata.response,
    'odata-token': JSON.stringify(
      createCursorSeal(app.config.tokenKey)(odata.plan).open(token, '$skiptoken'),
    ),
    'graphql-request': GRAPHQL_QUERY,
    'graphql-query': graphql.query,
    'graphql-authorized': graphql.authorized,
    'graphql-sql': graphql.sql,
    'graphql-rows': graphql.rows,
    'graphql-response': graphql.response,
  }
  const page = await readFile(PAGE, 'utf8')
  const current = Object.entries(blocks).reduce(
    (text, [name, content]) => withBlock(text, name, content),
    page,
  )
  await expect(current).toMatchFileSnapshot(`../../${PAGE}`)
})
