import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TRANSITIONS } from '../../../src/domain/lifecycle.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf } from '../../support/assertions.js'
import { postQuery, queryData, queryError, withGrant } from '../../support/clients/graphql-client.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { DRAFT } from '../../support/drafts.js'

type Row = Readonly<Record<string, unknown>>

const CREATE =
  'mutation ($input: PropertyInput!) { createDraft(input: $input) { id ListingKey StandardStatus MlsStatus ContractStatus ListPrice etag } }'
const UPDATE =
  'mutation ($key: String!, $input: PropertyInput!, $if: String) { updateProperty(ListingKey: $key, input: $input, ifMatch: $if) { id ListPrice PublicRemarks etag } }'

describe.each(DATABASE_KINDS)('mutations: %s', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
  })
  afterAll(() => app.close())

  const create = async (more: Row = {}) =>
    (await queryData<{ createDraft: Record<string, string> }>(app, CREATE, { input: { ...DRAFT, ...more } }))
      .createDraft
  const stored = async (key: unknown) => bodyOf(await app.send(`/odata/Property('${key}')`))

  test('the life of a listing', async () => {
    const draft = await create({ ListPrice: '250000.50' })
    expect(draft).toMatchObject({
      StandardStatus: 'Incomplete',
      MlsStatus: 'Draft',
      ContractStatus: 'Draft',
      ListPrice: 250000.5,
    })
    const key = draft['ListingKey']
    const { publishProperty } = await queryData<{ publishProperty: Row }>(
      app,
      'mutation ($k: String!) { publishProperty(ListingKey: $k, ChangedByMemberKey: "M1") { id StandardStatus } }',
      { k: key },
    )
    expect(publishProperty).toEqual({ id: draft['id'], StandardStatus: 'Active' })
    const sold = await queryData(
      app,
      'mutation ($k: String!) { sellProperty(ListingKey: $k, SoldPrice: "240000.25", ChangedByMemberKey: "M1") { StandardStatus SoldPrice } }',
      { k: key },
    )
    expect(sold).toEqual({ sellProperty: { StandardStatus: 'Sold', SoldPrice: 240000.25 } })
    const gone = await queryData(
      app,
      'mutation ($k: String!) { deleteProperty(ListingKey: $k) { id key: ListingKey __typename } }',
      { k: key },
    )
    expect(gone).toEqual({ deleteProperty: { id: draft['id'], key, __typename: 'DeletedProperty' } })
    expect(await queryData(app, 'query ($id: ID!) { node(id: $id) { id } }', { id: draft['id'] })).toEqual({
      node: null,
    })
  })

  test.each(TRANSITIONS.map(t => [t.name, t] as const))(
    '%s goes from each of its statuses, and from no other',
    async (name, { from, to, requires }) => {
      const required = requires.map(field => `, ${field}: 1`).join('')
      for (const status of ['Incomplete', 'Active', 'Withdrawn', 'Sold'] as const) {
        const key = (await create())['ListingKey']
        await app.database.prisma
          .$executeRaw`UPDATE "Property" SET "StandardStatus" = ${status} WHERE "ListingKey" = ${key}`
        const answer = await postQuery<Record<string, Row>>(
          app,
          `mutation { ${name}(ListingKey: "${key}"${required}, ChangedByMemberKey: "M1") { StandardStatus } }`,
        )
        if (from.includes(status) || status === to)
          expect(answer.data?.[name]).toEqual({ StandardStatus: to })
        else
          expect(answer.errors?.[0]?.extensions).toMatchObject({
            code: 'BAD_USER_INPUT',
            serviceCode: '1111',
            details: [{ code: '1108', target: 'StandardStatus' }],
          })
      }
    },
  )

  test('null clears a field, an absent field is unchanged', async () => {
    const { ListingKey: key } = await create({ ListPrice: 5, PublicRemarks: 'Nice' })
    const { updateProperty } = await queryData<{ updateProperty: Row }>(app, UPDATE, {
      key,
      input: { ListPrice: null, ChangedByMemberKey: 'M1' },
    })
    expect(updateProperty).toMatchObject({ ListPrice: null, PublicRemarks: 'Nice' })
  })

  test('ifMatch: of two that change the same version one is refused', async () => {
    const { ListingKey: key, etag } = await create()
    const change = (ListPrice: number) =>
      postQuery<{ updateProperty: Row }>(app, UPDATE, {
        key,
        if: etag,
        input: { ListPrice, ChangedByMemberKey: 'M1' },
      })
    const answers = await Promise.all([change(1), change(2)])
    expect(answers.map(a => a.errors?.[0]?.extensions.code).toSorted()).toEqual([
      'PRECONDITION_FAILED',
      undefined,
    ])
    expect(
      (await queryError(app, UPDATE, { key, if: 'nonsense', input: { ChangedByMemberKey: 'M1' } }))
        .extensions,
    ).toMatchObject({
      code: 'BAD_USER_INPUT',
      target: 'ifMatch',
    })
    const fault = await queryError(
      app,
      'mutation ($k: String!, $e: String) { deleteProperty(ListingKey: $k, ifMatch: $e) { id } }',
      { k: key, e: etag },
    )
    expect(fault.extensions.code).toBe('PRECONDITION_FAILED')
  })

  test('several run in order, each in its own transaction', async () => {
    const { ListingKey: key } = await create()
    const field = (alias: string, price: number, member: string) =>
      `${alias}: updateProperty(ListingKey: "${key}", input: { ListPrice: ${price}, ChangedByMemberKey: "${member}" }) { ListPrice }`
    const { data, errors } = await postQuery<Row>(
      app,
      `mutation { ${field('a', 1, 'M1')} ${field('b', 2, 'nobody')} ${field('c', 3, 'M1')} }`,
    )
    expect(data).toEqual({ a: { ListPrice: 1 }, b: null, c: { ListPrice: 3 } })
    expect(errors).toMatchObject([
      {
        path: ['b'],
        extensions: {
          code: 'BAD_USER_INPUT',
          serviceCode: '1111',
          details: [{ code: '1107', target: 'ChangedByMemberKey' }],
        },
      },
    ])
    expect((await stored(key))['ListPrice']).toBe(3)
  })

  test('a variable without a value omits its field from the input', async () => {
    const create = `mutation ($price: Decimal, $city: String, $street: String) { createDraft(input: {
      ListAgentKey: "M1", ListOfficeKey: "M4", PropertyType: "Residential", StreetNumber: "1",
      StreetName: $street, City: $city, ListPrice: $price
    }) { ListingKey City ListPrice } }`
    const { createDraft } = await queryData<{ createDraft: Row }>(app, create, {
      city: 'Waco',
      street: 'Main',
    })
    expect(createDraft).toMatchObject({ City: 'Waco', ListPrice: null })
    expect((await queryError(app, create, { city: 'Waco' })).extensions).toMatchObject({
      serviceCode: '1111',
      details: [{ code: '1101', target: 'StreetName' }],
    })
    const key = createDraft['ListingKey']
    const update = `mutation ($key: String!, $price: Decimal, $city: String) {
      updateProperty(ListingKey: $key, input: { ListPrice: $price, City: $city, ChangedByMemberKey: "M1" }) { City ListPrice }
    }`
    const of = async (variables: Row) =>
      (await queryData<{ updateProperty: Row }>(app, update, { key, ...variables })).updateProperty
    expect(await of({ price: '5.50' })).toEqual({ City: 'Waco', ListPrice: 5.5 })
    expect(await of({ city: 'Austin' })).toEqual({ City: 'Austin', ListPrice: 5.5 })
    expect(await of({})).toEqual({ City: 'Austin', ListPrice: 5.5 })
    expect(await of({ price: null })).toEqual({ City: 'Austin', ListPrice: null })
    const whole =
      'mutation ($key: String!, $price: Decimal) { updateProperty(ListingKey: $key, input: { ListPrice: $price }) { ListPrice } }'
    const asMember = withGrant(app, { memberKey: 'M1' })
    expect(await queryData(app, whole, { key, price: 7 }, asMember)).toEqual({
      updateProperty: { ListPrice: 7 },
    })
    expect(await queryData(app, whole, { key }, asMember)).toEqual({ updateProperty: { ListPrice: 7 } })
  })

  test('a position out of range is one of the faults of the input, as in OData', async () => {
    const { ListingKey: key } = await create()
    const update = (input: string, variables = '') =>
      app.send('/graphql', {
        method: 'POST',
        rawBody: `{"query":${JSON.stringify(`mutation ($k: String!${variables && ', $p: GeoPoint'}) { updateProperty(ListingKey: $k, input: { ListPrice: -1, ${input}, ChangedByMemberKey: "M1" }) { id } }`)},"variables":{"k":"${key}"${variables}}}`,
        headers: { 'Content-Type': 'application/json' },
      })
    for (const coordinates of [
      '[181,0]',
      '[0,"91"]',
      '[1e-400,0]',
      '[0,1,2]',
      '[181.000000000000000000001,0]',
    ]) {
      const body = `{"ListPrice":-1,"GeoLocation":{"type":"Point","coordinates":${coordinates}},"ChangedByMemberKey":"M1"}`
      const odata = await app.send(`/odata/Property('${key}')`, {
        method: 'PATCH',
        rawBody: body,
        headers: { 'Content-Type': 'application/json' },
      })
      const { details } = (odata.json as { error: { details: readonly Row[] } }).error
      expect(details.map(detail => detail['target'])).toEqual(['ListPrice', 'GeoLocation'])
      for (const answer of [
        await update(`GeoLocation: { type: "Point", coordinates: ${coordinates} }`),
        await update('GeoLocation: $p', `,"p":{"type":"Point","coordinates":${coordinates}}`),
      ])
        expect(answer.json, coordinates).toMatchObject({
          data: { updateProperty: null },
          errors: [{ extensions: { code: 'BAD_USER_INPUT', serviceCode: '1111', details } }],
        })
    }
  })

  test('GQL-09: large and exact numbers, as literals and as variables', async () => {
    for (const price of ['2400000000', '123456.78', '999999999999.99']) {
      const byText = await create({ ListPrice: price })
      const { createDraft } = await queryData<{ createDraft: Record<string, string> }>(
        app,
        `mutation { createDraft(input: { ${Object.entries(DRAFT)
          .map(([k, v]) => `${k}: "${v}"`)
          .join(' ')} ListPrice: ${price} }) { ListingKey ListPrice } }`,
      )
      expect([byText['ListPrice'], createDraft['ListPrice']]).toEqual([Number(price), Number(price)])
      const answer = await app.send(`/odata/Property('${createDraft['ListingKey']}')?$select=ListPrice`)
      expect(answer.text).toContain(`"ListPrice":${price}}`)
      const query = `query ($n: Decimal) { a: properties(filter: { ListPrice: { eq: ${price} } }) { totalCount } b: properties(filter: { ListPrice: { eq: $n } }) { totalCount } }`
      expect(await queryData(app, query, { n: price })).toEqual({
        a: { totalCount: 2 },
        b: { totalCount: 2 },
      })
    }
    const byNumber = await create({ ListPrice: 2_400_000_000 })
    expect(byNumber['ListPrice']).toBe(2_400_000_000)
  })

  test('faults of the body are reported together, with the codes of OData', async () => {
    const fault = await queryError(app, UPDATE, {
      key: 'P01',
      input: { StandardStatus: 'Bogus', ListPrice: -1, ChangedByMemberKey: 'M1' },
    })
    expect(fault.extensions).toMatchObject({ code: 'BAD_USER_INPUT', serviceCode: '1111' })
    expect(fault.extensions.details).toContainEqual(
      expect.objectContaining({ code: '1105', target: 'StandardStatus' }),
    )
    const body = bodyOf(
      await app.send("/odata/Property('P01')", {
        method: 'PATCH',
        body: { StandardStatus: 'Bogus', ListPrice: -1, ChangedByMemberKey: 'M1' },
      }),
    )
    expect(fault.extensions.details).toEqual((body['error'] as Row)['details'])
  })

  test("a missing key, another agent's listing, no scope", async () => {
    const update = (key: string, parts = {}) =>
      postQuery(app, UPDATE, { key, input: { ChangedByMemberKey: 'M1' } }, parts)
    expect((await update('nobody')).errors).toMatchObject([
      { extensions: { code: 'NOT_FOUND', serviceCode: '4004' } },
    ])
    expect((await update('P01', withGrant(app, { scopes: ['listings:read'] }))).errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN' } },
    ])
    const stranger = withGrant(app, {
      scopes: ['listings:read', 'listings:write'],
      memberKey: 'M3',
      audience: 'member',
    })
    expect((await update('P01', stranger)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
  })

  test('each writes one entry of the log', async () => {
    const { ListingKey: key } = await create()
    await queryData(app, UPDATE, { key, input: { ListPrice: 9, ChangedByMemberKey: 'M1' } })
    const query =
      'query ($k: String!) { entityEvents(filter: { ResourceRecordKey: { eq: $k } }) { nodes { EntityEventSequence ResourceName } } }'
    const { entityEvents } = await queryData<{ entityEvents: { nodes: Row[] } }>(app, query, { k: key })
    expect(entityEvents.nodes.map(n => n['ResourceName'])).toEqual(['Property', 'Property'])
  })
})
