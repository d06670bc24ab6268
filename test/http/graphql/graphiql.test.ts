import express from 'express'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { BROWSER_PATH } from '../../support/clients/browser.js'
import { request, serve } from '../../unit/http/exchange.js'

const QUERY =
  '{ properties(first: 1, orderBy: { ListPrice: DESC }) { totalCount nodes { ListingKey __typename } } }'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
})
afterAll(() => app.close())

describe('the files of the page', () => {
  test('need no token, and their content security policy allows only what they need', async () => {
    const page = await app.send('/graphiql', { headers: { Authorization: null } })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'; script-src 'self';/)
    expect(page.text).not.toMatch(/https?:|<script(?![^>]* src=)| on\w+=/)
    const links = [...page.text.matchAll(/(?:src|href)="(graphiql\/[^"]+)"/g)].map(([, link]) => link)
    expect(links).toHaveLength(5)
    for (const link of links) {
      const file = await app.send(`/${link}`, { headers: { Authorization: null } })
      expect([link, file.status, file.headers['content-type']]).toEqual([
        link,
        200,
        expect.stringMatching(/^text\/(?:javascript|css); charset=utf-8$/),
      ])
      expect(
        (await app.send(`/${link}`, { headers: { 'If-None-Match': file.headers['etag'] ?? '' } })).status,
      ).toBe(304)
    }
  })

  test('no other file is served, and a trailing slash redirects', async () => {
    for (const path of ['/graphiql/package.json', '/graphiql/..%2fserver.ts', '/graphiql/react'])
      expect((await app.send(path)).status).toBe(404)
    expect((await app.send('/graphiql', { method: 'POST' })).status).toBe(404)
    const slash = await app.send('/graphiql/')
    expect([slash.status, slash.headers['location']]).toEqual([308, '../graphiql'])
  })
})

describe.skipIf(BROWSER_PATH === undefined)('the page in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: BROWSER_PATH ?? '', args: ['--no-sandbox'] })
  })
  afterAll(() => browser.close())

  /** Opens a tab that records every requested address and every console error. */
  async function open(url: string) {
    const page = await browser.newPage({ viewport: { width: 1200, height: 700 } })
    const [hosts, complaints]: [Set<string>, string[]] = [new Set(), []]
    page.on('request', sent =>
      hosts.add(sent.url().startsWith('data:') ? 'data' : new URL(sent.url()).origin),
    )
    page.on('console', message => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(String(error)))
    await page.goto(url)
    return { page, hosts, complaints }
  }

  async function run(page: Page, query: string): Promise<string> {
    await page.fill('#token', app.tokenFor())
    // With the token the page reloads and requests the schema first.
    await Promise.all([page.waitForResponse('**/graphql'), page.press('#token', 'Enter')])
    await page.click('.graphiql-query-editor .CodeMirror')
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(query)
    await page.locator('.graphiql-query-editor', { hasText: 'ListPrice: DESC' }).waitFor()
    await page.click('.graphiql-execute-button')
    await page.locator('.result-window', { hasText: '"Property"' }).waitFor()
    return (await page.textContent('.result-window')) ?? ''
  }

  test('runs a query with a token, loads the schema, and sends no request to other hosts', {
    timeout: 60_000,
  }, async () => {
    const { page, hosts, complaints } = await open(`${app.base}/graphiql`)
    expect(await run(page, QUERY)).toContain('"totalCount"')
    await page.click('button[aria-label*="Documentation Explorer"]')
    await page.waitForSelector('.graphiql-doc-explorer-content :text("Query")')
    const folder = process.env['SCREENSHOTS']
    if (folder !== undefined) await page.screenshot({ path: `${folder}/graphiql.png` })
    expect([...hosts].filter(host => host !== 'data')).toEqual([app.base])
    expect(complaints).toEqual([])
    await page.close()
  })

  test('works below the prefix of a proxy', { timeout: 60_000 }, async () => {
    const proxy = express().use('/listings', async (req, res) => {
      const type = {
        ...(req.headers['content-type'] !== undefined && { 'Content-Type': req.headers['content-type'] }),
      }
      const body = req.method === 'POST' ? Buffer.concat(await req.toArray()) : null
      const answer = await fetch(`${app.base}${req.url}`, {
        method: req.method,
        headers: { ...type, Authorization: req.headers.authorization ?? '' },
        body,
      })
      res
        .writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' })
        .end(Buffer.from(await answer.arrayBuffer()))
    })
    const { port } = await serve(proxy)
    expect((await request(port, 'GET', '/listings/graphiql')).status).toBe(200)
    const { page, complaints } = await open(`http://127.0.0.1:${port}/listings/graphiql`)
    expect(await run(page, QUERY)).toContain('"totalCount"')
    expect(complaints).toEqual([])
    await page.close()
  })
})
