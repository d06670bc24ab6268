import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startTestApp, type TestApp } from '../../../support/app.js'
import { eventually } from '../../../support/clients/client-project.js'
import { queryData } from '../../../support/clients/graphql-client.js'
import { createDrafts } from '../../../support/drafts.js'
import * as apollo from './apollo.js'
import * as eventStream from './event-stream.js'
import { createSocket } from './socket.js'
import * as urql from './urql.js'

// Subscriptions as docs/graphql-clients.md shows them: what front ends see of a change, and that nothing is
// lost when the token ends or the connection is cut.

interface Listings {
  readonly properties: {
    readonly edges: readonly {
      readonly node: { readonly ListingKey: string; readonly ListPrice: number | null }
    }[]
  }
}
const pricesOf = (data: Listings | undefined) =>
  data && Object.fromEntries(data.properties.edges.map(({ node }) => [node.ListingKey, node.ListPrice]))

/** A proxy to the service that can cut its connections. */
async function startRelay(base: string) {
  const sockets = new Set<Socket>()
  let connectionCount = 0
  const server = createServer(client => {
    connectionCount++
    const upstream = connect(Number(new URL(base).port), '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.pipe(upstream).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on a port
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  const close = async () => {
    cut()
    server.close()
  }
  return { base: `http://127.0.0.1:${port}`, connectionCount: () => connectionCount, cut, close }
}

describe('live updates', () => {
  let app: TestApp
  let tokenCount = 0
  beforeAll(async () => {
    app = await startTestApp({ fixture: 'fixture.json' })
  })
  afterAll(() => app.close())

  const getToken = async () => {
    tokenCount++
    return app.tokenFor()
  }
  /** Accepted for two seconds: 30 are tolerated between two clocks. */
  const getShortToken = async () => {
    tokenCount++
    return app.tokenFor({ expiresIn: -28 })
  }
  const openSocket = (token: () => Promise<string>, base = app.base) =>
    createSocket(base, token, { webSocketImpl: WebSocket, retryWait: async () => undefined })

  const newest = async (): Promise<number> => {
    const { entityEvents } = await queryData<{
      entityEvents: { nodes: readonly { EntityEventSequence: number }[] }
    }>(
      app,
      '{ entityEvents(first: 1, orderBy: [{ EntityEventSequence: DESC }]) { nodes { EntityEventSequence } } }',
    )
    return entityEvents.nodes[0]?.EntityEventSequence ?? 0
  }
  const setPrice = async (key: string, ListPrice: number) =>
    expect(
      (
        await app.send(`/odata/Property('${key}')`, {
          method: 'PATCH',
          body: { ListPrice, ChangedByMemberKey: 'M1' },
        })
      ).status,
    ).toBe(200)
  const remove = (key: string) => app.send(`/odata/Property('${key}')`, { method: 'DELETE' })
  const inCity = (city: string) => ({ filter: { City: { eq: city } }, first: 10 })

  /** Changes a listing for longer than a token is valid. Returns the numbers of the changes. */
  async function changeRepeatedly(city: string): Promise<readonly number[]> {
    const start = await newest()
    const [key = ''] = await createDrafts(app, city, [{}])
    for (let n = 1; n <= 12; n++) {
      await setPrice(key, n)
      await new Promise(resolve => setTimeout(resolve, 300))
    }
    const events = await app.database.prisma.entityEvent.findMany({
      where: { EntityEventSequence: { gt: BigInt(start) }, EarlierAudiences: { isEmpty: true } },
      orderBy: { EntityEventSequence: 'asc' },
    })
    expect(events).toHaveLength(13)
    return events.map(event => Number(event.EntityEventSequence))
  }

  test('Apollo Client shows a change, and reads lists again after a listing was removed', async () => {
    const [first = '', second = ''] = await createDrafts(app, 'Apollolive', [
      { ListPrice: 1 },
      { ListPrice: 2 },
    ])
    const socket = openSocket(getToken)
    const client = apollo.createClient(
      apollo.createLiveLink(apollo.createLink(app.base, await getToken()), socket),
    )
    const shown: (Listings | undefined)[] = []
    const watching = client
      .watchQuery<Listings>({ query: apollo.LISTINGS, variables: inCity('Apollolive') })
      .subscribe(({ data, dataState }) => dataState === 'complete' && shown.push(data))
    await eventually(() => pricesOf(shown.at(-1))).toEqual({ [first]: 1, [second]: 2 })
    const errors: unknown[] = []
    const following = apollo.followChanges(client, await newest(), error => errors.push(error))
    await setPrice(first, 5)
    await eventually(() => pricesOf(shown.at(-1))).toEqual({ [first]: 5, [second]: 2 })
    await remove(second)
    await eventually(() => pricesOf(shown.at(-1))).toEqual({ [first]: 5 })
    expect(errors).toEqual([])
    apollo.followChanges(client, 9_000_000_000_000, error => errors.push(error))
    await eventually(() => errors.length).toBe(1)
    following.unsubscribe()
    watching.unsubscribe()
    await socket.dispose()
  })

  test('urql shows a change, and reads lists again after a listing was removed', async () => {
    const [first = '', second = ''] = await createDrafts(app, 'Urqllive', [
      { ListPrice: 1 },
      { ListPrice: 2 },
    ])
    const socket = openSocket(getToken)
    const token = await getToken()
    const client = urql.createClient(app.base, token, await urql.readSchema(app.base, token), {}, [
      urql.createLiveExchange(socket),
    ])
    const shown: (Listings | undefined)[] = []
    const watching = client
      .query<Listings>(urql.LISTINGS, inCity('Urqllive'))
      .subscribe(({ data }) => shown.push(data))
    await eventually(() => pricesOf(shown.at(-1))).toEqual({ [first]: 1, [second]: 2 })
    const errors: unknown[] = []
    const following = client
      .subscription(urql.CHANGES, { since: await newest() })
      .subscribe(({ error }) => error && errors.push(error))
    await setPrice(first, 5)
    await eventually(() => pricesOf(shown.at(-1))).toEqual({ [first]: 5, [second]: 2 })
    await remove(second)
    await eventually(() => pricesOf(shown.at(-1))).toEqual({ [first]: 5 })
    expect(errors).toEqual([])
    following.unsubscribe()
    watching.unsubscribe()
    await socket.dispose()
  })

  test('a WebSocket continues after the last change when its token has ended', async () => {
    const socket = openSocket(getShortToken)
    const before = tokenCount
    const seen: number[] = []
    const end = socket.subscribe<{ readonly propertyChanged: { readonly EntityEventSequence: number } }>(
      {
        query: 'subscription ($since: Long) { propertyChanged(since: $since) { EntityEventSequence } }',
        variables: { since: await newest() },
      },
      {
        next: ({ data }) => data && seen.push(data.propertyChanged.EntityEventSequence),
        error: error => {
          throw error
        },
        complete: () => undefined,
      },
    )
    const made = await changeRepeatedly('Socketlive')
    await eventually(() => seen.length).toBeGreaterThanOrEqual(made.length)
    expect(seen).toEqual(made)
    expect(tokenCount - before).toBeGreaterThan(1)
    end()
    await socket.dispose()
  })

  test('an event stream shows the listing, and continues after the last change when its token has ended', async () => {
    const before = tokenCount
    const changes = eventStream.followChanges(app.base, getShortToken, await newest())
    const making = changeRepeatedly('Streamlive')
    const seen: eventStream.Change[] = []
    while (seen.length < 13) seen.push((await changes.next()).value)
    expect(seen.map(change => change.EntityEventSequence)).toEqual(await making)
    expect(seen.every(({ property }) => property?.City === 'Streamlive')).toBe(true)
    expect(tokenCount - before).toBeGreaterThan(1)
    await remove(seen[0]?.ListingKey ?? '')
    expect((await changes.next()).value).toMatchObject({ ListingKey: seen[0]?.ListingKey, property: null })
    await changes.return(undefined)
  })

  test.each(['WebSocket', 'event stream'])(
    'a disconnected %s continues after the last change',
    async transport => {
      const relay = await startRelay(app.base)
      const seen: number[] = []
      const end = new AbortController()
      if (transport === 'event stream') {
        const changes = eventStream.followChanges(relay.base, getToken, await newest())
        end.signal.addEventListener('abort', () => void changes.return(undefined))
        void (async () => {
          for await (const change of changes) seen.push(change.EntityEventSequence)
        })()
      } else {
        const socket = openSocket(getToken, relay.base)
        end.signal.addEventListener('abort', () => void socket.dispose())
        socket.subscribe<{ readonly propertyChanged: { readonly EntityEventSequence: number } }>(
          {
            query: 'subscription ($since: Long) { propertyChanged(since: $since) { EntityEventSequence } }',
            variables: { since: await newest() },
          },
          {
            next: ({ data }) => data && seen.push(data.propertyChanged.EntityEventSequence),
            error: () => undefined,
            complete: () => undefined,
          },
        )
      }
      await eventually(() => relay.connectionCount()).toBe(1)
      const cutting = setInterval(relay.cut, 1000)
      const made = await changeRepeatedly(`Cut by ${transport}`)
      clearInterval(cutting)
      await eventually(() => seen).toEqual(made)
      expect(relay.connectionCount()).toBeGreaterThan(2)
      end.abort()
      await relay.close()
    },
  )

  test('a number that the log has not reached ends an event stream', async () => {
    const changes = eventStream.followChanges(app.base, getToken, 9_000_000_000_000)
    await expect(changes.next()).rejects.toThrow('log')
  })
})
