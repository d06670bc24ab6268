import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({
    fixture: 'fixture.json',
    env: { NON_DISCLOSURE: 'true' },
    grant: { scopes: ['listings:read'], audience: 'public' },
  })
  await app.database.prisma.$executeRawUnsafe(
    `update "Property" set "BuyerAgentKey" = 'M1' where "StandardStatus" <> 'Incomplete'`,
  )
}, 60_000)
afterAll(() => app?.close())

// BuyerAgentKey is hidden from the public, and following it would disclose the agent.
test.each([
  "BuyerAgent/MemberKey eq 'M1'",
  'BuyerAgent ne null',
  'BuyerAgent eq null',
  "not (BuyerAgent/Office/OfficeName eq 'x')",
  'BuyerAgent/Media/$count ge 0',
  'BuyerAgent/Media/any() or true',
  'not BuyerAgent/Media/any()',
])('no record is found by %s', async filter => {
  expect((await app.send(`/odata/Property/$count?$filter=${filter}`)).text).toBe('0')
})

test('nor is the record shown, ordered by or computed with', async () => {
  const shown = await app.send(
    '/odata/Property?$top=50&$select=ListingKey,X&$compute=BuyerAgent/MemberKey as X&$expand=BuyerAgent,ListAgent',
  )
  const { value } = shown.json as { value: readonly { BuyerAgent: unknown; X: unknown }[] } // an envelope
  expect(value.length).toBeGreaterThan(10)
  for (const record of value) expect(record).toMatchObject({ BuyerAgent: null, X: null })
  const ordered = await app.send(
    '/odata/Property?$select=ListingKey&$orderby=BuyerAgent/MemberKey desc,ListingKey',
  )
  const plain = await app.send('/odata/Property?$select=ListingKey&$orderby=ListingKey')
  expect((ordered.json as { value: unknown }).value).toEqual((plain.json as { value: unknown }).value)
})
