import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { RequestOptions, TestApp, TestResponse } from './app.js'
import {
  checkExpectation,
  type Expectation,
  type ExpectationContext,
  keysOf,
  nextLinkOf,
  rowsOf,
} from './assertions.js'

/** A request and its expected response. `url` is sent byte by byte, and `text` is its readable form. */
export interface TestCase extends RequestOptions {
  readonly id: string
  readonly group: string
  readonly url: string
  readonly text?: string
  readonly why: string
  readonly expect: Expectation | { readonly anyOf: readonly Expectation[] }
}

export const readCases = (file: string): readonly TestCase[] =>
  readCaseFile(file)
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as TestCase) // our own file

export const readCaseFile = (file: string): string =>
  readFileSync(new URL(`../cases/${file}`, import.meta.url), 'utf8')

const MAX_PAGES = 500

/** Sends the request of a case and checks the response. If there are several expectations, one must hold. */
export async function runCase(
  app: TestApp,
  { url, expect: wanted, ...parts }: TestCase,
): Promise<TestResponse> {
  const answer = await app.send(url, parts)
  const context = toExpectationContext(app, url, parts, answer)
  if (!('anyOf' in wanted)) {
    await checkExpectation(wanted, context)
    return answer
  }
  const faults = await Promise.all(
    wanted.anyOf.map(one =>
      checkExpectation(one, context).then(
        () => undefined,
        (error: unknown) => error,
      ),
    ),
  )
  if (!faults.includes(undefined)) throw new AggregateError(faults, faults.map(String).join('\nor '))
  return answer
}

export function toExpectationContext(
  app: TestApp,
  url: string,
  { headers }: RequestOptions,
  answer: TestResponse,
): ExpectationContext {
  let pages: Promise<readonly TestResponse[]> | undefined
  const keysAt = async (other: string) =>
    keysOf((await followNextLinks(app, headers, await app.send(other, { headers }))).flatMap(rowsOf))
  return { url, answer, keysAt, pages: () => (pages ??= followNextLinks(app, headers, answer)) }
}

/** The pages of a query, to the last one. */
export const readPages = async (app: Pick<TestApp, 'send'>, url: string): Promise<readonly TestResponse[]> =>
  followNextLinks(app, undefined, await app.send(url))

/** Follows the links to the end. */
async function followNextLinks(
  app: Pick<TestApp, 'send'>,
  headers: RequestOptions['headers'],
  first: TestResponse,
): Promise<readonly TestResponse[]> {
  const pages = [first]
  for (let link = nextLinkOf(first); link !== undefined; link = nextLinkOf(pages.at(-1) ?? first)) {
    expect(pages.length).toBeLessThan(MAX_PAGES)
    const page = await app.send(link, { headers })
    expect(page.status, page.text.slice(0, 200)).toBe(200)
    pages.push(page)
  }
  return pages
}
