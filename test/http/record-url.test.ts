import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'
import { bodyOf, rowsOf } from '../support/assertions.js'
import { queryData } from '../support/clients/graphql-client.js'
import { startSubscription, TRANSPORTS } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'

// RESO's EntityEvent tool opens ResourceRecordUrl as it is, so it must be absolute for every reader.

const PUBLIC_URL = 'https://listings.example/base'
type Row = Readonly<Record<string, string | number | null>>

describe.each(DATABASE_KINDS)('ResourceRecordUrl on %s', kind => {
  let app: TestApp
  let published: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
    published = await startTestApp({ kind, fixture: 'fixture.json', env: { PUBLIC_URL } })
  })
  afterAll(async () => {
    await app.close()
    await published.close()
  })

  const FILTER = "ResourceName eq 'Property' and ResourceRecordKey eq 'P01'"
  const eventOf = async (of: TestApp, options = '', headers = {}): Promise<Row> =>
    (rowsOf(await of.send(`/odata/EntityEvent?$filter=${FILTER}${options}`, { headers }))[0] ?? {}) as Row
  const GRAPHQL =
    '{ entityEvents(filter: { ResourceName: { eq: "Property" }, ResourceRecordKey: { eq: "P01" } }) { nodes { id url: ResourceRecordUrl } } }'
  const nodesOf = async (of: TestApp, query: string) =>
    (await queryData<{ entityEvents: { nodes: readonly Row[] } }>(of, query)).entityEvents.nodes

  test('is below PUBLIC_URL, else below the address that the client called', async () => {
    expect((await eventOf(published))['ResourceRecordUrl']).toBe(`${PUBLIC_URL}/odata/Property('P01')`)
    expect((await nodesOf(published, GRAPHQL))[0]?.['url']).toBe(`${PUBLIC_URL}/odata/Property('P01')`)
    expect((await eventOf(app))['ResourceRecordUrl']).toBe(`${app.base}/odata/Property('P01')`)
    expect((await nodesOf(app, GRAPHQL))[0]?.['url']).toBe(`${app.base}/odata/Property('P01')`)
    const Host = 'other.example:81'
    expect((await eventOf(app, '', { Host }))['ResourceRecordUrl']).toBe(
      `http://${Host}/odata/Property('P01')`,
    )
  })

  test('is the address of the record', async () => {
    const answer = await app.send(String((await eventOf(app))['ResourceRecordUrl']))
    expect([answer.status, bodyOf(answer)['ListingKey']]).toEqual([200, 'P01'])
  })

  test('is the same in every format', async () => {
    const { EntityEventSequence: sequence, ResourceRecordUrl: url } = await eventOf(app)
    const one = await app.send(`/odata/EntityEvent(${sequence})`)
    expect(bodyOf(one)['ResourceRecordUrl']).toBe(url)
    const value = await app.send(`/odata/EntityEvent(${sequence})/ResourceRecordUrl`)
    expect(bodyOf(value)['value']).toBe(url)
    expect((await app.send(`/odata/EntityEvent(${sequence})/ResourceRecordUrl/$value`)).text).toBe(url)
    expect(await eventOf(app, '&$select=ResourceRecordUrl')).toEqual({ ResourceRecordUrl: url })
    const [computed] = rowsOf(
      await app.send(
        `/odata/EntityEvent?$filter=${FILTER}&$compute=length(ResourceRecordUrl) as N&$select=N`,
      ),
    )
    expect(computed).toEqual({ N: String(url).length })
    const [group] = rowsOf(
      await app.send(`/odata/EntityEvent?$apply=filter(${FILTER})/groupby((ResourceRecordUrl))`),
    )
    expect(group).toMatchObject({ ResourceRecordUrl: url })
    const [node] = await nodesOf(app, GRAPHQL)
    const found = await queryData<{ node: Row; entityEvent: Row }>(
      app,
      `{ node(id: "${node?.['id']}") { ... on EntityEvent { url: ResourceRecordUrl } } entityEvent(EntityEventSequence: ${sequence}) { ResourceRecordUrl } }`,
    )
    expect(found).toEqual({ node: { url }, entityEvent: { ResourceRecordUrl: url } })
    for (const transport of TRANSPORTS)
      expect(await startSubscription(app, GRAPHQL, { transport }).next()).toMatchObject({
        data: { entityEvents: { nodes: [{ url }] } },
      })
    const batch = await app.send('/odata/$batch', {
      method: 'POST',
      body: { requests: [{ id: '1', method: 'GET', url: `EntityEvent(${sequence})` }] },
    })
    expect(batch.text).toContain(String(url))
  })

  test('can be filtered by the returned value', async () => {
    const { ResourceRecordUrl: url } = await eventOf(app)
    const literal = encodeURIComponent(`'${String(url).replaceAll("'", "''")}'`)
    const keys = async (options: string) =>
      rowsOf(await app.send(`/odata/EntityEvent?${options}`)).map(row => row['ResourceRecordKey'])
    expect(await keys(`$filter=ResourceRecordUrl eq ${literal}`)).toEqual(['P01'])
    expect((await app.send(`/odata/EntityEvent/$count?$filter=ResourceRecordUrl eq ${literal}`)).text).toBe(
      '1',
    )
    expect(await keys("$filter=startswith(ResourceRecordUrl,'Property(')")).toEqual([])
    const filtered = await queryData<{ entityEvents: { totalCount: number } }>(
      app,
      `{ entityEvents(filter: { ResourceRecordUrl: { eq: ${JSON.stringify(url)} } }) { totalCount } }`,
    )
    expect(filtered.entityEvents.totalCount).toBe(1)
  })

  test('orders pages that a client may continue under another name of the service', async () => {
    const first = await app.send('/odata/EntityEvent?$orderby=ResourceRecordUrl&$top=3')
    const next = new URL(String(bodyOf(first)['@odata.nextLink']))
    const here = rowsOf(await app.send(next.pathname + next.search))
    const there = rowsOf(await app.send(next.pathname + next.search, { headers: { Host: 'other.example' } }))
    expect(there.map(row => row['EntityEventSequence'])).toEqual(here.map(row => row['EntityEventSequence']))
    expect(here).toHaveLength(3)
  })
})
