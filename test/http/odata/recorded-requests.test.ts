import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestResponse } from '../../support/app.js'
import { bodyOf, nextLinkOf, rowsOf } from '../../support/assertions.js'
import { readCaseFile } from '../../support/cases.js'
import { createDrafts } from '../../support/drafts.js'

// Requests that real client programs sent, in their order. Placeholders: TAG the StreetName of four drafts,
// KEY the record created last (at first the first draft), MKEY a member, TOKEN the token of the last link,
// ETAG and STAMP those of the last record, STALE the previous ETag.

interface Recorded {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | null>>
  readonly body?: string
  readonly status: number
  readonly answer: Shape
  /** The number of records of a page, the total count, and if there is a nextLink. */
  readonly rows?: number
  readonly count?: number
  readonly link?: boolean
}
type Shape = 'metadata' | 'root' | 'page' | 'record' | 'number' | 'nothing' | 'preflight' | 'error'

const CLIENTS = JSON.parse(readCaseFile('requests.json')) as Readonly<Record<string, readonly Recorded[]>> // our own file

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json', env: { CORS_ORIGINS: '*' } })
})
afterAll(() => app.close())

const SHAPES: Readonly<Record<Shape, (answer: TestResponse, wanted: Recorded) => void>> = {
  metadata: ({ headers, text }) => {
    expect(headers['content-type']).toMatch(/^application\/xml/)
    expect(text).toMatch(/<edmx:Edmx [^>]*Version="4\.0"/)
  },
  root: answer => {
    expect(bodyOf(answer)['@odata.context']).toMatch(/\/odata\/\$metadata$/)
    expect(rowsOf(answer).map(row => row['name'])).toEqual(
      expect.arrayContaining(['Property', 'Member', 'Media']),
    )
  },
  page: (answer, { rows, count, link }) => {
    expect(bodyOf(answer)['@odata.context']).toMatch(/\/odata\/\$metadata#\w+/)
    if (rows !== undefined) expect(rowsOf(answer)).toHaveLength(rows)
    if (count !== undefined) expect(bodyOf(answer)['@odata.count']).toBe(count)
    if (link !== undefined) expect(nextLinkOf(answer) !== undefined, 'a link to more').toBe(link)
    if (link === true) expect(nextLinkOf(answer)?.startsWith(`${app.base}/odata/`)).toBe(true)
  },
  record: answer => {
    expect(bodyOf(answer)).toMatchObject({
      '@odata.context': expect.any(String),
      '@odata.etag': answer.headers['etag'],
      ListingKey: expect.any(String),
    })
    expect(bodyOf(answer)).not.toHaveProperty('ChangedByMemberKey')
    if (answer.status === 201)
      expect(answer.headers['location']).toBe(`${app.base}/odata/Property('${bodyOf(answer)['ListingKey']}')`)
  },
  number: ({ headers, text }, { count }) => {
    expect(headers['content-type']).toMatch(/^text\/plain/)
    expect(text).toBe(String(count))
  },
  nothing: ({ text }) => expect(text).toBe(''),
  preflight: ({ headers }) =>
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': expect.stringMatching(/authorization/i),
    }),
  error: ({ json, headers }) => {
    expect(json).toMatchObject({
      error: {
        code: expect.stringMatching(/^\d{4}$/),
        message: expect.stringMatching(/.+/),
        details: expect.any(Array),
      },
    })
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'content-language': 'en' })
  },
}

type Known = Readonly<Record<'TAG' | 'KEY' | 'MKEY' | 'TOKEN' | 'ETAG' | 'STALE' | 'STAMP', string>>
// There is no word boundary after an encoded space or quote.
const NAMES = /(?<=\b|%2\d)(?:TAG|MKEY|KEY|TOKEN|ETAG|STALE|STAMP)\b/g

const fill = (text: string, known: Known, write = (value: string) => value): string =>
  text.replace(NAMES, name => write(known[name as keyof Known])) // one of them

/** Stores values of a response for later requests. */
function learn(known: Known, answer: TestResponse, shape: Shape): Known {
  if (shape === 'page')
    return { ...known, TOKEN: /skiptoken=([\w-]+)/.exec(nextLinkOf(answer) ?? '')?.[1] ?? known.TOKEN }
  if (shape !== 'record') return known
  const { ListingKey, ModificationTimestamp } = bodyOf(answer)
  return {
    ...known,
    KEY: String(ListingKey),
    STAMP: String(ModificationTimestamp),
    STALE: known.ETAG,
    ETAG: answer.headers['etag'] ?? '',
  }
}

async function prepare(client: string): Promise<Known> {
  const TAG = `Replayed ${client.replaceAll('-', '')}`
  const drafts = ['Round Rock', "Port O'Connor", 'Round Rock', "Port O'Connor"].map((City, i) => ({
    StreetName: TAG,
    City,
    ListPrice: 250_100 + i * 1000,
  }))
  const [KEY = ''] = await createDrafts(app, 'Austin', drafts)
  return { TAG, KEY, MKEY: 'M1', TOKEN: '', ETAG: 'W/"0"', STALE: 'W/"0"', STAMP: '' }
}

test.each(Object.keys(CLIENTS))('%s gets the expected responses', async client => {
  let known = await prepare(client)
  for (const wanted of CLIENTS[client] ?? []) {
    const { method, url, headers, body, status, answer: shape } = wanted
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value && fill(value, known)]),
    )
    const length = sent['transfer-encoding'] === 'chunked' ? { 'Content-Length': null } : {}
    const rawBody = body && fill(body, known)
    const answer = await app.send(fill(url, known, encodeURIComponent), {
      method,
      headers: { ...toDefaultCase(sent), ...length },
      rawBody,
    })
    expect(answer.status, `${method} ${url}: ${answer.text.slice(0, 300)}`).toBe(status)
    if (shape !== 'preflight')
      expect(answer.headers['odata-version'], url).toBe(headers['odata-maxversion'] ?? '4.01')
    SHAPES[shape](answer, wanted)
    known = learn(known, answer, shape)
  }
})

/** Default headers are replaced, whatever the case of their names. */
const toDefaultCase = ({ authorization, ...headers }: Readonly<Record<string, string | null>>) =>
  authorization === undefined ? headers : { ...headers, Authorization: authorization }
