import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { queryData, queryError } from '../../support/clients/graphql-client.js'
import {
  type SubscribeOptions,
  startSubscription,
  type TestSubscription,
  TRANSPORTS,
  type Transport,
} from '../../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { createDrafts } from '../../support/drafts.js'

type Row = Readonly<Record<string, unknown>>

interface Change {
  readonly EntityEventSequence: number
  readonly ListingKey: string
  readonly property: Row | null
}

const PUBLIC = { audience: 'public', scopes: ['listings:read'] } as const
const SINCE = `subscription ($since: Long!, $filter: PropertyFilter, $where: String) {
  propertyChanged(filter: $filter, where: $where, since: $since) { EntityEventSequence ListingKey property { StandardStatus ListPrice City } }
}`

const CASES = DATABASE_KINDS.flatMap(kind => TRANSPORTS.map(transport => ({ kind, transport })))

describe.each(CASES)('live updates: $kind, $transport', ({ kind, transport }) => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
  })
  afterAll(() => app.close())

  const newest = async (): Promise<number> => {
    const found = await queryData<{ entityEvents: { nodes: { EntityEventSequence: number }[] } }>(
      app,
      '{ entityEvents(first: 1, orderBy: [{ EntityEventSequence: DESC }]) { nodes { EntityEventSequence } } }',
    )
    return found.entityEvents.nodes[0]?.EntityEventSequence ?? 0
  }
  const patch = async (key: string, body: Row) => {
    const answer = await app.send(`/odata/Property('${key}')`, {
      method: 'PATCH',
      body: { ...body, ChangedByMemberKey: 'M1' },
    })
    expect(answer.status, answer.text).toBe(200)
  }
  const remove = (key: string) => app.send(`/odata/Property('${key}')`, { method: 'DELETE' })
  const draft = async (fields: Row = {}) => (await createDrafts(app, 'Testville', [fields]))[0] ?? ''
  const publish = (key: string) => patch(key, { StandardStatus: 'Active' })
  const watchFrom = (since: number, parts: SubscribeOptions = {}): TestSubscription<Change> =>
    startSubscription<Change>(app, SINCE, { transport, ...parts, variables: { since, ...parts.variables } })

  /**
   * Returns the last change. Each change has the listing as it is when it is read, so earlier ones may be
   * equal.
   */
  const lastChange = async (watching: TestSubscription<Change>): Promise<Change> => {
    const [sequence, change] = [await newest(), await watching.nextChange()]
    return change.EntityEventSequence === sequence ? change : lastChange(watching)
  }

  test('the changes of a listing arrive in their order, each once', async () => {
    const watching = watchFrom(await newest())
    const key = await draft({ ListPrice: 5 })
    expect(await watching.nextChange()).toMatchObject({
      ListingKey: key,
      property: { StandardStatus: 'Incomplete', ListPrice: 5 },
    })
    await patch(key, { ListPrice: 6.25 })
    expect(await watching.nextChange()).toMatchObject({
      ListingKey: key,
      property: { StandardStatus: 'Incomplete', ListPrice: 6.25 },
    })
    await publish(key)
    expect(await watching.nextChange()).toMatchObject({
      ListingKey: key,
      property: { StandardStatus: 'Active' },
    })
    await patch(key, { StandardStatus: 'Sold', SoldPrice: 6 })
    expect(await watching.nextChange()).toMatchObject({
      ListingKey: key,
      property: { StandardStatus: 'Sold' },
    })
    await remove(key)
    const last = await watching.nextChange()
    expect(last).toMatchObject({ ListingKey: key, property: null })
    expect(last.EntityEventSequence).toBe(await newest())
    watching.dispose()
  })

  test('without `since` it begins with the next change', async () => {
    const before = await draft()
    const watching = startSubscription<Change>(
      app,
      'subscription { propertyChanged { EntityEventSequence ListingKey property { City } } }',
      { transport },
    )
    const first = watching.nextChange()
    const keys = new Set<string>()
    // Clients receive no confirmation that a subscription is active.
    let isTold = false
    void first.then(() => {
      isTold = true
    })
    while (!isTold) keys.add(await draft())
    const { ListingKey } = await first
    expect(keys).toContain(ListingKey)
    expect(ListingKey).not.toBe(before)
    watching.dispose()
  })

  test('a filter: a listing that enters it is sent with its fields, and one that leaves it once without', async () => {
    const watching = watchFrom(await newest(), {
      variables: { filter: { ListPrice: { ge: 100 } }, where: "City eq 'Testville'" },
    })
    const key = await draft({ ListPrice: 5 })
    expect(await watching.nextChange()).toMatchObject({ ListingKey: key, property: null })
    await patch(key, { ListPrice: 6 })
    await patch(key, { ListPrice: 100 })
    expect(await lastChange(watching)).toMatchObject({ ListingKey: key, property: { ListPrice: 100 } })
    await patch(key, { ListPrice: 7 })
    expect(await watching.nextChange()).toMatchObject({ ListingKey: key, property: null })
    await patch(key, { ListPrice: 8 })
    await remove(key)
    const other = await draft({ ListPrice: 200 })
    expect(await watching.nextChange()).toMatchObject({ ListingKey: other, property: { ListPrice: 200 } })
    watching.dispose()
  })

  test('readers receive no change of hidden records, except the one that hides a record', async () => {
    const watching = watchFrom(await newest(), { grant: PUBLIC })
    const hidden = await draft()
    await patch(hidden, { ListPrice: 1 })
    await remove(hidden)
    const key = await draft()
    await publish(key)
    // Once it is published, its earlier events belong to a listing that everybody may see.
    expect(await lastChange(watching)).toMatchObject({
      ListingKey: key,
      property: { StandardStatus: 'Active' },
    })
    await patch(key, { InternetEntireListingDisplayYN: false })
    expect(await watching.nextChange()).toMatchObject({ ListingKey: key, property: null })
    await patch(key, { ListPrice: 3 })
    await remove(key)
    const shown = await draft()
    await publish(shown)
    expect(await watching.nextChange()).toMatchObject({ ListingKey: shown })
    watching.dispose()
  })

  test('Media and Rooms are a change of their listing', async () => {
    const key = await draft()
    const watching = startSubscription<Row>(
      app,
      'subscription ($since: Long!) { propertyChanged(since: $since) { key: ListingKey property { id __typename Media { MediaURL } } again: property { Rooms { RoomType } } __typename } }',
      {
        transport,
        variables: { since: await newest() },
      },
    )
    await app.database.prisma.media.create({
      data: {
        MediaKey: `${key}-1`,
        ResourceName: 'Property',
        ResourceRecordKey: key,
        MediaURL: 'https://a.example/1.jpg',
      },
    })
    expect(await watching.nextChange()).toEqual({
      key,
      property: {
        id: Buffer.from(`Property:${key}`).toString('base64url'),
        __typename: 'Property',
        Media: [{ MediaURL: 'https://a.example/1.jpg' }],
      },
      again: { Rooms: [] },
      __typename: 'PropertyChange',
    })
    await app.database.prisma.rooms.create({
      data: { RoomKey: `${key}-1`, ListingKey: key, RoomType: 'Kitchen' },
    })
    const changes: Row[] = []
    while (JSON.stringify(changes.at(-1)?.['again']) !== '{"Rooms":[{"RoomType":"Kitchen"}]}')
      changes.push(await watching.nextChange())
    watching.dispose()
  })

  test('a reader that reconnects continues without a lost or repeated change', async () => {
    const start = await newest()
    let isWriting = true
    const writing = Promise.all(
      [1, 2, 3].map(async writer => {
        for (let n = 0; n < 12; n++) {
          const key = await draft({ ListPrice: writer * 100 + n })
          await patch(key, { ListPrice: 1 })
        }
      }),
    ).finally(() => {
      isWriting = false
    })
    const seen: number[] = []
    let last = start
    while (isWriting || last !== (await newest())) {
      const watching = watchFrom(last)
      for (let n = 0; n < 7 && (isWriting || last !== (await newest())); n++) {
        last = (await watching.nextChange()).EntityEventSequence
        seen.push(last)
      }
      watching.dispose()
    }
    await writing
    // The log has a row for each audience of an event.
    const events = await app.database.prisma.entityEvent.findMany({
      where: { EntityEventSequence: { gt: BigInt(start) }, EarlierAudiences: { isEmpty: true } },
      orderBy: { EntityEventSequence: 'asc' },
    })
    expect(events).toHaveLength(72)
    expect(seen).toEqual(events.map(e => Number(e.EntityEventSequence)))
  })

  test.each<[string, string, Row, Partial<{ code: string; target: string }>]>([
    [
      'a filter that has no meaning',
      'propertyChanged(where: $where)',
      { where: 'Nothing eq 1' },
      { code: 'BAD_USER_INPUT', target: 'Nothing' },
    ],
    [
      'a text that is no filter',
      'propertyChanged(where: $where)',
      { where: 'City eq' },
      { code: 'BAD_USER_INPUT', target: 'where' },
    ],
    [
      'a null where a test is expected',
      'propertyChanged(filter: { City: null })',
      {},
      { code: 'BAD_USER_INPUT' },
    ],
    [
      'a number that the log has not reached',
      'propertyChanged(since: $since)',
      { since: '9000000000000' },
      { code: 'GONE', target: 'since' },
    ],
    [
      'a number below zero',
      'propertyChanged(since: $since)',
      { since: -1 },
      { code: 'BAD_USER_INPUT', target: 'since' },
    ],
    [
      'a variable of another type',
      'propertyChanged(since: $since)',
      { since: 'x' },
      { code: 'BAD_USER_INPUT' },
    ],
  ])('%s is an error in the first and only result', async (_name, field, variables, expected) => {
    const name = Object.keys(variables)[0]
    const declared = name === undefined ? '' : `($${name}: ${name === 'since' ? 'Long' : 'String'})`
    const watching = startSubscription(app, `subscription ${declared} { ${field} { ListingKey } }`, {
      transport,
      variables,
    })
    const told = await watching.next()
    expect(told?.errors?.[0]?.extensions).toMatchObject(expected)
    expect(await watching.next()).toBeUndefined()
  })

  test.each([
    ['a syntax error', 'subscription {', 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', 'subscription { propertyChanged { Nothing } }', 'GRAPHQL_VALIDATION_FAILED'],
    [
      'two subscriptions in one',
      'subscription { a: propertyChanged { ListingKey } b: propertyChanged { ListingKey } }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [
      'too many levels',
      `subscription { propertyChanged { property ${'{ ListAgent '.repeat(20)} { id } ${'}'.repeat(20)} } }`,
      'BAD_USER_INPUT',
    ],
    ['nothing asked', 'subscription { propertyChanged @skip(if: true) { ListingKey } }', 'BAD_REQUEST'],
  ])('%s is refused', async (_name, query, code) => {
    expect(await codeOf(app, query, transport)).toBe(code)
  })

  test('queries and mutations use the same stream', async () => {
    const told = await startSubscription(app, '{ members(first: 1) { nodes { MemberKey } } }', {
      transport,
    }).next()
    expect(told).toEqual({ data: { members: { nodes: [{ MemberKey: 'M1' }] } } })
    const key = await draft()
    const done = await startSubscription(
      app,
      'mutation ($k: String!) { deleteProperty(ListingKey: $k) { ListingKey } }',
      { transport, variables: { k: key } },
    ).next()
    expect(done).toEqual({ data: { deleteProperty: { ListingKey: key } } })
  })

  test('a token without the scope to read is refused', async () => {
    expect(
      await codeOf(app, 'subscription { propertyChanged { ListingKey } }', transport, {
        grant: { scopes: ['listings:write'] },
      }),
    ).toBe('FORBIDDEN')
  })
})

/** Returns the code of the first error of a subscription, from a result or thrown by the client. */
async function codeOf(
  app: TestApp,
  query: string,
  transport: Transport,
  parts: SubscribeOptions = {},
): Promise<string | undefined> {
  const errors = await startSubscription(app, query, { transport, ...parts })
    .next()
    .then(
      told => told?.errors,
      (error: unknown) => error,
    )
  return (errors as readonly { readonly extensions: { readonly code: string } }[])[0]?.extensions.code // both are lists of GraphQL errors
}

test('a subscription without a transport for it', async () => {
  const app = await startTestApp()
  const fault = await queryError(app, 'subscription { propertyChanged { ListingKey } }')
  expect(fault.extensions.code).toBe('BAD_REQUEST')
  await app.close()
})
