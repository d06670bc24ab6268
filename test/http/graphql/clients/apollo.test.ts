import { type ApolloClient, CombinedGraphQLErrors, gql } from '@apollo/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../../support/app.js'
import { eventually, recordRequests } from '../../../support/clients/client-project.js'
import { createDrafts } from '../../../support/drafts.js'
import {
  createClient,
  createLink,
  createPersistedLink,
  deleteListing,
  LISTINGS,
  SET_PRICE,
} from './apollo.js'

interface Listing {
  readonly id: string
  readonly ListingKey: string
  readonly ListPrice: number | null
  readonly etag: string
}

interface Listings {
  readonly properties: {
    readonly edges: readonly { readonly node: Listing }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}

const keysOf = (data: Listings | null | undefined) => data?.properties.edges.map(e => e.node.ListingKey)

describe('Apollo Client', () => {
  let app: TestApp
  let token: string
  beforeAll(async () => {
    app = await startTestApp({ fixture: 'fixture.json' })
    token = app.tokenFor({ memberKey: 'M1' })
  })
  afterAll(() => app.close())

  const open = () => {
    const { fetch, sent } = recordRequests()
    return { client: createClient(createLink(app.base, token, { fetch })), sent }
  }
  const inCity = (city: string, first = 100) => ({ filter: { City: { eq: city } }, first })
  /** Records every result that the client shows. */
  const watch = (client: ApolloClient, variables: object) => {
    const shown: (Listings | undefined)[] = []
    const query = client.watchQuery<Listings>({ query: LISTINGS, variables })
    const subscription = query.subscribe(
      ({ data, dataState }) => dataState === 'complete' && shown.push(data),
    )
    return { query, shown, end: () => subscription.unsubscribe() }
  }
  const everyKey = async (variables: object) =>
    keysOf((await open().client.query<Listings>({ query: LISTINGS, variables })).data)

  test('the result of a mutation is shown in every view of the record, without another request', async () => {
    const { client, sent } = open()
    const { shown, end } = watch(client, inCity('Aspen'))
    await eventually(() => shown.length).toBe(1)
    await client.mutate({ mutation: SET_PRICE, variables: { key: 'P19', price: '123456.78' } })
    await eventually(() => shown.length).toBe(2)
    const prices = Object.fromEntries(
      shown[1]?.properties.edges.map(({ node }) => [node.ListingKey, node.ListPrice]) ?? [],
    )
    expect(prices).toEqual({ P18: 200_000, P19: 123_456.78, P20: 200_000 })
    expect(sent.length).toBe(2)
    end()
  })

  test('a deleted record leaves the lists', async () => {
    const [first = '', second = ''] = await createDrafts(app, 'Apolloville', [
      { StreetNumber: '1' },
      { StreetNumber: '2' },
    ])
    const { client, sent } = open()
    const { shown, query, end } = watch(client, inCity('Apolloville'))
    await eventually(() => shown.length).toBe(1)
    await deleteListing(client, first)
    await eventually(() => keysOf(shown.at(-1))).toEqual([second])
    expect(keysOf((await query.refetch()).data)).toEqual([second])
    expect(sent.length).toBe(3)
    end()
  })

  test('pages are merged, and start again after a refetch', async () => {
    const { client, sent } = open()
    const { query, shown, end } = watch(client, { first: 7 })
    await eventually(() => shown.length).toBe(1)
    const walk = async () => {
      let page = shown.at(-1)?.properties.pageInfo
      while (page?.hasNextPage)
        page = (await query.fetchMore({ variables: { after: page.endCursor } })).data?.properties.pageInfo
    }
    await walk()
    const every = await everyKey({ first: 100 })
    expect(every?.length).toBeGreaterThan(28)
    await eventually(() => keysOf(shown.at(-1))).toEqual(every)
    expect(sent.length).toBe(Math.ceil((every?.length ?? 0) / 7))
    await query.refetch()
    await eventually(() => keysOf(shown.at(-1))).toEqual(every?.slice(0, 7))
    await walk()
    await eventually(() => keysOf(shown.at(-1))).toEqual(every)
    end()
  })

  test('each filter has its own list', async () => {
    const { client } = open()
    const [vail, golden] = [watch(client, inCity('Vail', 2)), watch(client, inCity('Golden', 2))]
    await eventually(() => [vail.shown.length, golden.shown.length]).toEqual([1, 1])
    await vail.query.fetchMore({ variables: { after: vail.shown[0]?.properties.pageInfo.endCursor } })
    await eventually(() => [vail, golden].map(({ shown }) => shown.at(-1)?.properties.edges.length)).toEqual([
      3, 2,
    ])
    vail.end()
    golden.end()
  })

  test('errors have their code with every status', async () => {
    const { client } = open()
    const fails = (doing: Promise<unknown>) =>
      doing.then(
        () => undefined,
        (error: unknown) =>
          CombinedGraphQLErrors.is(error)
            ? error.errors.map(({ extensions }) => extensions?.['code'])
            : error,
      )
    const mutate = (variables: object) => client.mutate({ mutation: SET_PRICE, variables })
    expect(await fails(mutate({ key: 'P20', price: 1, ifMatch: 'W/"0"' }))).toEqual(['PRECONDITION_FAILED'])
    expect(await fails(mutate({ key: 'nothing', price: 1 }))).toEqual(['NOT_FOUND'])
    expect(await fails(mutate({ key: 'P20', price: 'much' }))).toEqual(['BAD_USER_INPUT'])
    expect(await fails(client.query({ query: gql('{ nonsense }') }))).toEqual(['GRAPHQL_VALIDATION_FAILED'])
    const stranger = createClient(createLink(app.base, 'wrong'))
    expect(await fails(stranger.query({ query: LISTINGS }))).toEqual(['UNAUTHENTICATED'])
  })

  test('persisted queries: the text is sent once', async () => {
    const { fetch, sent } = recordRequests()
    const ask = () =>
      createClient(createPersistedLink(createLink(app.base, token, { fetch }))).query<Listings>({
        query: LISTINGS,
        variables: { first: 1 },
      })
    const answers = [await ask(), await ask()]
    expect(answers.map(({ data }) => data?.properties.edges.length)).toEqual([1, 1])
    expect(sent.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET'])
    expect(sent.map(({ url, body }) => /query Listings/.test(decodeURIComponent(url) + body))).toEqual([
      false,
      true,
      false,
    ])
  })

  test('queries by GET', async () => {
    const { fetch, sent } = recordRequests()
    const client = createClient(createLink(app.base, token, { fetch, useGETForQueries: true }))
    expect(
      (await client.query<Listings>({ query: LISTINGS, variables: { first: 2 } })).data?.properties.edges
        .length,
    ).toBe(2)
    await client.mutate({ mutation: SET_PRICE, variables: { key: 'P18', price: 200_000 } })
    expect(sent.map(({ method }) => method)).toEqual(['GET', 'POST'])
  })
})
