import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf } from '../../support/assertions.js'
import {
  type GraphQLTestResponse,
  postQuery,
  queryData,
  queryError,
  withGrant,
} from '../../support/clients/graphql-client.js'
import { DATABASE_KINDS } from '../../support/database.js'

type Row = Readonly<Record<string, unknown>>

describe.each(DATABASE_KINDS)('records by GraphQL: %s', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
  })
  afterAll(() => app.close())

  test('a record by its key has the values of OData', async () => {
    const { property } = await queryData<{ property: Row }>(
      app,
      '{ property(ListingKey: "P01") { ListingKey City ListPrice DaysOnMarket ModificationTimestamp ConstructionMaterials GeoLocation etag } }',
    )
    const record = bodyOf(await app.send("/odata/Property('P01')"))
    const { etag, ...values } = property
    expect(record).toMatchObject(values)
    expect(etag).toBe(record['@odata.etag'])
  })

  test('members are in the order of the selection', async () => {
    const { property } = await queryData<{ property: Row }>(
      app,
      '{ property(ListingKey: "P01") { City Rooms { RoomKey } __typename ListAgent { MemberKey } ListingKey id price: ListPrice } }',
    )
    expect(Object.keys(property)).toEqual([
      'City',
      'Rooms',
      '__typename',
      'ListAgent',
      'ListingKey',
      'id',
      'price',
    ])
  })

  test('fragments, aliases and directives', async () => {
    const query = `
      query Q($with: Boolean!, $without: Boolean!) {
        one: property(ListingKey: "P01") { ...Basics ... on Property @include(if: $with) { price: ListPrice } ... @skip(if: $without) { Rooms { RoomKey } } }
        two: property(ListingKey: "P02") { ...Basics }
        none: property(ListingKey: "nobody") { ListingKey }
      }
      fragment Basics on Property { ListingKey place: City ...More Media { MediaKey } }
      fragment More on Property { kind: __typename Media { type: MediaType } }`
    const data = await queryData<Record<string, Row | null>>(app, query, { with: true, without: true })
    expect(data['one']).toMatchObject({ ListingKey: 'P01', place: 'Denver', kind: 'Property', price: 250000 })
    expect(data['one']).not.toHaveProperty('Rooms')
    expect(Object.keys((data['one']?.['Media'] as Row[] | undefined)?.[0] ?? {})).toEqual([
      'type',
      'MediaKey',
    ])
    expect(data['two']).toMatchObject({ ListingKey: 'P02' })
    expect(data['two']).not.toHaveProperty('price')
    expect(data['none']).toBeNull()
  })

  test('a repeated document is answered by its variables, wherever they occur', async () => {
    const query = `query ($key: String!, $with: Boolean!, $type: String, $most: Int = 9) {
      property(ListingKey: $key) { ...Parts city: City @skip(if: $with) Rooms(first: $most) { RoomKey } }
      ...Others
    }
    fragment Parts on Property { ListingKey Media(filter: { MediaType: { eq: $type } }) { MediaType @include(if: $with) __typename } }
    fragment Others on Query { properties(filter: { ListingKey: { eq: $key } }) @include(if: $with) { nodes { ListingKey } } }`
    const of = async (variables: Row) =>
      queryData<{ property: Record<string, Row[]>; properties?: unknown }>(app, query, variables)
    for (let again = 0; again < 2; again++) {
      const one = await of({ key: 'P01', with: true, type: 'image/jpeg', most: 1 })
      expect(one).toMatchObject({
        property: { ListingKey: 'P01', Rooms: [{}] },
        properties: { nodes: [{ ListingKey: 'P01' }] },
      })
      expect(one.property).not.toHaveProperty('city')
      expect(new Set(one.property['Media']?.map(m => m['MediaType']))).toEqual(new Set(['image/jpeg']))
      const other = await of({ key: 'P21', with: false, type: null })
      expect(other).toMatchObject({ property: { ListingKey: 'P21', city: 'Vail' } })
      expect(other).not.toHaveProperty('properties')
      expect(other.property['Media']?.every(m => !('MediaType' in m))).toBe(true)
      expect((await of({ key: 'P01', with: true, type: 'image/jpeg' })).property['Rooms']).toHaveLength(3)
      // The only condition of a filter may be null, but must not be absent.
      expect((await postQuery(app, query, { key: 'P01', with: true })).errors?.[0]?.extensions.code).toBe(
        'BAD_USER_INPUT',
      )
    }
  })

  test('GQL-02: one field twice with different arguments', async () => {
    const query = `{
      property(ListingKey: "P01") { a: Media(filter: { MediaType: { eq: "image/jpeg" } }) { MediaType } b: Media(filter: { MediaType: { ne: "image/jpeg" } }) { MediaType } all: Media { MediaKey } }
      x: properties(filter: { City: { eq: "Vail" } }) { nodes { City } totalCount }
      y: properties(filter: { City: { eq: "Aspen" } }) { nodes { City } totalCount }
    }`
    const { property, x, y } = await queryData<{
      property: Record<string, Row[]>
      x: { nodes: Row[] }
      y: { nodes: Row[] }
    }>(app, query)
    const types = (name: string) => new Set(property[name]?.map(m => m['MediaType']))
    expect(types('a')).toEqual(new Set(['image/jpeg']))
    expect(types('b')).not.toContain('image/jpeg')
    expect((property['a']?.length ?? 0) + (property['b']?.length ?? 0)).toBe(
      property['all']?.filter(Boolean).length,
    )
    expect(new Set(x.nodes.map(n => n['City']))).toEqual(new Set(['Vail']))
    expect(new Set(y.nodes.map(n => n['City']))).toEqual(new Set(['Aspen']))
  })

  test('navigations: to one and to many, with options of their own', async () => {
    const query = `{ properties(filter: { ListingKey: { in: ["P01", "P21"] } }, orderBy: [{ ListingKey: DESC }]) { nodes {
      ListingKey
      ListAgent { __typename MemberKey Media { MediaKey } }
      Rooms(orderBy: [{ RoomKey: DESC }], first: 2) { RoomKey Listing { City } }
      some: Rooms(where: "RoomType ne null", skip: 1) { RoomType }
    } } }`
    const { properties } = await queryData<{ properties: { nodes: Row[] } }>(app, query)
    expect(properties.nodes.map(n => n['ListingKey'])).toEqual(['P21', 'P01'])
    const [, record] = properties.nodes
    const rooms = record?.['Rooms'] as Row[]
    expect(rooms.map(r => r['RoomKey'])).toEqual(
      rooms
        .map(r => r['RoomKey'])
        .toSorted()
        .toReversed(),
    )
    expect(rooms).toHaveLength(2)
    expect(rooms[0]?.['Listing']).toEqual({ City: 'Denver' })
    expect(record?.['ListAgent']).toMatchObject({ __typename: 'Member' })
  })

  test('node finds every entity by the id that records carry', async () => {
    const roots = [
      'properties',
      'members',
      'offices',
      'mediaItems',
      'rooms',
      'openHouses',
      'lookups',
      'entityEvents',
    ]
    const found = await queryData<Record<string, { nodes: Row[] }>>(
      app,
      `{ ${roots.map(r => `${r}(first: 1) { nodes { __typename id } }`).join(' ')} }`,
    )
    const nodes = roots.flatMap(r => found[r]?.nodes ?? [])
    expect(nodes.length).toBeGreaterThan(5)
    for (const { id, __typename } of nodes)
      expect(
        await queryData(
          app,
          'query ($id: ID!) { node(id: $id) { __typename id ... on Property { City } ... on Member { MemberKey } } }',
          { id },
        ),
      ).toMatchObject({
        node: { id, __typename },
      })
    for (const id of [
      '',
      'x',
      'UHJvcGVydHk6',
      'UHJvcGVydHk6UDAx=',
      'UHJvcGVydHk6bm9ib2R5',
      'RW50aXR5RXZlbnQ6YWJj',
      'Tm9ib2R5OjE',
    ])
      expect(await queryData(app, 'query ($id: ID!) { node(id: $id) { id } }', { id })).toEqual({
        node: null,
      })
  })

  test('a key of any characters has an id, and none is too long for a line of base64', async () => {
    const { properties } = await queryData<{ properties: { nodes: Row[] } }>(
      app,
      `{ properties(where: "ListingKey in ('P''00','P/00')") { nodes { id ListingKey } } }`,
    )
    expect(properties.nodes.map(n => Buffer.from(String(n['id']), 'base64url').toString())).toEqual(
      properties.nodes.map(n => `Property:${n['ListingKey']}`),
    )
  })

  test('fields that a reader may not see are null, and records are absent', async () => {
    const reader = withGrant(app, { scopes: ['listings:read'], audience: 'public' })
    const query =
      '{ properties(first: 100) { totalCount nodes { StandardStatus PrivateRemarks } } property(ListingKey: "P13") { ListingKey } }'
    const { properties, property } = await queryData<{
      properties: { totalCount: number; nodes: Row[] }
      property: null
    }>(app, query, {}, reader)
    expect(properties.nodes.map(n => n['StandardStatus'])).not.toContain('Incomplete')
    expect(properties.totalCount).toBe(properties.nodes.length)
    expect(properties.nodes.every(n => n['PrivateRemarks'] === null)).toBe(true)
    expect(property).toBeNull()
    expect(
      (await queryError(app, '{ members { totalCount } }', {}, withGrant(app, { scopes: [] }))).extensions,
    ).toMatchObject({
      code: 'FORBIDDEN',
      serviceCode: '3003',
    })
  })

  /** Sends variables as they are written: JavaScript would change some numbers. */
  const postText = async (query: string, variables: string) => {
    const { status, json } = await app.send('/graphql', {
      method: 'POST',
      rawBody: `{"query":${JSON.stringify(query)},"variables":${variables}}`,
      headers: { 'Content-Type': 'application/json', Accept: 'application/graphql-response+json' },
    })
    return { status, ...(json as Omit<GraphQLTestResponse<Row>, 'status'>) }
  }

  test('GQL-03: null and absent conditions never select all records', async () => {
    const count = async (filter: string, variables = {}, declared = '') =>
      postQuery<{ properties: { totalCount: number } }>(
        app,
        `query ${declared} { properties(filter: ${filter}) { totalCount } }`,
        variables,
      )
    const whole = (await count('{}')).data?.properties.totalCount
    expect((await count('null')).data?.properties.totalCount).toBe(whole)
    expect((await count('{ OriginatingSystemName: { eq: null } }')).data?.properties.totalCount).toBeLessThan(
      whole ?? 0,
    )
    expect(
      (await count('{ City: { eq: $c } }', { c: null }, '($c: String)')).data?.properties.totalCount,
    ).toBe(0)
    for (const [filter, declared] of [
      ['{ City: { eq: $c } }', '($c: String)'],
      ['{ City: { in: $c } }', '($c: [String])'],
      ['{ and: $c }', '($c: [PropertyFilter!])'],
      ['{ or: [{ City: { eq: "Vail" } }, { not: $c }] }', '($c: PropertyFilter)'],
    ])
      expect((await count(filter ?? '', {}, declared)).errors?.[0]?.extensions.code, filter).toBe(
        'BAD_USER_INPUT',
      )
    // A condition without its value is dropped from the others.
    const inVail = (await count('{ City: { eq: "Vail" } }')).data?.properties.totalCount
    expect(inVail).toBeLessThan(whole ?? 0)
    for (const [filter, declared] of [
      ['{ City: { eq: "Vail", ne: $c } }', '($c: String)'],
      ['{ City: { eq: "Vail" }, ListPrice: $c }', '($c: DecimalFilter)'],
    ])
      expect((await count(filter ?? '', {}, declared)).data?.properties.totalCount, filter).toBe(inVail)
    for (const filter of [
      '{ City: null }',
      '{ City: {} }',
      '{ not: null }',
      '{ and: null }',
      '{ Media: null }',
      '{ Media: { any: null } }',
    ])
      expect((await count(filter)).errors?.[0]?.extensions.code, filter).toBe('BAD_USER_INPUT')
    expect((await count('{ or: [] }')).data?.properties.totalCount).toBe(0)
    expect((await count('{ City: { in: [] } }')).data?.properties.totalCount).toBe(0)
    expect((await count('{ and: [] }')).data?.properties.totalCount).toBe(whole)
  })

  test('a number that no type can represent is refused in every notation', async () => {
    const TYPED = 'query ($n: Decimal) { properties(filter: { ListPrice: { gt: $n } }) { totalCount } }'
    const whole = 'query ($n: PropertyFilter) { properties(filter: $n) { totalCount } }'
    for (const number of ['1e-400', '1e400', '-1e400']) {
      const sent: readonly (readonly [query: string, variables: string])[] = [
        [TYPED, `{"n":${number}}`],
        [TYPED, `{"n":"${number}"}`],
        [whole, `{"n":{"ListPrice":{"gt":${number}}}}`],
        [`{ properties(filter: { ListPrice: { gt: ${number} } }) { totalCount } }`, '{}'],
      ]
      for (const [query, variables] of sent) {
        const { errors } = await postText(query, variables)
        expect(errors?.[0], `${query} ${variables}`).toMatchObject({
          message: `'${number}' is not a valid value of type number. The number is out of range.`,
          extensions: { code: 'BAD_USER_INPUT', serviceCode: '2006', target: 'filter' },
        })
      }
      const int = await postText(
        'query ($n: Int) { properties(first: $n) { totalCount } }',
        `{"n":${number}}`,
      )
      expect(int.errors?.[0]?.message).toContain(`Int cannot represent non-integer value: ${number}`)
      expect(int.errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', target: '$n' })
    }
  })

  test('a position out of range is refused with code, target and its numbers', async () => {
    const near = (point: string) =>
      `{ properties(filter: { GeoLocation: { geoDistance: { to: ${point}, is: { lt: 5 } } } }) { totalCount } }`
    const within = (polygon: string) =>
      `{ properties(filter: { GeoLocation: { geoIntersects: ${polygon} } }) { totalCount } }`
    const [POINT, POLYGON] = [
      '{ type: "Point", coordinates: [181, 0] }',
      '{ type: "Polygon", coordinates: [[[0, 0], [181, 0], [1, 1], [0, 0]]] }',
    ]
    const OPEN = '{ type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1]]] }'
    const sent: readonly (readonly [query: string, variables: string, found: string])[] = [
      [near(POINT), '{}', '[181,0]'],
      [`query ($p: GeoPoint!) ${near('$p')}`, '{"p":{"type":"Point","coordinates":[181,0]}}', '[181,0]'],
      [
        `query ($p: GeoPoint!) ${near('$p')}`,
        '{"p":{"type":"Point","coordinates":["0","91"]}}',
        '["0","91"]',
      ],
      [
        `query ($p: GeoPoint!) ${near('$p')}`,
        '{"p":{"type":"Point","coordinates":[1e-400,0]}}',
        '[1e-400,0]',
      ],
      [within(POLYGON), '{}', '[181,0]'],
      [within(OPEN), '{}', '[0,1]]]'],
    ]
    for (const [query, variables, found] of sent) {
      const { errors } = await postText(query, variables)
      expect(errors?.[0]?.extensions, query).toMatchObject({
        code: 'BAD_USER_INPUT',
        serviceCode: '2006',
        target: 'filter',
      })
      expect(errors?.[0]?.message).toContain(found)
      expect(errors?.[0]?.message).toContain('The longitude must be between -180 and 180')
      expect(errors?.[0]?.message).not.toContain('"text"')
    }
  })

  test('a variable of another type is refused with code and target', async () => {
    for (const [type, value, serviceCode] of [
      ['Decimal', '"x"', '2006'],
      ['Decimal', '[1]', '2006'],
      ['GeoPoint', '{"type":"Point"}', '2006'],
      ['Int', '"x"', '2011'],
    ]) {
      const { status, errors } = await postText(
        `query ($v: ${type}) { property(ListingKey: "P01") { ListingKey Rooms(where: "true", first: ${type === 'Int' ? '$v' : 1}) { RoomKey } } properties(filter: { ${type === 'Decimal' ? 'ListPrice: { gt: $v }' : ''} ${type === 'GeoPoint' ? 'GeoLocation: { geoDistance: { to: $v, is: { lt: 1 } } }' : ''} }) { totalCount } }`.replace(
          '$v: GeoPoint',
          '$v: GeoPoint!',
        ),
        `{"v":${value}}`,
      )
      expect([status, errors?.[0]?.extensions]).toEqual([
        400,
        { code: 'BAD_USER_INPUT', serviceCode, target: '$v', details: [] },
      ])
      expect(errors?.[0]?.message).not.toContain('"text"')
    }
  })

  test('a literal of another type is refused with code and location', async () => {
    const { errors } = await postText(
      '{ properties(filter: { ListPrice: { gt: "x" } }) { totalCount } }',
      '{}',
    )
    expect(errors).toEqual([
      {
        message: "'x' is not a valid value of type Decimal.",
        locations: [{ line: 1, column: 41 }],
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED', serviceCode: '2006', details: [] },
      },
    ])
  })

  test('filter, where and search apply together', async () => {
    const query = `{ properties(filter: { City: { eq: "Vail" } }, where: "ListPrice ne null", orderBy: [{ ListPrice: ASC }, { ListingKey: DESC }]) { nodes { ListingKey } } }`
    expect(await queryData(app, query)).toEqual({
      properties: { nodes: [{ ListingKey: 'P22' }, { ListingKey: 'P21' }] },
    })
    const fault = await queryError(app, '{ properties(where: "Citty eq 1") { totalCount } }')
    expect(fault).toMatchObject({
      path: ['properties'],
      extensions: { code: 'BAD_USER_INPUT', serviceCode: '2002', target: 'Citty' },
    })
    expect(
      (await queryError(app, '{ properties(where: "City eq") { totalCount } }')).extensions,
    ).toMatchObject({
      serviceCode: '2001',
      target: 'where',
    })
  })

  test('a name that PostgreSQL would truncate is refused', async () => {
    expect(
      (await queryError(app, `{ property(ListingKey: "P01") { ${'a'.repeat(64)}: City } }`)).extensions.code,
    ).toBe('BAD_USER_INPUT')
    const name = 'a'.repeat(63)
    expect(await queryData(app, `{ property(ListingKey: "P01") { ${name}: City } }`)).toEqual({
      property: { [name]: 'Denver' },
    })
  })

  test('an error of one field does not affect the others, unless the field is not nullable', async () => {
    const { data, errors } = await postQuery<Row>(
      app,
      '{ a: property(ListingKey: "P01") { City } b: property(ListingKey: "P01") { Media(where: "x") { MediaKey } } }',
    )
    expect(data).toEqual({ a: { City: 'Denver' }, b: null })
    expect(errors).toMatchObject([{ path: ['b'] }])
    expect(
      (
        await postQuery(
          app,
          '{ a: property(ListingKey: "P01") { City } properties(where: "x") { totalCount } }',
        )
      ).data,
    ).toBeNull()
  })
})
