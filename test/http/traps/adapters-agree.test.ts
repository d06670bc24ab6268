import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import type { Row } from '../../support/assertions.js'
import { postQuery, queryData, queryError, withGrant } from '../../support/clients/graphql-client.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { DRAFT } from '../../support/drafts.js'
import { type TestService, testServiceOf } from '../../support/test-service.js'

// Traps of OData that apply to GraphQL too. The OData half of each is in the tests of OData.

interface Found {
  readonly properties: { readonly totalCount: number; readonly nodes: readonly Row[] }
}

const FIND = `query ($filter: PropertyFilter, $where: String, $orderBy: [PropertyOrder!]) {
  properties(filter: $filter, where: $where, orderBy: $orderBy) { totalCount nodes { ListingKey City SoldPrice } }
}`
const UPDATE =
  'mutation ($key: String!, $input: PropertyInput!) { updateProperty(ListingKey: $key, input: $input) { ListingKey ListPrice SoldPrice ModificationTimestamp } }'

describe.each(DATABASE_KINDS)('traps through both adapters, on the %s database', kind => {
  let app: TestApp
  let market: TestService
  beforeAll(async () => {
    app = await startTestApp({ kind, env: { NON_DISCLOSURE: 'true' } })
    market = testServiceOf(app)
  })
  afterAll(() => app.close())

  const PUBLIC = { audience: 'public', scopes: ['listings:read', 'listings:write'], memberKey: 'M1' } as const
  const find = async (variables: Row, as?: Parameters<TestApp['tokenFor']>[0]) =>
    (await queryData<Found>(app, FIND, variables, as && withGrant(app, as))).properties
  const keysOf = ({ nodes }: Found['properties']) => nodes.map(({ ListingKey }) => ListingKey)
  const update = (key: string, input: Row) =>
    postQuery<{ updateProperty: Row }>(app, UPDATE, { key, input: { ChangedByMemberKey: 'M1', ...input } })

  test('GQL-18 the same sets', async () => {
    await market.given(['Austin', 'AUSTIN', null, '', 'austin', 'Waco', "O'Fallon", '100%'].map(City => ({ City })))
    // biome-ignore format: table
    const TWINS: readonly (readonly [text: string, condition: Row])[] = [
      ["City eq 'Austin'",                { eq: 'Austin' }],
      ['City eq null',                    { eq: null }],
      ["City eq ''",                      { eq: '' }],
      ["City ne 'Austin'",                { ne: 'Austin' }],
      ['City ne null',                    { ne: null }],
      ["City in ('Austin','Waco')",       { in: ['Austin', 'Waco'] }],
      ["City in ('Austin',null)",         { in: ['Austin', null] }],
      ["contains(City,'ust')",            { contains: 'ust' }],
      ["contains(City,'')",               { contains: '' }],
      ["contains(City,'%')",              { contains: '%' }],
      ["contains(City,'''')",             { contains: "'" }],
      ["startswith(City,'A')",            { startswith: 'A' }],
      ["City gt 'Austin'",                { gt: 'Austin' }],
      ['City gt null',                    { gt: null }],
      ["tolower(City) eq 'austin'",       { tolower: { eq: 'austin' } }],
    ]
    for (const [text, condition] of TWINS)
      for (const [where, filter] of [[text, { City: condition }], [`not (${text})`, { not: { City: condition } }]] as const) {
        const expected = await market.keys(`$filter=${encodeURIComponent(where)}`)
        expect([where, keysOf(await find({ filter })), keysOf(await find({ where }))]).toEqual([where, expected, expected])
      }
  }) // biome-ignore format: one table

  test('ORD-05 injection through orderBy', async () => {
    await market.given([{}])
    for (const order of [
      'ListPrice desc;select pg_sleep(5)',
      '(select 1)',
      'ListPrice,(case when 1=1 then 1 else 2 end)',
    ])
      for (const orderBy of [[{ [order]: 'ASC' }], [{ ListPrice: order }], order])
        expect((await queryError(app, FIND, { orderBy })).extensions.code).toBe('BAD_USER_INPUT')
  })

  test('FUN-12 a plain date against a date-time', async () => {
    await market.given([
      { ModificationTimestamp: '2024-03-02T00:00:00Z' },
      { ModificationTimestamp: '2024-03-02T05:00:00Z' },
    ])
    for (const filter of [
      { ModificationTimestamp: { ge: '2024-03-02' } },
      { ModificationTimestamp: { eq: '2024-03-02' } },
    ])
      expect((await queryError(app, FIND, { filter })).extensions.code).toBe('BAD_USER_INPUT')
    expect(
      (await find({ filter: { ModificationTimestamp: { date: { eq: '2024-03-02' } } } })).totalCount,
    ).toBe(2)
  })

  test('CNT-04 the count is a number', async () => {
    await market.given([{}, {}, {}])
    expect(await queryData(app, '{ properties(first: 1) { totalCount } }')).toEqual({
      properties: { totalCount: 3 },
    })
  })

  test('JSN-04 a returned timestamp finds its own record', async () => {
    await market.given([{}])
    const time = (await update('L001', { City: 'Waco' })).data?.updateProperty['ModificationTimestamp']
    const counts = await Promise.all(
      ['eq', 'ge', 'gt', 'lt'].map(
        async op => (await find({ filter: { ModificationTimestamp: { [op]: time } } })).totalCount,
      ),
    )
    expect(counts).toEqual([1, 1, 0, 0])
    expect(await market.keys(`$filter=ModificationTimestamp eq ${time}`)).toEqual(['L001'])
  })

  test('JSN-08 everyday decimals survive', async () => {
    await market.given([{}])
    for (const price of [83261.85, 0.1, 1_000_000, 100, '83261.85']) {
      expect((await update('L001', { ListPrice: price })).data?.updateProperty['ListPrice']).toBe(
        Number(price),
      )
      expect((await market.send("/odata/Property('L001')/ListPrice/$value")).text).toBe(String(price))
      expect((await find({ filter: { ListPrice: { eq: price } } })).totalCount).toBe(1)
    }
  })

  test('WRT-09 a change of a key that does not exist', async () => {
    await market.given([{}])
    const { data, errors } = await update('nope', { City: 'X' })
    expect([data, errors?.[0]?.extensions.code]).toEqual([{ updateProperty: null }, 'NOT_FOUND'])
    expect((await find({})).totalCount).toBe(1)
  })

  test('PER-03, PER-05, PER-08 restricted fields: neither read, nor sorted by, nor counted', async () => {
    const answers: unknown[] = []
    for (const prices of [[100, 900], [900, 100]]) {
      await market.given(prices.map(SoldPrice => ({ SoldPrice, StandardStatus: 'Sold', ListAgentKey: 'M2', ListOfficeKey: 'M3' })))
      const orders = await Promise.all(['ASC', 'DESC'].map(SoldPrice => find({ orderBy: [{ SoldPrice }] }, PUBLIC)))
      const counts = await Promise.all([0, 500, 1000].map(gt => find({ filter: { SoldPrice: { gt } } }, PUBLIC)))
      expect(orders.flatMap(({ nodes }) => nodes.map(({ SoldPrice }) => SoldPrice))).toEqual([null, null, null, null])
      expect(counts.map(({ totalCount }) => totalCount)).toEqual([0, 0, 0])
      answers.push(orders.map(keysOf))
    }
    expect(answers[1]).toEqual(answers[0])
    await market.given([{ SoldPrice: 100, StandardStatus: 'Sold' }])
    const changed = await queryData<{ updateProperty: Row }>(app, UPDATE, { key: 'L001', input: { SoldPrice: 200 } }, withGrant(app, PUBLIC))
    expect(changed.updateProperty['SoldPrice']).toBeNull()
    expect((await find({})).nodes[0]?.['SoldPrice']).toBe(200)
  }) // biome-ignore format: one table

  test('PER-06 ChangedByMemberKey is write-only', async () => {
    for (const query of [
      '{ properties { nodes { ChangedByMemberKey } } }',
      '{ properties(filter: { ChangedByMemberKey: { eq: "M1" } }) { totalCount } }',
      '{ properties(orderBy: [{ ChangedByMemberKey: ASC }]) { totalCount } }',
    ])
      expect((await queryError(app, query)).extensions.code).toBe('GRAPHQL_VALIDATION_FAILED')
    expect((await queryError(app, FIND, { where: "ChangedByMemberKey eq 'M1'" })).extensions.code).toBe(
      'BAD_USER_INPUT',
    )
  })

  test('JWT-08, JWT-11 the scheme of the token, and no access without a token', async () => {
    const statusOf = async (
      Authorization: string | null,
      method: string,
      target = '/graphql?query={__typename}',
    ) =>
      (
        await app.send(target, {
          method,
          headers: { Authorization },
          ...(method === 'POST' && { body: { query: '{ __typename }' } }),
        })
      ).status
    const token = app.tokenFor()
    for (const method of ['GET', 'POST']) {
      for (const header of [`bearer ${token}`, `BEARER ${token}`, `Bearer  ${token}`])
        expect(await statusOf(header, method)).toBe(200)
      for (const header of [`Bearer${token}`, token, null]) expect(await statusOf(header, method)).toBe(401)
    }
    for (const target of ['/graphql', '/graphql/schema.graphql', '/graphql/nope'])
      for (const method of ['GET', 'OPTIONS', 'DELETE'])
        expect([target, await statusOf(null, method, target)]).toEqual([target, 401])
  })

  test('JWT-09 401 against 403', async () => {
    await market.given([{}])
    const write = (Authorization: string | null) =>
      app.send('/graphql', {
        method: 'POST',
        headers: { Authorization },
        body: { query: 'mutation { deleteProperty(ListingKey: "L001") { id } }' },
      })
    const codeOf = (json: unknown) =>
      (json as { readonly errors: readonly { readonly extensions: Row }[] }).errors[0]?.extensions['code'] // an answer with errors
    const [missing, expired] = [await write(null), await write(`Bearer ${app.tokenFor({ expiresIn: -600 })}`)]
    for (const { status, json } of [missing, expired])
      expect([status, codeOf(json)]).toEqual([401, 'UNAUTHENTICATED'])
    expect(missing.headers['www-authenticate']).toBe(
      'Bearer realm="listings", Basic realm="listings", charset="UTF-8"',
    )
    expect(expired.headers['www-authenticate']).toContain('error="invalid_token"')
    expect(codeOf((await write(`Bearer ${app.tokenFor({ scopes: ['listings:read'] })}`)).json)).toBe(
      'FORBIDDEN',
    )
    expect((await find({})).totalCount).toBe(1)
  })

  test('DBX-01 an empty or missing key', async () => {
    await market.given([{}, {}])
    expect(await queryData(app, '{ property(ListingKey: "") { City } }')).toEqual({ property: null })
    for (const field of [
      'deleteProperty(ListingKey: $key) { id }',
      'updateProperty(ListingKey: $key, input: { City: "X" }) { id }',
      'holdProperty(ListingKey: $key) { id }',
    ])
      for (const variables of [{ key: '' }, { key: null }, {}])
        expect(
          (await queryError(app, `mutation ($key: String!) { ${field} }`, variables)).extensions.code,
        ).toMatch(/^(?:NOT_FOUND|BAD_USER_INPUT)$/)
    for (const variables of [{ key: null }, {}])
      expect(
        (await queryError(app, 'query ($key: String!) { property(ListingKey: $key) { City } }', variables))
          .extensions.code,
      ).toBe('BAD_USER_INPUT')
    expect((await find({ filter: { City: { eq: 'Austin' } } })).totalCount).toBe(2)
  })

  test('OPS-06 both adapters share one rate', async () => {
    const limited = await startTestApp({ kind, env: { RATE_LIMIT: '2' } })
    expect((await limited.send('/odata/Property?$top=1')).status).toBe(200)
    expect((await postQuery(limited, '{ __typename }')).status).toBe(200)
    const refused = await limited.send('/graphql', { method: 'POST', body: { query: '{ __typename }' } })
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)])
    expect(
      (await postQuery(limited, '{ __typename }', {}, withGrant(limited, { memberKey: 'M2' }))).status,
    ).toBe(200)
    await limited.close()
  })

  test('ERR-02 no bad request discloses internals of the service', async () => {
    for (const variables of [{ where: "City eq 'a' or 1=1;--" }, { where: 'matchespattern(City,"(")' }, { filter: { City: { matchespattern: '(' } } }, { where: '\u0000' }, { filter: { City: { eq: '\u0000' } } }]) {
      const { text, status } = await app.send('/graphql', { method: 'POST', body: { query: FIND, variables } })
      expect(status).toBeLessThan(500)
      expect(text).not.toMatch(/prisma|postgres|pglite|\bselect\b.*\bfrom\b|node_modules|\bat \S+ \(|\.(?:ts|js):\d|INTERNAL/i)
    }
    const created = await postQuery(app, 'mutation ($input: PropertyInput!) { createDraft(input: $input) { id } }', { input: { ...DRAFT, City: '\u0000' } })
    expect(created.errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT')
  }) // biome-ignore format: one table
})
