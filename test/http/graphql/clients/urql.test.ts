import type { Client } from '@urql/core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startTestApp, type TestApp } from '../../../support/app.js'
import { eventually, recordRequests } from '../../../support/clients/client-project.js'
import { createDrafts } from '../../../support/drafts.js'
import { createClient, DELETE, LISTINGS, readSchema, SET_PRICE } from './urql.js'

interface Listings {
  readonly properties: {
    readonly edges: readonly {
      readonly node: { readonly ListingKey: string; readonly ListPrice: number | null }
    }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}

const keysOf = (data: Listings | undefined) => data?.properties.edges.map(e => e.node.ListingKey)

describe('urql', () => {
  let app: TestApp
  let token: string
  let schema: Awaited<ReturnType<typeof readSchema>>
  beforeAll(async () => {
    app = await startTestApp({ fixture: 'fixture.json' })
    token = app.tokenFor({ memberKey: 'M1' })
    schema = await readSchema(app.base, token)
  })
  afterAll(() => app.close())

  // The cache reports on the console what does not match the schema.
  const warn = vi.spyOn(console, 'warn')
  const error = vi.spyOn(console, 'error')
  afterEach(() => {
    expect([...warn.mock.calls, ...error.mock.calls]).toEqual([])
  })

  const open = () => {
    const { fetch, sent } = recordRequests()
    return { client: createClient(app.base, token, schema, { fetch }), sent }
  }
  const inCity = (city: string) => ({ filter: { City: { eq: city } }, first: 100 })
  /** Records every result that the client shows. */
  const watch = (client: Client, variables: object) => {
    const shown: (Listings | undefined)[] = []
    const { unsubscribe } = client
      .query<Listings>(LISTINGS, variables)
      .subscribe(({ data, error: failed }) => {
        expect(failed).toBeUndefined()
        shown.push(data)
      })
    return { shown, end: unsubscribe }
  }

  test('reads by GET and writes by POST', async () => {
    const { client, sent } = open()
    expect(keysOf((await client.query<Listings>(LISTINGS, inCity('Vail')).toPromise()).data)?.length).toBe(3)
    expect(
      (await client.mutation(SET_PRICE, { key: 'P18', price: 200_000 }).toPromise()).error,
    ).toBeUndefined()
    expect(sent.map(({ method }) => method)).toEqual(['GET', 'POST'])
  })

  test('the result of a mutation is shown in every view of the record, without another request', async () => {
    const { client, sent } = open()
    const { shown, end } = watch(client, inCity('Aspen'))
    await eventually(() => shown.length).toBe(1)
    await client.mutation(SET_PRICE, { key: 'P19', price: '123456.78' }).toPromise()
    await eventually(() => shown.length).toBe(2)
    const prices = Object.fromEntries(
      shown[1]?.properties.edges.map(({ node }) => [node.ListingKey, node.ListPrice]) ?? [],
    )
    expect(prices).toEqual({ P18: 200_000, P19: 123_456.78, P20: 200_000 })
    expect(sent.length).toBe(2)
    end()
  })

  test('pages are merged', async () => {
    const { client } = open()
    const page = async (after: string | null) =>
      (await client.query<Listings>(LISTINGS, { first: 7, after }).toPromise()).data
    let data = await page(null)
    for (let pages = 1; data?.properties.pageInfo.hasNextPage; pages++) {
      expect(keysOf(data)?.length).toBe(7 * pages)
      data = await page(data.properties.pageInfo.endCursor)
    }
    const every = (await open().client.query<Listings>(LISTINGS, { first: 100 }).toPromise()).data
    expect(keysOf(data)).toEqual(keysOf(every))
    expect(keysOf(data)?.length).toBeGreaterThan(28)
  })

  test('a deleted record leaves the lists', async () => {
    const [first = '', second = ''] = await createDrafts(app, 'Urqlville', [
      { StreetNumber: '1' },
      { StreetNumber: '2' },
    ])
    const { client } = open()
    const { shown, end } = watch(client, inCity('Urqlville'))
    await eventually(() => keysOf(shown.at(-1))?.length).toBe(2)
    await client.mutation(DELETE, { key: first }).toPromise()
    await eventually(() => keysOf(shown.at(-1))).toEqual([second])
    end()
  })

  test('errors have their code with every status', async () => {
    const { client } = open()
    const codes = async (operation: ReturnType<Client['mutation']>) =>
      (await operation.toPromise()).error?.graphQLErrors.map(({ extensions }) => extensions['code'])
    expect(await codes(client.mutation(SET_PRICE, { key: 'nothing', price: 1 }))).toEqual(['NOT_FOUND'])
    expect(await codes(client.mutation(SET_PRICE, { key: 'P18', price: 'much' }))).toEqual(['BAD_USER_INPUT'])
    expect(await codes(createClient(app.base, 'wrong', schema).query(LISTINGS, {}))).toEqual([
      'UNAUTHENTICATED',
    ])
  })
})
