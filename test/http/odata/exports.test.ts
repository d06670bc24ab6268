import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadRecords } from '../../../src/data/import/load-records.js'
import { generateSampleBatches } from '../../../src/sample/market.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { DATABASE_KINDS } from '../../support/database.js'

const LISTINGS = 801
const NDJSON = { Accept: 'application/x-ndjson' }
const POSITION = '@org.reso.metadata.LastEventSequence'

type JsonRecord = Readonly<Record<string, unknown>>

const linesOf = (text: string): readonly JsonRecord[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as JsonRecord)

/** A strict reader of RFC 4180: CRLF between rows, quotes doubled, nothing after a closing quote. */
function readCsv(text: string): readonly (readonly (string | null)[])[] {
  const rows: (string | null)[][] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  let row: (string | null)[] = []
  while (field.lastIndex < text.length) {
    const at = field.lastIndex
    const match = field.exec(text)
    if (!match) throw new Error(`No field at ${at}: ${text.slice(at, at + 40)}`)
    const [, quoted, plain, end] = match
    row.push(quoted !== undefined ? quoted.replaceAll('""', '"') : plain === '' ? null : (plain ?? null))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

describe.each(DATABASE_KINDS)('exports on the %s database', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind })
    await loadRecords(app.database, generateSampleBatches({ listings: LISTINGS }), { areNew: true })
  }, 120_000)
  afterAll(() => app?.close())

  const walk = async (target: string, token: string): Promise<readonly JsonRecord[]> => {
    const records: JsonRecord[] = []
    let next: string | undefined = target
    while (next) {
      const { json } = await app.send(next, { headers: { Authorization: `Bearer ${token}` } })
      const page = json as { readonly value: readonly JsonRecord[]; readonly '@odata.nextLink'?: string }
      records.push(...page.value)
      next = page['@odata.nextLink']?.replace(app.base, '')
    }
    return records
  }

  test.each(['staff', 'public'] as const)('NDJSON holds the records of all pages for %s', async audience => {
    const token = app.tokenFor({ scopes: ['listings:read'], audience })
    const headers = { ...NDJSON, Authorization: `Bearer ${token}` }
    const { status, headers: answered, text } = await app.send('/odata/Property', { headers })
    expect([status, answered['content-type']]).toEqual([200, 'application/x-ndjson'])
    const lines = linesOf(text)
    const closing = lines.at(-1)
    const records = lines.slice(0, -1)
    expect(records).toEqual(await walk('/odata/Property', token))
    expect(closing).toEqual({ '@odata.count': records.length, [POSITION]: expect.any(Number) })
    expect(String(closing?.[POSITION])).toBe(answered['last-event-sequence'])
    expect(records.length).toBeGreaterThan(700)
  })

  test('an empty result has only the closing line, and $top is a total', async () => {
    const empty = await app.send("/odata/Property?$filter=City eq 'Nowhere'", { headers: NDJSON })
    expect(linesOf(empty.text)).toEqual([{ '@odata.count': 0, [POSITION]: expect.any(Number) }])
    for (const top of [0, 1, 499, 500, 501, 750, 5_000]) {
      const { text } = await app.send(`/odata/Property?$top=${top}&$select=ListingKey`, { headers: NDJSON })
      const lines = linesOf(text)
      const count = Math.min(top, LISTINGS)
      expect([lines.length, lines.at(-1)?.['@odata.count']], `$top=${top}`).toEqual([count + 1, count])
    }
  })

  test('any order, $skip, $expand and related records', async () => {
    const token = app.tokenFor({})
    for (const target of [
      '/odata/Property?$orderby=ListPrice desc&$select=ListingKey,ListPrice',
      '/odata/Property?$skip=250&$select=ListingKey',
      '/odata/Property?$expand=Media($select=MediaURL),ListAgent($select=MemberKey)&$select=ListingKey',
      "/odata/Property('L000000001')/Media",
      '/odata/Property?$apply=groupby((City),aggregate(ListPrice with average as Mean,$count as N))',
    ]) {
      const { status, text } = await app.send(target, { headers: NDJSON })
      expect([target, status]).toEqual([target, 200])
      expect(linesOf(text).slice(0, -1), target).toEqual(await walk(target, token))
    }
  })

  test('an export that is not in the order of the key breaks off when records change', async () => {
    const headers = { Authorization: `Bearer ${app.tokenFor({})}`, ...NDJSON }
    const response = await fetch(`${app.base}/odata/Property?$orderby=ListPrice`, { headers })
    const reader = response.body?.getReader()
    await reader?.read()
    const patched = await app.send("/odata/Property('L000000001')", {
      method: 'PATCH',
      body: { ListPrice: 1, ChangedByMemberKey: 'M00000001' },
    })
    expect(patched.status).toBe(200)
    const readAll = async () => {
      while (reader && !(await reader.read()).done);
    }
    await expect(readAll()).rejects.toThrow()
  })

  test('CSV has a column for each field, and the exact texts of the JSON pages', async () => {
    const { status, headers, text } = await app.send('/odata/Property?$format=csv')
    expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      'text/csv;charset=utf-8',
      'attachment; filename="Property.csv"',
    ])
    const [header, ...rows] = readCsv(text)
    expect(rows.length).toBe(LISTINGS)
    expect(new Set(rows.map(row => row.length))).toEqual(new Set([header?.length]))
    const page = (await app.send('/odata/Property?$top=1')).text
    const column = (name: string): string | null | undefined => rows[0]?.[header?.indexOf(name) ?? -1]
    for (const name of ['ListingKey', 'ListPrice', 'ModificationTimestamp', 'Longitude', 'City'])
      expect(page).toMatch(new RegExp(`"${name}" ?: ?"?${column(name)?.replaceAll('.', '\\.')}"?[,}]`))
    expect(column('CloseDate')).toBeNull()
  })

  test('CSV quotes texts and defuses formulas, not numbers', async () => {
    const texts = [
      'a, "b"',
      'line\r\nfeed',
      ' blank ',
      '=1+1',
      '-5',
      '@x',
      '\tTab',
      'NULL',
      'a\\"b',
      '🏠',
      '',
    ]
    const keys: string[] = []
    for (const [i, PublicRemarks] of texts.entries()) {
      const key = `L${String(i + 1).padStart(9, '0')}`
      keys.push(key)
      const { status } = await app.send(`/odata/Property('${key}')`, {
        method: 'PATCH',
        body: { PublicRemarks, ChangedByMemberKey: 'M00000001' },
      })
      expect(status, JSON.stringify(PublicRemarks)).toBe(200)
    }
    const last = keys.at(-1)
    const query = `/odata/Property?$select=PublicRemarks,Longitude&$filter=ListingKey le '${last}'&$format=csv`
    const stored = (await app.send(`/odata/Property?$select=PublicRemarks&$filter=ListingKey le '${last}'`))
      .json as {
      readonly value: readonly { readonly PublicRemarks: string | null }[]
    }
    const exact = readCsv((await app.send(`${query}&defuse=false`)).text)
    expect(exact.slice(1).map(row => row[0])).toEqual(stored.value.map(r => r.PublicRemarks))
    const defused = readCsv((await app.send(query)).text)
    expect(defused.slice(1).map(row => row[0])).toEqual(
      stored.value.map(r =>
        r.PublicRemarks && /^[=\-@\t]/.test(r.PublicRemarks) ? `'${r.PublicRemarks}` : r.PublicRemarks,
      ),
    )
    expect(defused[1]?.[1]).toMatch(/^-\d+\.\d+$/)
    expect((await app.send(`${query}&bom=true`)).text.startsWith('\uFEFFPublicRemarks')).toBe(true)
    expect((await app.send(`${query}&defuse=maybe`)).status).toBe(400)
    for (const option of ['defuse', 'bom']) {
      const twice = await app.send(`${query}&${option}=true&${option}=false`)
      expect([twice.status, twice.json]).toMatchObject([400, { error: { code: '2009', target: option } }])
    }
  })

  test('groups, computed values and empty results in CSV', async () => {
    const groups = readCsv(
      (await app.send('/odata/Property?$apply=groupby((City),aggregate($count as N))&$format=csv')).text,
    )
    expect(groups[0]).toEqual(['City', 'N'])
    const half = readCsv(
      (await app.send('/odata/Property?$compute=ListPrice div 2 as Half&$select=Half,ListingKey&$format=csv'))
        .text,
    )
    expect(half[0]).toEqual(['Half', 'ListingKey'])
    expect((await app.send("/odata/Property?$filter=City eq 'X'&$select=City&$format=csv")).text).toBe(
      'City\r\n',
    )
    const nulls = await app.send(
      '/odata/Property?$select=CloseDate&$top=2&$filter=CloseDate eq null&$format=csv',
    )
    expect(nulls.text).toBe('CloseDate\r\n\r\n\r\n')
    expect((await app.send('/odata/Property?$expand=Media&$format=csv')).status).toBe(501)
  })

  test.each([
    ['application/x-ndjson;charset=utf-8', 'application/x-ndjson;charset=utf-8'],
    ['application/json, application/x-ndjson;q=0.5', 'application/json;odata.metadata=minimal'],
    ['application/x-ndjson, */*', 'application/x-ndjson'],
    ['text/csv;q=0, */*', 'application/json;odata.metadata=minimal'],
    [
      'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'application/json;odata.metadata=minimal',
    ],
    ['text/csv', 'text/csv;charset=utf-8'],
  ])('Accept: %s is answered as %s', async (accept, type) => {
    const { status, headers } = await app.send('/odata/Property?$top=1', { headers: { Accept: accept } })
    expect([status, headers['content-type']]).toEqual([200, type])
  })

  test('only collections outside of a batch have exports', async () => {
    for (const target of [
      "/odata/Property('L000000001')?$format=csv",
      '/odata/Property/$count?$format=csv',
      '/odata/Property/$ref?$format=ndjson',
      '/odata/Property?$format=xlsx',
    ])
      expect([target, (await app.send(target)).status]).toEqual([target, 406])
    const batch = await app.send('/odata/$batch', {
      method: 'POST',
      body: { requests: [{ id: '1', method: 'GET', url: 'Property?$format=csv' }] },
    })
    expect((batch.json as { readonly responses: readonly JsonRecord[] }).responses[0]?.status).toBe(406)
    for (const query of ['$count=true', '$skiptoken=abc', '$filter=Nothing eq 1'])
      expect([query, (await app.send(`/odata/Property?${query}`, { headers: NDJSON })).status]).toEqual([
        query,
        400,
      ])
  })

  test('a position that the log has not reached is gone, as for pages', async () => {
    const target = '/odata/EntityEvent?$filter=EntityEventSequence gt 9000000000000'
    const page = await app.send(target)
    const exported = await app.send(target, { headers: NDJSON })
    expect([page.status, exported.status]).toEqual([410, 410])
    expect(exported.json).toEqual(page.json)
  })

  test('HEAD reads nothing but the headers', async () => {
    const { status, headers, text } = await app.send('/odata/Property', { method: 'HEAD', headers: NDJSON })
    expect([status, headers['content-type'], text]).toEqual([200, 'application/x-ndjson', ''])
  })

  // The result is larger than the buffers of a socket, so that an export lasts until it is read.
  test('a client has at most eight exports, and gets its place back when it hangs up', async () => {
    const headers = {
      Authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read'], audience: 'public' })}`,
      ...NDJSON,
      'Accept-Encoding': 'identity',
    }
    const open = () => {
      const controller = new AbortController()
      return fetch(`${app.base}/odata/Property?$expand=Media,Rooms`, {
        headers,
        signal: controller.signal,
      }).then(response => ({
        response,
        controller,
      }))
    }
    const opened: Awaited<ReturnType<typeof open>>[] = []
    for (let i = 0; i < 8; i++) opened.push(await open())
    expect(opened.map(({ response }) => response.status)).toEqual(Array(8).fill(200))
    const ninth = await open()
    expect([ninth.response.status, ninth.response.headers.get('retry-after')]).toEqual([429, '5'])
    for (const { controller } of opened) controller.abort()
    await expect.poll(async () => (await open()).response.status, { timeout: 5_000 }).toBe(200)
  })
})
