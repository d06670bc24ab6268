import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf } from '../../support/assertions.js'
import { postQuery, queryData, queryError } from '../../support/clients/graphql-client.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { createDrafts } from '../../support/drafts.js'

interface Info {
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
  readonly startCursor: string | null
  readonly endCursor: string | null
}
interface Answer {
  readonly properties: {
    readonly totalCount: number
    readonly edges: readonly {
      readonly cursor: string
      readonly node: { readonly ListingKey: string; readonly ListPrice: number | null }
    }[]
    readonly pageInfo: Info
  }
}

/** A direction in which to page through a connection. */
interface Way {
  readonly size: string
  readonly from: string
  readonly isAhead: (info: Info) => boolean
  readonly isBehind: (info: Info) => boolean
  readonly end: (info: Info) => string | null
  readonly join: (found: readonly string[], rest: readonly string[]) => readonly string[]
}

// biome-ignore format: table
const WAYS: { readonly [way in 'forward' | 'backward']: Way } = {
  forward:  { size: 'first', from: 'after',  isAhead: i => i.hasNextPage,     isBehind: i => i.hasPreviousPage, end: i => i.endCursor,   join: (found, rest) => [...found, ...rest] },
  backward: { size: 'last',  from: 'before', isAhead: i => i.hasPreviousPage, isBehind: i => i.hasNextPage,     end: i => i.startCursor, join: (found, rest) => [...rest, ...found] },
}

/** Nulls, and ties that only the key resolves. */
const PRICES = [2, null, 30, 2, null, 7, 30]

describe.each(DATABASE_KINDS)('connections: %s', kind => {
  let app: TestApp
  let keys: readonly string[]
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
    keys = await createDrafts(
      app,
      'Connection City',
      PRICES.map(ListPrice => ({ ListPrice })),
    )
  })
  afterAll(() => app.close())

  const SELECTION =
    '{ totalCount edges { cursor node { ListingKey ListPrice } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }'
  const pageOf = async (args: string, order = '{ ListPrice: ASC }', city = 'Connection City') =>
    (
      await queryData<Answer>(
        app,
        `{ properties(filter: { City: { eq: "${city}" } }, orderBy: [${order}], ${args}) ${SELECTION} }`,
      )
    ).properties
  const keysOf = ({ edges }: Answer['properties']) => edges.map(e => e.node.ListingKey)

  describe.each([
    '{ ListPrice: ASC }',
    '{ ListPrice: DESC }',
    '{ ListPrice: ASC }, { ListingKey: DESC }',
    '{ PropertyType: DESC }, { ListPrice: ASC }',
  ])('%s', order => {
    test('GQL-05: pages of any size, in both directions, have each record once and in the order of one page', async () => {
      const whole = keysOf(await pageOf('first: 100', order))
      expect(whole.toSorted()).toEqual(keys.toSorted())
      for (const step of [1, 2, 3, 7]) {
        expect(await walk(step, order, 'forward')).toEqual(whole)
        expect(await walk(step, order, 'backward')).toEqual(whole)
      }
    })

    test('pages between any two cursors are right in both directions', async () => {
      const { edges } = await pageOf('first: 100', order)
      const whole = edges.map(e => e.node.ListingKey)
      for (const [from, to] of [
        [0, 6],
        [1, 4],
        [2, 3],
        [3, 3],
        [4, 1],
      ] as const) {
        const bounds = `after: "${edges[from]?.cursor}", before: "${edges[to]?.cursor}"`
        const between = whole.slice(from + 1, to)
        expect(keysOf(await pageOf(`first: 2, ${bounds}`, order))).toEqual(between.slice(0, 2))
        expect(keysOf(await pageOf(`last: 2, ${bounds}`, order))).toEqual(between.slice(-2))
      }
    })
  })

  const walk = (step: number, order: string, way: keyof typeof WAYS) => walkOn(WAYS[way], step, order, '')

  async function walkOn(way: Way, step: number, order: string, cursor: string): Promise<readonly string[]> {
    const page = await pageOf(`${way.size}: ${step}${cursor && `, ${way.from}: "${cursor}"`}`, order)
    expect(page.totalCount).toBe(PRICES.length)
    expect(way.isBehind(page.pageInfo)).toBe(cursor !== '')
    return way.isAhead(page.pageInfo)
      ? way.join(keysOf(page), await walkOn(way, step, order, String(way.end(page.pageInfo))))
      : keysOf(page)
  }

  test('GQL-07: pageInfo is exact', async () => {
    const { edges } = await pageOf('first: 6')
    const [first, third, sixth] = [edges[0]?.cursor, edges[2]?.cursor, edges[5]?.cursor]
    const seventh = (await pageOf('last: 1')).edges[0]?.cursor
    // biome-ignore format: table
    const expected: readonly (readonly [args: string, next: boolean, previous: boolean, count: number])[] = [
      ['first: 3',                      true,  false, 3],
      [`first: 3, after: "${third}"`,   true,  true,  3],
      [`first: 4, after: "${third}"`,   false, true,  4],
      ['first: 7',                      false, false, 7],
      ['first: 8',                      false, false, 7],
      [`first: 2, after: "${seventh}"`, false, true,  0],
      [`first: 1, after: "${sixth}"`,   false, true,  1],
      ['last: 2',                       false, true,  2],
      ['last: 7',                       false, false, 7],
      [`last: 2, before: "${third}"`,   true,  false, 2],
      [`last: 1, before: "${third}"`,   true,  true,  1],
      [`last: 1, before: "${first}"`,   true,  false, 0],
      ['first: 0',                      true,  false, 0],
      ['last: 0',                       false, true,  0],
      [`first: 0, after: "${third}"`,   true,  true,  0],
      [`first: 0, after: "${seventh}"`, false, true,  0],
      ['first: 2, skip: 2',             true,  true,  2],
      ['first: 2, skip: 9',             false, true,  0],
    ]
    for (const [args, next, previous, count] of expected) {
      const { pageInfo, edges: found } = await pageOf(args)
      expect([args, pageInfo.hasNextPage, pageInfo.hasPreviousPage, found.length]).toEqual([
        args,
        next,
        previous,
        count,
      ])
      expect([pageInfo.startCursor === null, pageInfo.endCursor === null]).toEqual([count === 0, count === 0])
    }
    expect((await pageOf('first: 2', '{ ListPrice: ASC }', 'Nowhere')).pageInfo).toEqual({
      hasNextPage: false,
      hasPreviousPage: false,
      startCursor: null,
      endCursor: null,
    })
  })

  test('pageInfo is right also when the records of the cursors no longer exist', async () => {
    const [a, b, c] = await createDrafts(app, 'Gone City', [
      { ListPrice: 1 },
      { ListPrice: 2 },
      { ListPrice: 3 },
    ])
    const { edges } = await pageOf('first: 3', '{ ListPrice: ASC }', 'Gone City')
    for (const key of [a, c])
      expect((await app.send(`/odata/Property('${key}')`, { method: 'DELETE' })).status).toBe(204)
    const forward = await pageOf(`first: 1, after: "${edges[0]?.cursor}"`, '{ ListPrice: ASC }', 'Gone City')
    expect([keysOf(forward), forward.pageInfo.hasNextPage, forward.pageInfo.hasPreviousPage]).toEqual([
      [b],
      false,
      false,
    ])
    const backward = await pageOf(`last: 1, before: "${edges[2]?.cursor}"`, '{ ListPrice: ASC }', 'Gone City')
    expect([keysOf(backward), backward.pageInfo.hasNextPage, backward.pageInfo.hasPreviousPage]).toEqual([
      [b],
      false,
      false,
    ])
  })

  test('nodes and edges can select different fields of the same records, any number of times', async () => {
    const query = `{ properties(filter: { City: { eq: "Vail" } }, first: 2, orderBy: [{ ListingKey: ASC }]) {
      nodes { City } other: nodes { ListPrice Media { MediaKey } }
      edges { node { ListingKey } again: node { __typename } kind: __typename }
      __typename
      pageInfo { __typename hasNextPage }
    } }`
    const { properties } = await queryData<{ properties: Record<string, unknown> }>(app, query)
    expect(Object.keys(properties)).toEqual(['nodes', 'other', 'edges', '__typename', 'pageInfo'])
    expect(properties).toMatchObject({
      nodes: [{ City: 'Vail' }, { City: 'Vail' }],
      other: [{ ListPrice: 300000 }, { ListPrice: 300000 }],
      edges: [
        { node: { ListingKey: 'P21' }, again: { __typename: 'Property' }, kind: 'PropertyEdge' },
        { node: { ListingKey: 'P22' }, again: { __typename: 'Property' }, kind: 'PropertyEdge' },
      ],
      __typename: 'PropertyConnection',
      pageInfo: { __typename: 'PageInfo', hasNextPage: true },
    })
    expect((properties['nodes'] as object[]).map(n => Object.keys(n))).toEqual([['City'], ['City']])
  })

  test('a record has the same cursor in every page of the same order', async () => {
    const { edges, pageInfo } = await pageOf('first: 3')
    const again = await pageOf(`first: 2, after: "${edges[0]?.cursor}"`)
    expect(again.edges.map(e => e.cursor)).toEqual(edges.slice(1).map(e => e.cursor))
    expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([edges[0]?.cursor, edges[2]?.cursor])
    expect((await pageOf('first: 1', '{ ListPrice: DESC }')).edges[0]?.cursor).not.toBe(edges[0]?.cursor)
  })

  test('GQL-16: totalCount follows the filter and not the page, and is that of OData', async () => {
    const count = bodyOf(
      await app.send("/odata/Property?$filter=City eq 'Connection City'&$count=true&$top=1"),
    )['@odata.count']
    const first = await pageOf('first: 2')
    expect([
      first.totalCount,
      (await pageOf(`first: 2, after: "${first.pageInfo.endCursor}"`)).totalCount,
    ]).toEqual([count, count])
  })

  test('invalid sizes and cursors are refused', async () => {
    const { pageInfo } = await pageOf('first: 2')
    for (const args of [
      'first: -1',
      'first: 1001',
      'last: 1001',
      'first: 1, last: 1',
      'after: "x"',
      'before: ""',
      `after: "${pageInfo.endCursor}"`, // of another filter and order
      `skip: 1, after: "${pageInfo.endCursor}"`,
      'skip: -1',
      'skip: 100001',
      'last: 1, skip: 1',
      'orderBy: [{}]',
      'orderBy: [{ City: ASC, ListPrice: ASC }]',
      'orderBy: [{ City: null }]',
    ])
      expect([
        args,
        (await queryError(app, `{ properties(${args}) { totalCount } }`)).extensions.code,
      ]).toEqual([args, 'BAD_USER_INPUT'])
    expect(
      (await queryError(app, '{ properties(first: 101) { nodes { Media { MediaKey } } } }')).extensions,
    ).toMatchObject({
      code: 'BAD_USER_INPUT',
      target: 'first',
    })
    expect(await queryError(app, '{ properties(skip: 100001) { totalCount } }')).toMatchObject({
      message: expect.stringContaining('cursor'),
      extensions: { code: 'BAD_USER_INPUT', target: 'skip' },
    })
    expect((await postQuery(app, '{ properties(first: 1000) { nodes { ListingKey } } }')).status).toBe(200)
  })
})
