import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { type Row, rowsOf } from '../../support/assertions.js'
import { DeltaReplica, summaryOf } from '../../support/clients/delta-replica.js'
import {
  type GraphQLErrorBody,
  postQuery,
  queryData,
  queryError,
  withGrant,
} from '../../support/clients/graphql-client.js'
import { LogReader, READERS } from '../../support/clients/log-reader.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { type TestService, testServiceOf } from '../../support/test-service.js'

interface Removed {
  readonly id: string
  readonly key: string
  readonly reason: 'DELETED' | 'CHANGED'
}
interface Delta {
  readonly records: readonly Row[]
  readonly removed: readonly Removed[]
  readonly hasNextPage: boolean
  readonly token: string
}

const OWNED = { ListAgentKey: 'M1', ListOfficeKey: 'O1' }
const TIME = '2024-05-01T00:00:00.000Z'
/** Rounds of about ten changes. Trap DEL-27 has 500 changes: DELTA_ROUNDS=50. */
const ROUNDS = Number(process.env['DELTA_ROUNDS'] ?? 12)
const photo = (listing: string, n: number) => ({
  MediaKey: `${listing}-P${n}`,
  ResourceName: 'Property',
  ResourceRecordKey: listing,
  MediaCategory: 'Photo',
  MediaURL: `https://photos.example/${listing}/${n}`,
  Order: n,
  ModificationTimestamp: TIME,
})
const listings = (count: number, fields: Row = {}) => Array.from({ length: count }, () => fields)

/** One of thirty listings. */
const ANY_KEY = fc.nat(29).map(n => `L0${String(n + 1).padStart(2, '0')}`)
const ANY_CHANGE = fc.oneof(
  fc.record({ set: fc.nat(999).map(price => `"ListPrice" = ${price}`), key: ANY_KEY }),
  fc.record({ set: fc.constantFrom('Austin', 'Waco').map(city => `"City" = '${city}'`), key: ANY_KEY }),
  fc.record({ set: fc.boolean().map(shown => `"InternetEntireListingDisplayYN" = ${shown}`), key: ANY_KEY }),
  fc.record({ set: fc.constantFrom('Active', 'Incomplete').map(status => `"StandardStatus" = '${status}'`), key: ANY_KEY }),
) // biome-ignore format: one change a line
const RANDOM_CHANGES = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: ANY_CHANGE.map(({ set, key }) => `update "Property" set ${set} where "ListingKey" = '${key}'`) },
    { weight: 1, arbitrary: ANY_KEY.map(key => `delete from "Property" where "ListingKey" = '${key}'`) },
    { weight: 1, arbitrary: fc.tuple(fc.nat(8), ANY_KEY).map(([n, key]) => `update "Media" set "Order" = ${n} where "ResourceRecordKey" = '${key}'`) },
    { weight: 1, arbitrary: fc.tuple(ANY_KEY, ANY_KEY).map(([to, key]) => `update "Media" set "ResourceRecordKey" = '${to}' where "MediaKey" = '${key}-P1'`) },
    { weight: 1, arbitrary: ANY_KEY.map(key => `delete from "Media" where "MediaKey" = '${key}-P2'`) },
  ),
  { minLength: 8, maxLength: 12 },
) // biome-ignore format: one change a line

/** The fields that both adapters read, in the order of the keys. */
const toMarket = (copy: ReadonlyMap<string, Row>) =>
  [...copy]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { City, ListPrice, Media }]) => ({
      key,
      City,
      ListPrice,
      Media: (Media as readonly Row[]).map(({ MediaKey, Order }) => ({ MediaKey, Order })),
    }))

describe.each(DATABASE_KINDS)('changes over GraphQL on the %s database', kind => {
  let market: TestApp
  let { given, patch, remove }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestApp({ kind })
    ;({ given, patch, remove } = testServiceOf(market))
  })
  afterAll(() => market.close())

  const sql = (...statements: readonly string[]) =>
    market.database.withClient(async client => {
      for (const statement of statements) await client.query(statement)
    })
  const as = (name: string) => withGrant(market, READERS[name])

  /** A client of one query with a token of its own. */
  function clientOf(name: string, args = '', selection = 'ListingKey City ListPrice') {
    const text = (paging: string) =>
      `query ($since: String) { propertyChanges(since: $since, ${args} ${paging}) { records { ${selection} } removed { id key reason } hasNextPage token } }`
    return {
      read: async (since?: string, paging = ''): Promise<Delta> => {
        const variables = since === undefined ? {} : { since }
        const data = await queryData<{ readonly propertyChanges: Delta }>(market, text(paging), variables, as(name)) // biome-ignore format: one request
        return data.propertyChanges
      },
      refuse: (since: string, paging = '') => queryError(market, text(paging), { since }, as(name)),
    }
  }
  const keysOf = ({ records, removed }: Pick<Delta, 'records' | 'removed'>) =>
    [
      ...records.map(record => String(record['ListingKey'])),
      ...removed.map(({ key, reason }) => `${reason.toLowerCase()} ${key}`),
    ].sort()
  const codeOf = ({ extensions: { code, serviceCode, target } }: GraphQLErrorBody) =>
    [code, serviceCode, target].join(' ')

  test('changed, deleted, hidden and no longer matching records', async () => {
    await given([...listings(6), { StandardStatus: 'Incomplete' }])
    const filter = 'filter: { City: { eq: "Austin" } }'
    const [staff, reader] = [clientOf('staff', filter), clientOf('public', filter)]
    const [ofStaff, ofPublic] = [await staff.read(), await reader.read()]
    expect([ofStaff, ofPublic].map(page => [page.records, page.removed, page.hasNextPage])).toEqual([
      [[], [], false],
      [[], [], false],
    ])
    await patch('L001', { ListPrice: 7 })
    await remove('L002')
    await patch('L003', { City: 'Waco' })
    await patch('L004', { InternetEntireListingDisplayYN: false })
    await patch('L007', { ListPrice: 5 })
    const seen = await reader.read(ofPublic.token)
    expect(seen.records).toEqual([{ ListingKey: 'L001', City: 'Austin', ListPrice: 7 }])
    expect(keysOf(seen)).toEqual(['L001', 'changed L003', 'changed L004', 'deleted L002'])
    expect(keysOf(await staff.read(ofStaff.token))).toEqual([
      'L001',
      'L004',
      'L007',
      'changed L003',
      'deleted L002',
    ])
    const id = seen.removed.find(({ key }) => key === 'L003')?.id
    const { node } = await queryData<{ readonly node: Row }>(
      market,
      'query ($id: ID!) { node(id: $id) { ... on Property { ListingKey City } } }',
      { id },
    )
    expect(node).toEqual({ ListingKey: 'L003', City: 'Waco' })
  })

  test('DEL-27 the pages end at the event that was the last when the first page was read', async () => {
    await given(listings(8))
    const reader = clientOf('public')
    const { token } = await reader.read()
    await sql(`update "Property" set "ListPrice" = 4`)
    const first = await reader.read(token, 'first: 3')
    await patch('L001', { ListPrice: 9 })
    const second = await reader.read(first.token, 'first: 3')
    const third = await reader.read(second.token, 'first: 3')
    const pages = [first, second, third]
    expect(pages.map(page => [page.records.length, page.hasNextPage])).toEqual([
      [3, true],
      [3, true],
      [2, false],
    ])
    expect(new Set(pages.flatMap(keysOf)).size).toBe(8)
    const next = await reader.read(third.token, 'first: 3')
    expect([next.records, next.hasNextPage]).toEqual([
      [{ ListingKey: 'L001', City: 'Austin', ListPrice: 9 }],
      false,
    ])
    // Tokens can be used again.
    expect((await reader.read(first.token, 'first: 3')).records).toHaveLength(3)
  })

  test('DEL-27 a page without changes for the reader advances the token', async () => {
    await given([{}, { StandardStatus: 'Incomplete' }])
    const reader = clientOf('public')
    const { token } = await reader.read()
    await remove('L002')
    const empty = await reader.read(token)
    expect([keysOf(empty), empty.hasNextPage]).toEqual([[], false])
    expect(empty.token).not.toBe(token)
    await patch('L001', { ListPrice: 3 })
    await sql(
      `update "EntityEvent" set "EventTimestamp" = "EventTimestamp" - interval '2 days'`,
      `select prune_log(now() - interval '1 day', 1000000, 0)`,
    )
    expect(codeOf(await reader.refuse(token))).toBe('GONE 4010 since')
    expect(keysOf(await reader.read(empty.token))).toEqual(['L001'])
  })

  test('DEL-27 a token of other rights, of another log, and tokens of other queries are refused', async () => {
    await given([OWNED, {}])
    const filter = 'filter: { City: { eq: "Austin" } }'
    const { token } = await clientOf('agent', filter).read()
    for (const name of ['public', 'member', 'staff', 'office'])
      expect([name, codeOf(await clientOf(name, filter).refuse(token))]).toEqual([name, 'GONE 4010 since'])
    for (const other of ['', 'filter: { City: { eq: "Waco" } }', `where: "City eq 'Austin' and true"`])
      expect([other, codeOf(await clientOf('agent', other).refuse(token))]).toEqual([
        other,
        'BAD_USER_INPUT 2016 since',
      ])
    for (const broken of ['', '0', '17', 'latest', token.slice(1), `${token}A`, `${token}=`])
      expect([broken, codeOf(await clientOf('agent', filter).refuse(broken))]).toEqual([
        broken,
        'BAD_USER_INPUT 2016 since',
      ])
    const others = `{ memberChanges(since: "${token}") { token } }`
    expect(codeOf(await queryError(market, others, {}, as('agent')))).toBe('BAD_USER_INPUT 2016 since')
    const { data } = await postQuery<{ readonly properties: { readonly pageInfo: Row } }>(
      market,
      `{ properties(${filter}) { pageInfo { endCursor } } }`,
    )
    const cursor = String(data?.properties.pageInfo['endCursor'])
    expect(codeOf(await clientOf('staff', filter).refuse(cursor))).toBe('BAD_USER_INPUT 2016 since')
    await sql('truncate "EntityEvent"')
    expect(codeOf(await clientOf('agent', filter).refuse(token))).toBe('GONE 4010 since')
    const unread = await queryError(market, '{ propertyChanges { token } }', {}, withGrant(market, { scopes: ['listings:write'] })) // biome-ignore format: one request
    expect(unread.extensions.code).toBe('FORBIDDEN')
  })

  test('DEL-27 since as null, or as a variable without a value, returns the current token', async () => {
    await given(listings(2))
    const text = (since: string) =>
      `query ${since.includes('$') ? '($since: String)' : ''} { propertyChanges${since} { token records { ListingKey } } }`
    const tokens: string[] = []
    for (const since of ['', '(since: null)', '(since: $since)']) {
      const { propertyChanges } = await queryData<{ readonly propertyChanges: Delta }>(market, text(since))
      expect(propertyChanges.records).toEqual([])
      tokens.push(propertyChanges.token)
    }
    const nulled = await queryData<{ readonly propertyChanges: Delta }>(market, text('(since: $since)'), {
      since: null,
    })
    await patch('L002', { ListPrice: 4 })
    for (const token of [...tokens, nulled.propertyChanges.token])
      expect(keysOf(await clientOf('staff').read(token))).toEqual(['L002'])
  })

  test('DEL-27 aliases of the field and of its parts have filters and fields of their own', async () => {
    await given([...listings(2), { City: 'Waco' }], { Media: [photo('L002', 1)] })
    const query = (first: string, second: string) => `{
      austin: propertyChanges(filter: { City: { eq: "Austin" } } ${first}) {
        __typename short: records { key: ListingKey } gone: removed { __typename key }
        long: records { __typename id etag ListingKey price: ListPrice Media(first: 1) { MediaKey } } token
      }
      waco: propertyChanges(where: "City eq 'Waco'" ${second}) { token hasNextPage }
    }`
    type Data = Readonly<Record<'austin' | 'waco', Row>>
    const start = await queryData<Data>(market, query('', ''))
    await patch('L001', { ListPrice: 4 })
    await sql(`update "Media" set "Order" = 2 where "ResourceRecordKey" = 'L002'`)
    await remove('L003')
    const sinceOf = (part: Row) => `since: "${part['token']}"`
    const { austin, waco } = await queryData<Data>(market, query(sinceOf(start.austin), sinceOf(start.waco)))
    expect(austin).toMatchObject({
      __typename: 'PropertyDelta',
      short: [{ key: 'L001' }, { key: 'L002' }],
      gone: [{ __typename: 'RemovedRecord', key: 'L003' }],
      long: [
        { __typename: 'Property', ListingKey: 'L001', price: 4, Media: [] },
        { ListingKey: 'L002', Media: [{ MediaKey: 'L002-P1' }] },
      ],
    })
    expect(waco).toEqual({ token: expect.any(String), hasNextPage: false })
    const next = await queryData<Data>(market, query(sinceOf(austin), sinceOf(waco)))
    expect(next.austin).toMatchObject({ short: [], gone: [], long: [] })
  })

  test('a filter over the children of a listing, with id and etag selected', async () => {
    await given(listings(2), { Media: [photo('L001', 1)] })
    const client = clientOf(
      'public',
      'filter: { Media: { any: { Order: { eq: 1 } } } }',
      'id etag __typename ListingKey',
    )
    const { token } = await client.read()
    await sql(`update "Media" set "Order" = 2`)
    const left = await client.read(token)
    expect(keysOf(left)).toEqual(['changed L001'])
    await sql(`update "Media" set "Order" = 1`)
    expect(keysOf(await client.read(left.token))).toEqual(['L001'])
  })

  test('every set with positions has its changes', async () => {
    await given([OWNED])
    const fields = ['memberChanges', 'officeChanges', 'mediaItemChanges', 'roomChanges', 'openHouseChanges', 'lookupChanges'] // biome-ignore format: one row
    type Data = Readonly<Record<string, { readonly token: string; readonly records: readonly Row[] }>>
    const start = await queryData<Data>(market, `{ ${fields.map(name => `${name} { token }`).join(' ')} }`)
    expect(Object.keys(start)).toEqual(fields)
    await sql(`update "Member" set "MemberLastName" = 'New' where "MemberKey" = 'M2'`)
    const { memberChanges } = await queryData<Data>(
      market,
      `{ memberChanges(since: "${start['memberChanges']?.token}") { records { MemberKey } } }`,
    )
    expect(memberChanges?.records).toEqual([{ MemberKey: 'M2' }])
  })

  test('sizes, costs and selections that are refused', async () => {
    await given(listings(1))
    const { token } = await clientOf('staff').read()
    for (const size of [0, -1, 1001, 2_000_000_000]) {
      const { extensions } = await queryError(market, `{ propertyChanges(first: ${size}) { token } }`)
      const expected = size > 1_000_000 ? '2018' : '2011'
      expect([size, extensions.code, extensions.serviceCode]).toEqual([size, 'BAD_USER_INPUT', expected])
    }
    expect((await clientOf('staff').refuse(token, 'first: 0')).extensions.target).toBe('first')
    const costly = `{ propertyChanges(first: 1000) { records { Media(first: 1000) { MediaKey } } } }`
    expect((await queryError(market, costly)).extensions.serviceCode).toBe('2018')
    for (const selection of ['ListingKey CoListAgent { MemberKey }', 'ListAgent { Office { OfficeKey } }'])
      for (const since of ['', `(since: "${token}")`]) {
        const { extensions } = await queryError(
          market,
          `{ propertyChanges${since} { records { ${selection} } } }`,
        )
        expect(extensions.code).toBe('NOT_IMPLEMENTED')
      }
  })

  /** The copies of a reader: one by delta links, and one that GraphQL continues with the token of the first link. */
  async function startReplicas(name: string) {
    const reader = new LogReader(market, name)
    const query = `Property?$filter=City eq 'Austin'&$select=ListingKey,City,ListPrice&$expand=Media($select=MediaKey,Order;$orderby=MediaKey)`
    const replica = new DeltaReplica(reader, query, 'ListingKey')
    await replica.poll()
    const client = clientOf(
      name,
      'filter: { City: { eq: "Austin" } }',
      'ListingKey City ListPrice Media(orderBy: [{ MediaKey: ASC }]) { MediaKey Order }',
    )
    const ofGraphQL = new Map(replica.records)
    let token = new URL(replica.link).searchParams.get('$deltatoken') ?? ''
    return {
      name,
      ofGraphQL,
      ofOData: replica.records,
      readByLink: async () => {
        const rows = rowsOf(await reader.send(replica.link))
        await replica.poll()
        return rows.map(row => summaryOf(row)).sort()
      },
      readAtOnce: async () => keysOf(await client.read(token)),
      readInPages: async () => {
        for (let more = true; more; ) {
          const { records, removed, ...page } = await client.read(token, 'first: 3')
          for (const record of records) ofGraphQL.set(String(record['ListingKey']), record)
          for (const { key } of removed) ofGraphQL.delete(key)
          token = page.token
          more = page.hasNextPage
        }
      },
    }
  }

  test('DEL-27 the same records and removals as by a delta link, after random changes', async () => {
    await given([...listings(15, OWNED), ...listings(15)], {
      Media: Array.from({ length: 60 }, (_, n) =>
        photo(`L0${String(1 + (n % 30)).padStart(2, '0')}`, n < 30 ? 1 : 2),
      ),
    })
    const readers = await Promise.all(['public', 'member', 'agent', 'staff'].map(name => startReplicas(name)))
    for (const [round, statements] of fc.sample(RANDOM_CHANGES, { numRuns: ROUNDS, seed: 27 }).entries()) {
      await sql(...statements)
      for (const reader of readers) {
        const entries = await reader.readByLink()
        expect([round, reader.name, await reader.readAtOnce()]).toEqual([round, reader.name, entries])
        await reader.readInPages()
      }
    }
    for (const { name, ofGraphQL, ofOData } of readers) {
      expect([name, toMarket(ofGraphQL)]).toEqual([name, toMarket(ofOData)])
      expect(ofOData.size).toBeGreaterThan(0)
    }
  })
})
