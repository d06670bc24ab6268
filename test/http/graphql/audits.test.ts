import { type Audit, serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

/** The audits send no token, and requests without a token are refused. */
const fetchFn: typeof fetch = (url, init) =>
  fetch(url, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${app.tokenFor()}` } })

const audits = serverAudits({ url: () => `${app.base}/graphql`, fetchFn })
const having = (word: RegExp): readonly Audit[] => audits.filter(({ name }) => word.test(name))

/** Undefined where the audit passes. */
async function failureOf({ fn }: Audit): Promise<string | undefined> {
  const result = await fn()
  return result.status === 'ok' ? undefined : result.reason
}

describe('the audits of GraphQL over HTTP', () => {
  test('each of the 61 audits is a MUST, SHOULD or MAY', () => {
    expect([having(/^MUST/).length, having(/^SHOULD/).length, having(/^MAY/).length]).toEqual([13, 23, 25])
    expect(audits).toHaveLength(61)
  })

  test.each(having(/^MUST/))('$id $name', async audit => expect(await failureOf(audit)).toBeUndefined())
  test.each(having(/^SHOULD/))('$id $name', async audit => expect(await failureOf(audit)).toBeUndefined())
  test.each(having(/^MAY/))('$id $name', async audit => expect(await failureOf(audit)).toBeUndefined())
})
