import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseExactJson } from '../../src/domain/exact-json.js'
import { startTestApp, type TestApp, type TestResponse } from '../support/app.js'

// Values, members and lines of a request are counted before they are created. A million of them once blocked
// the only thread for a second.

const messageOf = ({ json }: TestResponse) => (json as { error: { message: string } }).error.message // a refusal

describe('one request with very many values', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind: 'embedded' })
  })
  afterAll(() => app.close())

  const post = (target: string, rawBody: string, contentType = 'application/json') =>
    app.send(target, { method: 'POST', headers: { 'Content-Type': contentType }, rawBody })

  test('a JSON batch of 1,000,000 empty objects', async () => {
    const answer = await post('/odata/$batch', `{"requests":[${Array(1_000_000).fill('{}').join()}]}`)
    expect(answer.status).toBe(400)
    expect(messageOf(answer)).toMatch(/more than 100000 values \(at position \d+\)/)
  })

  test('a listing with 90,000 unknown members', async () => {
    const members = Array.from({ length: 90_000 }, (_, i) => `"F${i}":1`)
    const answer = await post('/odata/Property', `{${members.join()}}`)
    expect(answer.status).toBe(400)
    expect(messageOf(answer)).toMatch(/an object has more than 2000 members \(at position \d+\)/)
  })

  test('a part of a multipart batch with 600,000 header lines', async () => {
    const body = `--b\r\n${'A:1\r\n'.repeat(600_000)}\r\n\r\n--b--`
    const answer = await post('/odata/$batch', body, 'multipart/mixed; boundary=b')
    expect(answer.status).toBe(400)
    expect(messageOf(answer)).toMatch(/more than 200 header lines/)
  })

  test('a multipart batch with 200,000 parts', async () => {
    const body = `${'--b\r\nx\r\n'.repeat(200_000)}--b--`
    const answer = await post('/odata/$batch', body, 'multipart/mixed; boundary=b')
    expect(answer.status).toBe(400)
    expect(messageOf(answer)).toMatch(/more than 10000 parts/)
  })

  test('GraphQL variables with 200,000 numbers that a double changes', async () => {
    const numbers = Array(200_000).fill('0.10').join()
    const answer = await post('/graphql', `{"query":"{ __typename }","variables":{"a":[${numbers}]}}`)
    expect(answer.status).toBe(400)
  })
})

test('the parser stops at the first value beyond the limit', () => {
  expect(() => parseExactJson('[1,2,3', { maxDepth: 9, maxValues: 3 })).toThrow(
    'more than 3 values (at position 6)',
  )
  expect(parseExactJson('[1,2,3]', { maxDepth: 9, maxValues: 4 })).toHaveLength(3)
})
