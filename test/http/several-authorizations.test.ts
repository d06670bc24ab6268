import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'

/** The status of a request, and the body, with this header as often as it has values. */
const statusOf = (
  { base }: TestApp,
  path: string,
  { values, method = 'GET', headers = {}, body }: RequestParts,
): Promise<{ readonly status: number | undefined; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const lines = Object.entries({ ...headers, Host: 'a', Connection: 'close' }).flat()
    const rawHeaders = [...lines, ...values.flatMap(value => ['Authorization', value])]
    const req = request(base + path, { method, headers: rawHeaders }, res => {
      let text = ''
      res.setEncoding('utf8').on('data', part => {
        text += part
      })
      res.on('end', () => resolve({ status: res.statusCode, text }))
    })
    req.on('error', reject).end(body)
  })

interface RequestParts {
  readonly values: readonly string[]
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const QUERY = JSON.stringify({ query: '{ properties(first: 1) { nodes { ListingKey } } }' })
const JSON_BODY = { 'Content-Type': 'application/json', 'Content-Length': String(QUERY.length) }
const REQUESTS: readonly (readonly [string, string, Omit<RequestParts, 'values'>])[] = [
  ['OData', '/odata/Property?$top=1', {}],
  ['GraphQL', '/graphql', { method: 'POST', headers: JSON_BODY, body: QUERY }],
  [
    'an event stream',
    '/graphql',
    { method: 'POST', headers: { ...JSON_BODY, Accept: 'text/event-stream' }, body: QUERY },
  ],
]

describe.each(['0', '1000'])('two Authorization headers, RATE_LIMIT=%s', rateLimit => {
  let app: TestApp
  beforeAll(async () => {
    const kind = DATABASE_KINDS.at(-1) ?? 'embedded'
    app = await startTestApp({ kind, env: { RATE_LIMIT: rateLimit } })
  })
  afterAll(() => app.close())

  test.each(REQUESTS)('%s: 401 in either order', async (_name, path, parts) => {
    const good = `Bearer ${app.tokenFor()}`
    expect((await statusOf(app, path, { ...parts, values: [good] })).status).toBe(200)
    for (const values of [
      [good, 'Bearer x'],
      ['Bearer x', good],
      [good, good],
      ['Basic YTpi', good],
      ['', good],
    ]) {
      const { status, text } = await statusOf(app, path, { ...parts, values })
      expect([values, status]).toEqual([values, 401])
      expect(text).toContain('more than one Authorization header')
    }
  })

  test('a request in a batch', async () => {
    const authorization = `Bearer ${app.tokenFor()}`
    const headers = { authorization, Authorization: 'Bearer x' }
    const requests = [{ id: '1', method: 'GET', url: 'Property', headers }]
    const { status, text } = await app.send('/odata/$batch', { method: 'POST', body: { requests } })
    expect(status).toBe(400)
    expect(text).toContain("specifies 'Authorization' more than once")
  })
})
