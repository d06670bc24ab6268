import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { FairPool } from '../../../src/data/postgres/fair-pool.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { queryData } from '../../support/clients/graphql-client.js'
import { createDrafts } from '../../support/drafts.js'

interface Statement {
  readonly sql: string
  readonly values: readonly unknown[]
}

describe('one query, one plan', () => {
  let app: TestApp
  let asked: Statement[] = []
  beforeAll(async () => {
    app = await startTestApp({ fixture: 'fixture.json' })
    await createDrafts(
      app,
      'Many City',
      Array.from({ length: 60 }, (_, i) => ({ ListPrice: i })),
    )
    const runStatement = FairPool.prototype.query
    vi.spyOn(FairPool.prototype, 'query').mockImplementation(function (this: FairPool, statement, scope) {
      asked.push({ sql: statement.text.replaceAll(/\$\d+/g, '?'), values: statement.values })
      return runStatement.call(this, statement, scope) as never // the rows of any statement
    })
  })
  afterEach(() => {
    asked = []
  })
  afterAll(() => {
    vi.restoreAllMocks()
    return app.close()
  })

  async function statementsOf(work: () => Promise<unknown>): Promise<readonly Statement[]> {
    asked = []
    await work()
    return asked
  }

  /** Returns a statement without the form of its records. */
  const sourceOf = ({ sql, values }: Statement) => {
    const source = sql.slice(sql.lastIndexOf(' from "Property" r0'))
    return { source, values: values.slice(values.length - (source.match(/\?/g)?.length ?? 0)) }
  }

  // biome-ignore format: table
  test.each([
    ['$filter=City eq \'Vail\'',                                             'filter: { City: { eq: "Vail" } }'],
    ['$filter=year(ModificationTimestamp) ge 2020&$orderby=ListPrice desc',  'filter: { ModificationTimestamp: { year: { ge: 2020 } } }, orderBy: [{ ListPrice: DESC }]'],
    ['$filter=ListPrice gt 1.5 or not contains(City,\'a\')&$skip=3',         'filter: { or: [{ ListPrice: { gt: 1.5 } }, { not: { City: { contains: "a" } } }] }, skip: 3'],
    ['$filter=Media/any(m:m/MediaType eq \'image/jpeg\')&$orderby=City,ListPrice', 'filter: { Media: { any: { MediaType: { eq: "image/jpeg" } } } }, orderBy: [{ City: ASC }, { ListPrice: ASC }]'],
    ['$filter=ListAgent/MemberFullName ne null',                             'filter: { ListAgent: { MemberFullName: { ne: null } } }'],
    ['$filter=City in (\'Vail\',null)&$top=7',                               'where: "City in (\'Vail\',null)", first: 7'],
    ['$search=den&$orderby=ListAgent/MemberKey desc',                        'search: "den", orderBy: [{ ListAgent: { MemberKey: DESC } }]'],
  ])('%s = %s', async (odata, args) => {
    const theirs = await statementsOf(() => app.send(`/odata/Property?${odata}&$select=City`))
    const ours = await statementsOf(() => queryData(app, `{ properties(${args}) { nodes { City } } }`))
    expect(ours.map(sourceOf)).toEqual(theirs.map(sourceOf))
    // A page in whose texts something must be escaped is read once more.
    expect(new Set(ours.map(statement => JSON.stringify(sourceOf(statement)))).size).toBe(1)
  })

  test.each([10, 50, 100])('GQL-01: %s listings with Media and Rooms are one statement', async first => {
    const query = `{ properties(first: ${first}) { nodes { ListingKey Media { MediaKey } Rooms { RoomKey } ListAgent { MemberKey Media { MediaKey } } } } }`
    expect(await statementsOf(() => queryData(app, query))).toHaveLength(1)
  })

  test('parts that are not selected cause no statement', async () => {
    const { properties } = await queryData<{
      properties: { pageInfo: { endCursor: string; startCursor: string } }
    }>(app, '{ properties(first: 20) { pageInfo { startCursor endCursor } } }')
    const cost = async (args: string, selection: string) =>
      (await statementsOf(() => queryData(app, `{ properties(${args}) { nodes { City } ${selection} } }`)))
        .length
    const after = `first: 10, after: "${properties.pageInfo.endCursor}"`
    expect(await cost('first: 10', 'pageInfo { hasNextPage hasPreviousPage }')).toBe(1)
    expect(await cost('first: 10', 'totalCount')).toBe(2)
    expect(
      await statementsOf(() => queryData(app, '{ properties(first: 10) { totalCount __typename } }')),
    ).toHaveLength(1)
    expect(await cost(after, 'pageInfo { hasNextPage endCursor }')).toBe(1)
    expect(await cost(after, 'pageInfo { hasNextPage hasPreviousPage }')).toBe(2)
    expect(await cost(after, 'totalCount pageInfo { hasNextPage hasPreviousPage }')).toBe(3)
  })
})
