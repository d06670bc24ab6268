import { once } from 'node:events'
import jwt from 'jsonwebtoken'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { openSocketClient, socketUrl, startSubscription } from '../support/clients/subscriber.js'
import {
  basic,
  type PartnerApp,
  randomAddress,
  startPartnerApp,
  type TestClient,
} from '../support/partners.js'

// OBS-12: every line names the caller and the operation. OBS-02: no line contains a secret.

type LogLine = Readonly<Record<string, unknown>>

const lines: string[] = []
const NAMES_QUERY = 'query ListingNames { properties(first: 1) { nodes { ListingKey } } }'
const ADDRESS = '203.0.113.7'
let app: PartnerApp
let client: TestClient
let token: string
beforeAll(async () => {
  app = await startPartnerApp({ env: { LOG_LEVEL: 'info' }, onLogLine: line => lines.push(line) })
  client = await app.addClient({ Name: 'Acme IDX' })
  token = await app.tokenOf(client)
})
afterAll(() => app?.close())

/**
 * Runs a callback and returns the lines with these messages that it wrote, after waiting for the last one.
 */
async function linesOf(send: () => Promise<unknown>, count: number, ...messages: string[]) {
  lines.length = 0
  await send()
  const found = () =>
    lines.map(line => JSON.parse(line) as LogLine).filter(line => messages.includes(String(line['msg'])))
  await expect.poll(() => found().length).toBe(count)
  return found()
}
async function lineOf(send: () => Promise<unknown>, message = 'request'): Promise<LogLine> {
  const [line = {}] = await linesOf(send, 1, message)
  return line
}

const headersOf = (authorization: string | null = `Bearer ${token}`) => ({
  Authorization: authorization,
  'X-Forwarded-For': `9.9.9.9, ${ADDRESS}`,
})
const get = (path: string, authorization?: string | null) => () =>
  app.send(path, { headers: headersOf(authorization) })
const post = (path: string, body: unknown) => () =>
  app.send(path, { method: 'POST', headers: headersOf(), body })
const partner = () => ({ client: client.id, address: ADDRESS })

test('OBS-12 a request by OData names client, address, entity and form', async () => {
  expect(await lineOf(get('/odata/Property?$top=1'))).toMatchObject({
    path: '/odata/Property',
    operation: 'Property records',
    ...partner(),
  })
  for (const [path, operation] of [
    ['/odata/Property/$count', 'Property count'],
    ["/odata/Member('x')", 'Member record'],
    ['/odata/$metadata', 'metadata'],
  ] as const)
    expect(await lineOf(get(path))).toMatchObject({ operation, ...partner() })
})

test('OBS-12 a token that names no client is named by its fingerprint, and one with `sub` by its subject', async () => {
  const anonymous = await lineOf(() => app.send('/odata/Property'))
  expect(anonymous['client']).toMatch(/^token /)
  const { jwtSecret } = app.config
  if (!jwtSecret) throw new Error('no secret')
  const sign = (claims: object) => `Bearer ${jwt.sign(claims, jwtSecret, { expiresIn: 60 })}`
  const person = await lineOf(get('/odata/Property', sign({ sub: 'ann@example.com' })))
  expect(person).toMatchObject({ subject: 'ann@example.com' })
  expect(person).not.toHaveProperty('client')
  const both = await lineOf(get('/odata/Property', sign({ sub: 'ann@example.com', client_id: 'a portal' })))
  expect(both).toMatchObject({ subject: 'ann@example.com', client: 'a portal' })
})

test('OBS-12 a request by GraphQL names its operation, truncated and escaped', async () => {
  const send = (body: object) => lineOf(post('/graphql', body))
  expect(await send({ query: NAMES_QUERY })).toMatchObject({ operation: 'ListingNames', ...partner() })
  expect(await send({ query: '{ properties { totalCount } __typename }' })).toMatchObject({
    operation: 'query {properties __typename}',
  })
  const forged = `x\n{"level":30}${'y'.repeat(5000)}`
  expect((await send({ query: NAMES_QUERY, operationName: forged }))['operation']).toBe(forged.slice(0, 100))
  const long = await send({ query: `query ${'n'.repeat(5000)} { __typename }` })
  expect(String(long['operation'])).toHaveLength(100)
  expect(lines.join('').trim()).not.toContain('\n')
})

test('OBS-12 each request of a batch has a line, with the client of its own token', async () => {
  const other = await app.addClient({ Name: 'Other' })
  const requests = [
    { id: 'a', method: 'GET', url: 'Property?$top=1' },
    { id: 'b', method: 'GET', url: "Member('none')" },
    { id: 'c', method: 'GET', url: 'Office', headers: { Authorization: basic(other) } },
    { id: 'd', method: 'GET', url: 'Nothing?$filter=secret' },
  ]
  const parts = await linesOf(
    () => app.send('/odata/$batch', { method: 'POST', headers: { ...headersOf(), Prefer: 'continue-on-error' }, body: { requests } }),
    5, 'batch request', 'request',
  ) // biome-ignore format: one argument a line
  const id = parts[4]?.['id']
  expect(parts).toMatchObject([
    { id, part: 'a', path: 'Property', status: 200, operation: 'Property records', ...partner() },
    { id, part: 'b', path: "Member('none')", status: 404, operation: 'Member record', ...partner() },
    { id, part: 'c', status: 200, operation: 'Office records', client: other.id, address: ADDRESS },
    { id, part: 'd', path: 'Nothing', status: 404, ...partner() },
    { id, msg: 'request', operation: 'batch', ...partner() },
  ])
  expect(lines.join()).not.toContain('filter')
})

test('OBS-12 each operation on a WebSocket has a line, and its connection too', async () => {
  const socketClient = openSocketClient(app.base, token)
  const run = async (query: string) => {
    for await (const _ of socketClient.iterate({ query })) break
  }
  expect(await lineOf(() => run(NAMES_QUERY), 'operation')).toMatchObject({
    operation: 'ListingNames',
    client: client.id,
    results: 1,
    ms: expect.any(Number),
  })
  const refused = await lineOf(() => run('{ nothing }').catch(() => undefined), 'operation')
  expect(refused).toMatchObject({ client: client.id, error: 'GRAPHQL_VALIDATION_FAILED', results: 0 })
  const connection = await lineOf(async () => socketClient.dispose(), 'connection')
  expect(connection).toMatchObject({ id: refused['id'], client: client.id, path: '/graphql' })
})

test('OBS-12 an operation that its client ends before it is refused has a line', async () => {
  const socket = new WebSocket(socketUrl(app.base), ['graphql-transport-ws'])
  await once(socket, 'open')
  const acknowledged = once(socket, 'message')
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }))
  await acknowledged
  const refused = await lineOf(async () => {
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: '{ nothing }' } }))
    socket.send(JSON.stringify({ id: '1', type: 'complete' }))
  }, 'operation')
  expect(refused).toMatchObject({ client: client.id, error: 'GRAPHQL_VALIDATION_FAILED', results: 0 })
  socket.terminate()
})

test('OBS-12 an event stream names its operation', async () => {
  const query = 'subscription Watch { propertyChanged { ListingKey } }'
  const line = await lineOf(async () => {
    const stream = startSubscription(app, query, { transport: 'event stream', token })
    const first = stream.next()
    await new Promise(resolve => setTimeout(resolve, 300))
    stream.dispose()
    await first.catch(() => undefined)
  })
  expect(line).toMatchObject({ operation: 'Watch', client: client.id, status: 200 })
})

test('OBS-12 Basic, and the token endpoint', async () => {
  expect(await lineOf(get('/odata/Property', basic(client)))).toMatchObject({
    operation: 'Property records',
    ...partner(),
  })
  const form = { grant_type: 'client_credentials' }
  const send = (secret: string) => () => app.post('token', form, headersOf(basic({ ...client, secret })))
  expect(await lineOf(send(client.secret))).toMatchObject({ operation: 'token', status: 200, ...partner() })
  const refused = await lineOf(send('wrong'))
  expect(refused).toMatchObject({ status: 401, claimedClient: client.id, address: ADDRESS })
  expect(refused).not.toHaveProperty('client')
})

test('OBS-12 a disabled client is logged as claimed, an unknown one is not named', async () => {
  const disabled = await app.addClient({ Name: 'Disabled' })
  const itsToken = await app.tokenOf(disabled)
  await app.clients.disable(disabled.id)
  await expect
    .poll(async () => (await get('/odata/Property', `Bearer ${itsToken}`)()).status, { timeout: 5000 })
    .toBe(401)
  for (const authorization of [`Bearer ${itsToken}`, basic(disabled)]) {
    const line = await lineOf(get('/odata/Property', authorization))
    expect(line).toMatchObject({ status: 401, claimedClient: disabled.id, address: ADDRESS })
    expect(line).not.toHaveProperty('client')
  }
  const forged = jwt.sign({ client_id: 'nobody', sub: 'nobody' }, 'another secret')
  for (const authorization of [
    `Bearer ${forged}`,
    'Bearer forged',
    basic({ id: 'SECRET', secret: '' }),
    null,
  ]) {
    const line = await lineOf(get('/odata/Property', authorization))
    expect(line).toMatchObject({ status: 401, address: ADDRESS })
    expect(line).not.toHaveProperty('client')
    expect(line).not.toHaveProperty('claimedClient')
    expect(lines.join()).not.toMatch(/SECRET|nobody/)
  }
})

test('OBS-02 no line holds a secret', async () => {
  const secrets = [client.secret, token, token.split('.')[2] ?? '', 'a-wrong-secret']
  const all: string[] = []
  for (const send of [
    get(`/odata/Property?access_token=${token}`),
    get('/odata/Property', basic({ ...client, secret: 'a-wrong-secret' })),
    () => app.post('token', `grant_type=client_credentials&client_id=${client.id}&client_secret=a-wrong-secret`),
    () => app.post('token', { grant_type: 'client_credentials', client_id: client.id, client_secret: client.secret }),
    post('/graphql', { query: `{ properties(where: "${token}") }` }),
    post('/odata/$batch', { requests: [{ id: '1', method: 'GET', url: `Property?access_token=${token}` }] }),
  ]) {
    await linesOf(send, 1, 'request')
    all.push(...lines)
  } // biome-ignore format: one request a line
  for (const secret of secrets) expect(all.join()).not.toContain(secret)
})

test('OBS-12 a request beyond the rate limit names its client', async () => {
  const limitedLines: string[] = []
  const limited = await startPartnerApp({
    env: { LOG_LEVEL: 'info', RATE_LIMIT: '1' },
    onLogLine: line => limitedLines.push(line),
  })
  const added = await limited.clients.add({
    Name: 'Eager',
    Scopes: ['listings:read'],
    AudienceClass: 'public',
  })
  const headers = { Authorization: basic({ id: added.client.ClientId, secret: added.secret }) }
  await expect
    .poll(
      async () =>
        (await limited.send('/odata/', { headers: { ...headers, 'X-Forwarded-For': randomAddress() } }))
          .status,
      { timeout: 5000 },
    )
    .toBe(429)
  await expect.poll(() => limitedLines.find(line => line.includes('"status":429'))).toBeDefined()
  const line = JSON.parse(limitedLines.find(text => text.includes('"status":429')) ?? '{}') as LogLine
  expect(line).toMatchObject({ client: added.client.ClientId })
  await limited.close()
})
