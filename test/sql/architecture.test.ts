import { readFile } from 'node:fs/promises'
import { format } from 'sql-formatter'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { FairPool } from '../../src/data/postgres/fair-pool.js'
import { toFindArgs } from '../../src/data/prisma/find-args.js'
import type { Actor } from '../../src/domain/actor.js'
import { authorize } from '../../src/domain/authorize.js'
import { parseExactJson } from '../../src/domain/exact-json.js'
import type { JsonObject } from '../../src/domain/json.js'
import { readListingChanges } from '../../src/domain/listing-changes.js'
import { toWritePlan } from '../../src/domain/write-plan.js'
import { shapeOf } from '../../src/domain/write-shape.js'
import type { Grant } from '../../src/http/auth/sign-token.js'
import { bind } from '../../src/query/bind/bind.js'
import { createCursorSeal } from '../../src/query/cursor.js'
import { type Plan, TRUE } from '../../src/query/plan.js'
import type { Representation } from '../../src/query/representation.js'
import { ReadService } from '../../src/service/reading.js'
import { WriteService } from '../../src/service/writing.js'
import { startTestApp, type TestApp } from '../support/app.js'
import { describePlan, describeQuery, describeWritePlan } from '../support/plan-notation.js'

// The values in docs/architecture.md are those of three requests that this test sends.
// `npx vitest run test/sql -u` writes them again, together with the golden SQL.

const PAGE = 'docs/architecture.md'
const PUBLIC_URL = 'https://listings.example.org'
const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }

const ODATA_TARGET =
  "/odata/Property?$filter=City%20eq%20'Aspen'%20and%20ListPrice%20lt%20600000&$orderby=ListPrice%20desc&$select=ListingKey,ListPrice&$expand=Rooms($select=RoomType)&$top=2"

const PATCH_KEY = 'P20'
const PATCH_TARGET = `/odata/Property('${PATCH_KEY}')?$select=ListingKey,ListPrice,PreviousListPrice`
const PATCH_BODY = '{"ListPrice":195000}'
/** P20 is a listing of this agent. */
const AGENT: Grant = {
  scopes: ['listings:read', 'listings:write'],
  audience: 'member',
  memberKey: 'M1',
  expiresIn: 600,
}

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
  readonly actor: Actor
  readonly representation: Representation
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
    actor,
    representation: request.representation,
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

/** Sends the PATCH and observes it, from the values of the body to the row that the statement returns. */
async function observePatch() {
  const write = vi.spyOn(WriteService.prototype, 'update')
  const execute = vi.spyOn(FairPool.prototype, 'query')
  const answer = await app.send(PATCH_TARGET, {
    method: 'PATCH',
    headers: {
      Authorization: `Bearer ${app.tokenFor(AGENT)}`,
      'Content-Type': 'application/json',
      Prefer: 'return=representation',
    },
    rawBody: PATCH_BODY,
  })
  const [, , actor, precondition] = write.mock.calls[0] ?? []
  if (!actor || !precondition) throw new Error('The request did not reach update')
  const calls = execute.mock.calls.map(([{ text, values }], i) => ({
    text,
    values,
    rows: execute.mock.results[i]?.value,
  }))
  vi.restoreAllMocks()
  const update = calls.find(({ text }) => text.startsWith('update'))
  if (!update) throw new Error('The request ran no UPDATE')
  const body = parseExactJson(PATCH_BODY, { maxDepth: 8 }) as JsonObject
  const changes = readListingChanges(body, 'change', {
    actor,
    lookupValues: () => undefined,
    readableIf: () => TRUE,
  })
  return {
    request: `PATCH ${PATCH_TARGET}\nPrefer: return=representation\n\n${PATCH_BODY}`,
    changes: JSON.stringify(changes.values),
    plan: describeWritePlan(toWritePlan(shapeOf({ mode: 'change', actor, changes, precondition }))),
    sql: printStatement(update.text, update.values),
    rows: (await update.rows).map((row: unknown) => JSON.stringify(row)).join('\n'),
    response: `HTTP/1.1 ${answer.status} OK\nETag: ${answer.headers['etag']}\n\n${answer.text}`,
  }
}

/** Replaces the time of a write, and versions in places other than ETags. */
const withStableTimes = (text: string): string =>
  text
    .replace(/"20\d\d-\d\d-\d\dT[\d:.]+Z"/g, '"2026-11-29T12:00:00.000Z"')
    .replace(/"20\d\d-\d\d-\d\d"/g, '"2026-11-29"')
    .replace(/(?<="version":")\d+/g, '1')

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

test('the page shows the values of the requests at every stage', async () => {
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
  const patch = await observePatch()
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
    'odata-prisma': JSON.stringify(
      toFindArgs(authorize(odata.plan, odata.actor, { nonDisclosure: false }), {
        representation: odata.representation,
        parameters: [],
        limit: 3,
        fieldReferences: (_entity, field) => field,
      }),
      undefined,
      2,
    ),
    'graphql-request': GRAPHQL_QUERY,
    'graphql-query': graphql.query,
    'graphql-authorized': graphql.authorized,
    'graphql-sql': graphql.sql,
    'graphql-rows': graphql.rows,
    'graphql-response': graphql.response,
    'patch-request': patch.request,
    'patch-changes': patch.changes,
    'patch-plan': patch.plan,
    'patch-sql': withStableTimes(patch.sql),
    'patch-rows': withStableTimes(patch.rows),
    'patch-response': patch.response,
  }
  const page = await readFile(PAGE, 'utf8')
  const current = Object.entries(blocks).reduce(
    (text, [name, content]) => withBlock(text, name, content),
    page,
  )
  await expect(current).toMatchFileSnapshot(`../../${PAGE}`)
})
