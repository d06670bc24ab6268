import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'

// OBS-12: who asked for what, on every line.

const lines: string[] = []
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ env: { LOG_LEVEL: 'info' }, onLogLine: line => lines.push(line) })
})
afterAll(() => app?.close())

/** Sends a request and returns its log line. */
async function lineOf(send: () => Promise<unknown>): Promise<Readonly<Record<string, unknown>>> {
  lines.length = 0
  await send()
  await expect.poll(() => lines.length).toBe(1)
  return JSON.parse(lines[0] ?? '')
}

test('a request by OData names its client and address', async () => {
  const line = await lineOf(() => app.send('/odata/Property?$top=1'))
  expect(line).toMatchObject({
    path: '/odata/Property',
    client: expect.stringMatching(/^(sub|client_id|token) /),
    address: expect.stringContaining('127.0.0.1'),
  })
})

test('a request by GraphQL names its operation, cut and escaped', async () => {
  const query = 'query ListingNames { properties(first: 1) { nodes { ListingKey } } }'
  const post = (operationName: string) => () =>
    app.send('/graphql', { method: 'POST', body: { query, operationName } })
  expect(await lineOf(post('ListingNames'))).toMatchObject({
    operation: 'ListingNames',
    client: expect.any(String),
  })
  const forged = `x\n{"level":30}${'y'.repeat(5000)}`
  expect((await lineOf(post(forged)))['operation']).toBe(forged.slice(0, 100))
  expect(lines.join('').trim()).not.toContain('\n')
})

test('a request that is refused names no client', async () => {
  const line = await lineOf(() =>
    app.send('/odata/Property', { headers: { Authorization: 'Bearer forged' } }),
  )
  expect(line).not.toHaveProperty('client')
  expect(line).toMatchObject({ status: 401, address: expect.any(String) })
})
