import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { ChangeService } from '../../../src/service/changes.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { socketUrl, startSubscription, TRANSPORTS, type Transport } from '../../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { createDrafts } from '../../support/drafts.js'

const apps: TestApp[] = []
const sockets: WebSocket[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const socket of sockets.splice(0)) socket.terminate()
  await Promise.all(apps.splice(0).map(app => app.close()))
})

/**
 * Starts the service on the embedded database, which is faster: these tests do not depend on the database.
 */
async function start(
  env: Readonly<Record<string, string>> = {},
  onLogLine?: (line: string) => void,
): Promise<TestApp> {
  const kind = DATABASE_KINDS.at(-1) ?? 'embedded'
  const app = await startTestApp({ kind, env, fixture: 'fixture.json', ...(onLogLine && { onLogLine }) })
  apps.push(app)
  return app
}

const SUBSCRIPTION = 'subscription { propertyChanged { ListingKey } }'

/** A socket without a client package, with unchanged messages. */
class RawSocket {
  readonly socket: WebSocket
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly messages: Readonly<Record<string, unknown>>[] = []

  constructor(
    app: TestApp,
    {
      headers = {},
      protocols = ['graphql-transport-ws'],
    }: { headers?: Readonly<Record<string, string>>; protocols?: string[] } = {},
  ) {
    this.socket = new WebSocket(socketUrl(app.base), protocols, { headers: { ...headers } })
    sockets.push(this.socket)
    this.socket.on('message', data => this.messages.push(JSON.parse(String(data))))
    this.closed = once(this.socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }))
  }

  async send(...messages: readonly unknown[]): Promise<void> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, 'open')
    for (const message of messages)
      this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** Returns the next message. */
  async message(count = 1): Promise<Readonly<Record<string, unknown>>> {
    while (this.messages.length < count) await once(this.socket, 'message')
    return this.messages[count - 1] ?? {}
  }
}

const init = (app: TestApp, name = 'Authorization') => ({
  type: 'connection_init',
  payload: { [name]: `Bearer ${app.tokenFor()}` },
})
const subscribe = (id: string, query = SUBSCRIPTION) => ({ type: 'subscribe', id, payload: { query } })

describe('a WebSocket', () => {
  test.each(['Authorization', 'authorization'])('accepts the token as %s of connection_init', async name => {
    const app = await start()
    const raw = new RawSocket(app)
    await raw.send(init(app, name))
    expect(await raw.message()).toEqual({ type: 'connection_ack' })
  })

  test('accepts the token of the request', async () => {
    const app = await start()
    const raw = new RawSocket(app, { headers: { Authorization: `Bearer ${app.tokenFor()}` } })
    await raw.send({ type: 'connection_init' })
    await raw.message()
    await raw.send(subscribe('1', '{ __typename }'))
    expect(await raw.message(2)).toEqual({
      type: 'next',
      id: '1',
      payload: { data: { __typename: 'Query' } },
    })
    expect(await raw.message(3)).toEqual({ type: 'complete', id: '1' })
  })

  test('writes numbers with all their digits', async () => {
    const app = await start()
    const [key = ''] = await createDrafts(app, 'Testville', [{}])
    await app.database.prisma
      .$executeRaw`UPDATE "Property" SET "ListPrice" = 12345678901234567890.5 WHERE "ListingKey" = ${key}`
    const raw = new RawSocket(app, { headers: { Authorization: `Bearer ${app.tokenFor()}` } })
    await raw.send({ type: 'connection_init' })
    await raw.message()
    const text = once(raw.socket, 'message')
    await raw.send(subscribe('1', `{ property(ListingKey: "${key}") { ListPrice } }`))
    expect(String((await text)[0])).toBe(
      '{"id":"1","type":"next","payload":{"data":{"property":{"ListPrice":12345678901234567890.5}}}}',
    )
  })

  test.each<[string, unknown, number, RegExp]>([
    ['no token', { type: 'connection_init' }, 4403, /no bearer token/],
    ['a wrong token', { type: 'connection_init', payload: { authorization: 'Bearer x' } }, 4403, /malformed/],
    ['an operation first', subscribe('1'), 4401, /Unauthorized/],
    ['no JSON', 'nonsense', 4400, /not valid JSON/],
    ['another message', { type: 'nonsense' }, 4400, /Invalid message/],
    [
      'JSON without a bottom',
      `{"type":"ping","payload":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
      4400,
      /too deep/,
    ],
    ['a message that is too large', `"${'x'.repeat(1_100_000)}"`, 1009, /.*/],
  ])('%s ends it with a code', async (_name, message, code, reason) => {
    const app = await start()
    const raw = new RawSocket(app)
    await raw.send(message)
    expect(await raw.closed).toEqual({ code, reason: expect.stringMatching(reason) })
  })

  test.each([
    { type: 'next', id: '1', payload: {} },
    { type: 'error', id: '1', payload: [{ message: 'x' }] },
    { type: 'connection_ack' },
  ])('a message that only a server may send ends it, and is not an internal error: $type', async message => {
    const lines: string[] = []
    const app = await start({ LOG_LEVEL: 'error' }, line => lines.push(line))
    const raw = new RawSocket(app, { headers: { Authorization: `Bearer ${app.tokenFor()}` } })
    await raw.send({ type: 'connection_init' })
    await raw.message()
    await raw.send(message)
    expect(await raw.closed).toEqual({ code: 4400, reason: expect.stringMatching(/Only a server/) })
    expect(lines).toEqual([])
  })

  test.each([
    ['two members of the payload', {}, { authorization: 'Bearer x', Authorization: '' }],
    ['two headers', { authorization: ['', 'Bearer x'] }, undefined],
  ])('refuses several tokens: %s', async (_name, headers, payload) => {
    const app = await start()
    const token = `Bearer ${app.tokenFor()}`
    const fill = (parts: object) => JSON.parse(JSON.stringify(parts).replaceAll('""', JSON.stringify(token)))
    const raw = new RawSocket(app, { headers: fill(headers) })
    await raw.send({ type: 'connection_init', ...(payload && { payload: fill(payload) }) })
    expect(await raw.closed).toEqual({ code: 4403, reason: expect.stringMatching(/more than one/) })
  })

  test('another subprotocol or path is refused, and other upgrades are answered by HTTP', async () => {
    const app = await start()
    const [refusal] = await once(new WebSocket(socketUrl(app.base), ['graphql-ws']), 'error')
    expect(String(refusal)).toContain('no subprotocol')
    const elsewhere = new WebSocket(`${app.base.replace('http', 'ws')}/odata`)
    const [error] = await once(elsewhere, 'error')
    expect(String(error)).toContain('404')
    const answer = await app.send('/graphql?query={__typename}', {
      headers: { Upgrade: 'websocket', Connection: 'Upgrade' },
    })
    expect(answer).toMatchObject({ status: 400, json: { error: { code: '2001' } } })
    const plain = await app.send('/graphql?query={__typename}', {
      headers: { Upgrade: 'h2c', Connection: 'Upgrade, HTTP2-Settings', 'HTTP2-Settings': 'AAMAAABk' },
    })
    expect(plain).toMatchObject({ status: 200, json: { data: { __typename: 'Query' } } })
  })

  test('sockets above MAX_SOCKETS are refused until one closes', async () => {
    const app = await start({ MAX_SOCKETS: '1' })
    const first = new RawSocket(app)
    await first.send(init(app))
    await first.message()
    const second = new WebSocket(socketUrl(app.base), ['graphql-transport-ws'])
    const [error] = await once(second, 'error')
    expect(String(error)).toContain('503')
    first.socket.close()
    await first.closed
    const third = new RawSocket(app)
    await third.send(init(app))
    expect(await third.message()).toEqual({ type: 'connection_ack' })
  })

  test('operations above MAX_SOCKET_OPERATIONS are refused until one ends', async () => {
    const app = await start({ MAX_SOCKET_OPERATIONS: '1' })
    const raw = new RawSocket(app)
    await raw.send(init(app))
    await raw.message()
    await raw.send(subscribe('1'), subscribe('2'))
    expect(await raw.message(2)).toMatchObject({
      type: 'error',
      id: '2',
      payload: [{ extensions: { code: 'BAD_REQUEST' } }],
    })
    await raw.send({ type: 'complete', id: '1' }, subscribe('3', '{ __typename }'))
    expect(await raw.message(3)).toMatchObject({ type: 'next', id: '3' })
  })

  test('RATE_LIMIT counts its operations', async () => {
    const app = await start({ RATE_LIMIT: '2' })
    const raw = new RawSocket(app)
    await raw.send(init(app))
    await raw.message()
    for (const id of ['1', '2', '3']) await raw.send(subscribe(id, '{ __typename }'))
    await raw.message(6)
    expect(raw.messages.find(m => m['type'] === 'error')).toMatchObject({
      id: '3',
      payload: [{ message: expect.stringContaining('Too many requests') }],
    })
  })

  test('a client that does not answer a ping is disconnected, one that does is not', async () => {
    const app = await start({ KEEP_ALIVE_MS: '100' })
    const lively = new RawSocket(app)
    await lively.send(init(app))
    const dead = new RawSocket(app)
    await dead.send(init(app))
    await dead.message()
    dead.socket.pong = () => undefined
    expect((await dead.closed).code).toBe(1006)
    await lively.send(subscribe('1', '{ __typename }'))
    expect(await lively.message(2)).toMatchObject({ type: 'next' })
  })
})

describe.each(TRANSPORTS)('%s', transport => {
  test('subscriptions above MAX_SUBSCRIPTIONS are refused until one ends', async () => {
    const app = await start({ MAX_SUBSCRIPTIONS: '1' })
    const first = startSubscription(app, SUBSCRIPTION, { transport })
    const follow = vi.spyOn(ChangeService.prototype, 'subscribe')
    void first.next()
    await expect.poll(() => follow.mock.calls.length).toBe(1)
    // The limit is checked before the scope.
    const codeNow = async () =>
      (await startSubscription(app, SUBSCRIPTION, { transport, grant: { scopes: [] } }).next())?.errors?.[0]
        ?.extensions.code
    expect(await codeNow()).toBe('UNAVAILABLE')
    first.dispose()
    await expect.poll(codeNow).toBe('FORBIDDEN')
  })

  test('it ends when the token expires', async () => {
    const app = await start()
    // Clocks may differ by 30 s, so a token is accepted for that time after its expiration.
    const token = app.tokenFor({ expiresIn: -28 })
    const end = startSubscription(app, SUBSCRIPTION, { transport, token }).next()
    if (transport === 'event stream')
      expect(await end).toMatchObject({
        errors: [
          { message: 'The token was rejected: it has expired.', extensions: { code: 'UNAUTHENTICATED' } },
        ],
      })
    else
      await expect(end).rejects.toMatchObject({
        code: 4403,
        reason: 'The token was rejected: it has expired.',
      })
  })

  test('the service stops immediately despite subscriptions, and no stream completes', async () => {
    const app = await start({ SHUTDOWN_TIMEOUT_MS: '600000' })
    const follow = vi.spyOn(ChangeService.prototype, 'subscribe')
    const end = startSubscription(app, SUBSCRIPTION, { transport }).next()
    end.catch(() => undefined)
    await expect.poll(() => follow.mock.calls.length).toBe(1)
    await apps.pop()?.close()
    if (transport === 'WebSocket') await expect(end).rejects.toMatchObject({ code: 1001 })
    else await expect(end).rejects.toThrow()
  })

  test('a client that does not read occupies the memory of one page, and loses no change', {
    timeout: 120_000,
  }, async () => {
    const app = await start({ KEEP_ALIVE_MS: '600000' })
    const [key = ''] = await createDrafts(app, 'Testville', [{ PublicRemarks: 'x'.repeat(4000) }])
    const since = await endOfLog(app)
    // The log grows by a thousand changes: ten pages.
    for (let n = 0; n < 1000; n++)
      await app.database.prisma
        .$executeRaw`UPDATE "Property" SET "ListPrice" = ${n} WHERE "ListingKey" = ${key}`
    const pages = vi.spyOn(ChangeService.prototype, 'eventsAfter')
    const pagesOf = (memberKey: string) =>
      pages.mock.calls.filter(([, , actor]) => actor.memberKey === memberKey).length
    const fields = Array.from({ length: 20 }, (_, i) => `f${i}: PublicRemarks`).join(' ')
    const slow = await openSlow(
      app,
      transport,
      `subscription { propertyChanged(since: ${since}) { EntityEventSequence property { ${fields} } } }`,
    )
    const quick = startSubscription<{ EntityEventSequence: number }>(
      app,
      `subscription { propertyChanged(since: ${since}) { EntityEventSequence } }`,
      {
        transport,
        grant: { memberKey: 'quick' },
      },
    )
    const sequences: string[] = []
    for (let n = 0; n < 1000; n++) sequences.push(String((await quick.nextChange()).EntityEventSequence))
    quick.dispose()
    expect(pagesOf('quick')).toBeGreaterThanOrEqual(10)
    // A response has 80 KB. Network buffers hold a few megabytes at most.
    expect(pagesOf('slow')).toBeLessThan(6)
    expect(await slow.sequences(1000)).toEqual(sequences)
  })
})

const endOfLog = async (app: TestApp) =>
  String(
    (await app.database.prisma.entityEvent.aggregate({ _max: { EntityEventSequence: true } }))._max
      .EntityEventSequence,
  )

const SEQUENCE = /"EntityEventSequence":(\d+)/g

/** A client that reads only on demand. */
async function openSlow(
  app: TestApp,
  transport: Transport,
  query: string,
): Promise<{ sequences(count: number): Promise<readonly string[]> }> {
  const token = app.tokenFor({ memberKey: 'slow' })
  const found: string[] = []
  const keep = (text: unknown) => found.push(...[...String(text).matchAll(SEQUENCE)].map(m => m[1] ?? ''))
  const gather = async (count: number) => {
    await expect.poll(() => found.length, { timeout: 60_000, interval: 50 }).toBe(count)
    return found
  }
  if (transport === 'WebSocket') {
    const raw = new RawSocket(app, { headers: { Authorization: `Bearer ${token}` } })
    await raw.send({ type: 'connection_init' })
    await raw.message()
    await raw.send(subscribe('1', query))
    raw.socket.pause()
    return {
      sequences(count) {
        raw.socket.on('message', keep).resume()
        return gather(count)
      },
    }
  }
  const req = httpRequest(`${app.base}/graphql?query=${encodeURIComponent(query)}`, {
    headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' },
  })
  req.end()
  const [res] = (await once(req, 'response')) as [IncomingMessage] // the arguments of the event
  return {
    sequences(count) {
      let rest = ''
      res.setEncoding('utf8').on('data', (chunk: string) => {
        const events = (rest + chunk).split('\n\n')
        rest = events.pop() ?? ''
        keep(events.join('\n'))
      })
      res.on('error', () => undefined)
      return gather(count)
    },
  }
}
