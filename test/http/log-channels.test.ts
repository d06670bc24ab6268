import { createSecretKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { expect, test } from 'vitest'
import type { Database } from '../../src/data/database.js'
import { feedServiceOf } from '../feeds/market.js'
import { openSocketClient, startSubscription } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, clientServiceOf, READING_CLIENT, type TestClient } from '../support/partners.js'
import { createTestEnvironment, type StartedService, startService } from '../support/process.js'
import { type Receiver, startReceiver } from '../webhooks/receiver.js'
import { changeListing, webhookServiceOf } from '../webhooks/setting.js'

// OBS-12: the log of a process as an operator reads it, on standard output. Each channel names client, subject,
// address, feed and operation. OBS-02: no line contains a token, a secret or a body.

type LogLine = Readonly<Record<string, unknown>>

const LISTING = 'L1'
const INSERT_LISTING = `insert into "Property" ("ListingKey", "StandardStatus") values ($1, 'Active')`
const ADDRESS = '203.0.113.7'
const FEED = 'idx'
const MARKER = 'a value that only bodies contain'
/** A token of another issuer, whose claims name a client, a person and a feed. */
const CLAIMS = {
  client_id: 'portal',
  sub: 'ann@example.com',
  feed: FEED,
  scope: 'listings:read listings:write admin',
  audience_class: 'staff',
}
const WHO = { client: 'portal', subject: 'ann@example.com', address: ADDRESS, feed: FEED }

interface Market {
  readonly service: StartedService
  readonly partner: TestClient & { readonly hookSecret: string }
  readonly token: string
  readonly receiver: Receiver
  readonly database: Database
}

/** The request of a channel, and the lines that it must cause: their message and other members. */
interface Channel {
  readonly name: string
  readonly send: (market: Market) => Promise<unknown>
  readonly lines: (market: Market) => readonly LogLine[]
}

const headersOf = (authorization: string) => ({
  Authorization: authorization,
  'X-Forwarded-For': `9.9.9.9, ${ADDRESS}`,
})
const bearer = ({ token }: Market) => headersOf(`Bearer ${token}`)
const get = (path: string) => (market: Market) => market.service.send(path, { headers: bearer(market) })
const post = (path: string, body: unknown) => (market: Market) =>
  market.service.send(path, { method: 'POST', headers: bearer(market), body })
const request = (operation: string, path: string) => () => [{ msg: 'request', operation, path, ...WHO }]
const oauth = (endpoint: string) => (market: Market) =>
  market.service.send(`/oauth/${endpoint}`, {
    method: 'POST',
    headers: { ...headersOf(basic(market.partner)), 'Content-Type': 'application/x-www-form-urlencoded' },
    rawBody: endpoint === 'token' ? 'grant_type=client_credentials' : 'token=not-a-token',
  })
const ofPartner =
  (operation: string, path: string) =>
  ({ partner }: Market) => [
    { msg: 'request', operation, path, client: partner.id, feed: FEED, address: ADDRESS },
  ]
const readOne = async (results: AsyncIterable<unknown>) => {
  for await (const _ of results) break
}

const CHANNELS: readonly Channel[] = [
  { name: 'OData', send: get('/odata/Property?$top=1'), lines: request('Property records', '/odata/Property') },
  { name: 'NDJSON', send: async market => market.service.send('/odata/Media', { headers: { ...bearer(market), Accept: 'application/x-ndjson' } }), lines: request('Media records', '/odata/Media') },
  { name: 'CSV', send: async market => market.service.send('/odata/Office', { headers: { ...bearer(market), Accept: 'text/csv' } }), lines: request('Office records', '/odata/Office') },
  { name: 'OData write', send: post('/odata/Property', { PrivateRemarks: MARKER }), lines: request('Property records', '/odata/Property') },
  {
    name: '$batch',
    send: post('/odata/$batch', { requests: [{ id: 'a', method: 'GET', url: 'Member?$top=1' }, { id: 'b', method: 'POST', url: 'Property', body: { PrivateRemarks: MARKER } }] }),
    lines: () => [
      { msg: 'batch request', part: 'a', operation: 'Member records', path: 'Member', ...WHO },
      { msg: 'batch request', part: 'b', operation: 'Property records', path: 'Property', ...WHO },
      { msg: 'request', operation: 'batch', path: '/odata/$batch', ...WHO },
    ],
  },
  { name: 'GraphQL by POST', send: post('/graphql', { query: `query Named { properties(where: "City eq '${MARKER}'") { totalCount } }` }), lines: request('Named', '/graphql') },
  { name: 'GraphQL by GET', send: get('/graphql?query={lookups{totalCount}}'), lines: request('query {lookups}', '/graphql') },
  {
    name: 'WebSocket',
    send: async ({ service, token }) => {
      const client = openSocketClient(service.base, token)
      await readOne(client.iterate({ query: 'query Socket { properties { totalCount } }' }))
      await client.dispose()
    },
    // The package sends no X-Forwarded-For, so the address is that of the connection.
    lines: () => [
      { msg: 'operation', operation: 'Socket', ...WHO, address: '127.0.0.1' },
      { msg: 'connection', path: '/graphql', ...WHO, address: '127.0.0.1' },
    ],
  },
  {
    name: 'subscription over WebSocket',
    send: market => watch(market, 'WebSocket', 'subscription Watch { propertyChanged { ListingKey } }'),
    lines: () => [{ msg: 'operation', operation: 'Watch', ...WHO, address: '127.0.0.1' }],
  },
  {
    name: 'event stream',
    send: market => watch(market, 'event stream', 'subscription Stream { propertyChanged { ListingKey } }'),
    lines: () => [{ msg: 'request', operation: 'Stream', ...WHO, address: '127.0.0.1' }],
  },
  { name: '/admin', send: get('/admin/odata/AuditEntry?$top=1'), lines: request('AuditEntry records', '/admin/odata/AuditEntry') },
  { name: '/admin/graphql', send: post('/admin/graphql', { query: 'query Clients { __typename }' }), lines: request('Clients', '/admin/graphql') },
  { name: '/admin write', send: post('/admin/odata/Client', { Name: MARKER, Scopes: ['none of ours'] }), lines: request('Client records', '/admin/odata/Client') },
  { name: 'Basic', send: ({ service, partner }) => service.send('/odata/Office/$count', { headers: headersOf(basic(partner)) }), lines: ofPartner('Office count', '/odata/Office/$count') },
  { name: 'token endpoint', send: oauth('token'), lines: ofPartner('token', '/oauth/token') },
  { name: 'introspection', send: oauth('introspect'), lines: ofPartner('introspect', '/oauth/introspect') },
  { name: 'revocation', send: oauth('revoke'), lines: ofPartner('revoke', '/oauth/revoke') },
  { name: 'key set', send: get('/oauth/jwks'), lines: () => [{ msg: 'request', operation: 'jwks', address: ADDRESS }] },
  { name: 'metadata of the issuer', send: get('/.well-known/openid-configuration'), lines: () => [{ msg: 'request', operation: 'openid-configuration', address: ADDRESS }] },
  {
    name: 'webhook',
    send: async ({ database, receiver }) => {
      await changeListing(database, LISTING)
      await expect.poll(() => receiver.deliveries.length).toBeGreaterThan(0)
    },
    lines: ({ partner, receiver }) => [
      { msg: 'webhook', operation: 'Property events', client: partner.id, feed: FEED, host: new URL(receiver.url).hostname, status: 204 },
    ],
  },
] // biome-ignore format: one channel a line

/** Subscribes, and waits for the result of a change. */
async function watch(market: Market, transport: 'WebSocket' | 'event stream', query: string): Promise<void> {
  const { service, token, database } = market
  const subscription = startSubscription({ base: service.base, tokenFor: () => token }, query, {
    transport,
    token,
  })
  const first = subscription.next()
  let isChanged = false
  void first.then(() => {
    isChanged = true
  })
  // The client cannot see when the subscription begins.
  await expect
    .poll(
      async () => {
        if (!isChanged) await changeListing(database, LISTING)
        return isChanged
      },
      { interval: 200 },
    )
    .toBe(true)
  subscription.dispose()
}

/** The lines that the process has written so far. */
const linesOf = ({ service }: Market): readonly LogLine[] =>
  service.process.output.out
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as LogLine)

async function startMarket(
  kind: (typeof DATABASE_KINDS)[number],
): Promise<Market & { close(): Promise<void> }> {
  const place = await createTestEnvironment(kind)
  const service = await startService(place, {
    TRUST_PROXY: 'true',
    PUBLIC_URL: 'http://listings.example',
    WEBHOOK_PRIVATE_ADDRESSES: 'on',
    ...(kind === 'server' && { WORKERS: '2' }),
  })
  const database = await place.connect()
  await database.queryControl({ text: INSERT_LISTING, values: [LISTING] })
  await feedServiceOf(database).add({ FeedName: FEED, Filter: "ListingKey ne 'none'" })
  const { client, secret } = await clientServiceOf(database).add({
    ...READING_CLIENT,
    Name: 'Partner',
    FeedName: FEED,
  })
  const receiver = await startReceiver()
  const hook = await webhookServiceOf(database).add({
    clientId: client.ClientId,
    url: receiver.url,
    resourceName: 'Property',
  })
  return {
    service,
    database,
    receiver,
    partner: { id: client.ClientId, secret, hookSecret: hook.secret },
    token: jwt.sign(CLAIMS, createSecretKey(place.env['JWT_SECRET'] ?? '', 'utf8'), { expiresIn: 600 }),
    close: async () => {
      await receiver.close()
      await database.close()
      await service.stop('SIGTERM')
      await place.remove()
    },
  }
}

/** The log does not depend on the database. The server has several processes. */
const KIND = DATABASE_KINDS.includes('server') ? 'server' : 'embedded'

test('OBS-12, OBS-02: the log of a process names client, subject, address, feed and operation on every channel, and no secret', {
  timeout: 120_000,
}, async () => {
  const market = await startMarket(KIND)
  try {
    const { service, partner, token } = market
    // Each process reads a new client and feed within two seconds.
    for (const authorization of [basic(partner), `Bearer ${token}`])
      await expect
        .poll(async () =>
          (
            await Promise.all(
              [1, 2, 3, 4].map(() => service.send('/odata/', { headers: headersOf(authorization) })),
            )
          ).map(({ status }) => status),
        )
        .toEqual([200, 200, 200, 200])
    for (const { name, send, lines } of CHANNELS) {
      const before = linesOf(market).length
      await send(market)
      const expected = lines(market).map(line => expect.objectContaining(line))
      await expect
        .poll(() => linesOf(market).slice(before), { message: name })
        .toEqual(expect.arrayContaining(expected))
    }
    const { out, err } = service.process.output
    for (const secret of [
      token,
      token.split('.')[2] ?? '',
      partner.secret,
      partner.hookSecret,
      basic(partner).slice(6),
      MARKER,
      'not-a-token',
    ])
      expect(out + err).not.toContain(secret)
  } finally {
    await market.close()
  }
})
