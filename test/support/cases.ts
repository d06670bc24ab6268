import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Answer, RequestParts, TestApp } from './app.js'
import { type Context, checkExpectation, type Expectation, keysOf, linkOf, rowsOf } from './assertions.js'

/** A request and what it must be answered with. `url` is sent byte by byte; `text` is the same for people. */
export interface Case extends RequestParts {
  readonly id: string
  readonly group: string
  readonly url: string
  readonly text?: string
  readonly why: string
  readonly expect: Expectation | { readonly anyOf: readonly Expectation[] }
}

export const readCases = (file: string): readonly Case[] =>
  readText(file)
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Case) // our own file

export const readText = (file: string): string =>
  readFileSync(new URL(`../cases/${file}`, import.meta.url), 'utf8')

const MOST_PAGES = 500

/** Sends the request of a case and checks the answer; of several expectations one must hold. */
export async function runCase(app: TestApp, { url, expect: wanted, ...parts }: Case): Promise<Answer> {
  const answer = await app.send(url, parts)
  const context = toContext(app, url, parts, answer)
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

export function toContext(app: TestApp, url: string, { headers }: RequestParts, answer: Answer): Context {
  let pages: Promise<readonly Answer[]> | undefined
  const keysAt = async (other: string) =>
    keysOf((await walk(app, headers, await app.send(other, { headers }))).flatMap(rowsOf))
  return { url, answer, keysAt, pages: () => (pages ??= walk(app, headers, answer)) }
}

/** The pages of a query, to the last one. */
export const readPages = async (app: Pick<TestApp, 'send'>, url: string): Promise<readonly Answer[]> =>
  walk(app, undefined, await app.send(url))

/** Follows the links to the end. */
async function walk(
  app: Pick<TestApp, 'send'>,
  headers: RequestParts['headers'],
  first: Answer,
): Promise<readonly Answer[]> {
  const pages = [first]
  for (let link = linkOf(first); link !== undefined; link = linkOf(pages.at(-1) ?? first)) {
    expect(pages.length).toBeLessThan(MOST_PAGES)
    const page = await app.send(link, { headers })
    expect(page.status, page.text.slice(0, 200)).toBe(200)
    pages.push(page)
  }
  return pages
}
