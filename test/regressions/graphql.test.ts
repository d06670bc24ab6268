import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startTestApp, type TestApp } from '../support/app.js'
import { queryData, queryError } from '../support/clients/graphql-client.js'
import { socketUrl } from '../support/clients/subscriber.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ kind: 'embedded', fixture: 'fixture.json' })
}, 60_000)
afterAll(() => app?.close())

const toId = (text: string) => Buffer.from(text, 'utf8').toString('base64url')

test.each(['abc', '', '1.5', '1e2', '99999999999999999999', ' 1', '01', '+1'])(
  'an id whose key is not a canonical number identifies no record: EntityEvent:%s',
  async key => {
    expect(
      await queryData(app, 'query ($id: ID!) { node(id: $id) { id } }', { id: toId(`EntityEvent:${key}`) }),
    ).toEqual({ node: null })
  },
)

test('the faults of a large variable do not repeat it', async () => {
  const filter = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`Nothing${i}`, 1]))
  const { status, text } = await app.send('/graphql', {
    method: 'POST',
    body: {
      query: 'query ($f: PropertyFilter) { properties(filter: $f) { totalCount } }',
      variables: { f: filter },
    },
  })
  expect(status).toBe(200)
  expect(text.length).toBeLessThan(30_000)
  expect(text).toContain('is not defined by type')
})

describe('a pattern that is too large for the stack of the embedded database, whose memory it damaged', () => {
  test.each([
    '(x{120}){120}',
    'x{0,255}'.repeat(60),
    'x'.repeat(20_000),
    '[a-z\\]]{1001}',
    '(?:(a|b){40}){40}',
  ])('%.20s', async pattern => {
    const query =
      'query ($p: String!) { properties(filter: { City: { matchespattern: $p } }) { totalCount } }'
    expect(await queryError(app, query, { p: pattern })).toMatchObject({
      extensions: { code: 'BAD_USER_INPUT', serviceCode: '2018' },
    })
  })

  test.each(['^[A-D]', '(x{30}){30}', '[(]{2,3}\\(', 'a|b*?', '(?:Den|V){1,}'])(
    'others are taken: %s',
    async pattern => {
      await queryData(
        app,
        'query ($p: String!) { properties(filter: { City: { matchespattern: $p } }) { totalCount } }',
        { p: pattern },
      )
    },
  )
})

test('an operation id longer than a close reason is not an internal error', async () => {
  const socket = new WebSocket(socketUrl(app.base), 'graphql-transport-ws', {
    headers: { authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read'] })}` },
  })
  const closed = once(socket, 'close')
  socket.on('message', () => {
    for (let i = 0; i < 2; i++)
      socket.send(
        JSON.stringify({
          type: 'subscribe',
          id: 'é'.repeat(200),
          payload: { query: 'subscription { propertyChanged { ListingKey } }' },
        }),
      )
  })
  socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init' })))
  const [code, reason] = await closed
  expect(code).toBe(4409)
  expect(String(reason)).toMatch(/^Subscriber for é+$/)
})
