import { connect } from 'node:net'
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
  const warnings: Error[] = []
  const keepWarning = (warning: Error) => warnings.push(warning)
  beforeAll(async () => {
    process.on('warning', keepWarning)
    app = await startTestApp({ kind, env: { NON_DISCLOSURE: 'true' } })
    await loadRecords(app.database, generateSampleBatches({ listings: LISTINGS }), { areNew: true })
  }, 120_000)
  afterAll(async () => {
    await app?.close()
    process.off('warning', keepWarning)
  })

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

  test.each(['staff', 'public'] as const)(
    'EXP-12, EXP-26 NDJSON holds the records of all pages for %s',
    async audience => {
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
    },
  )

  test('EXP-12, EXP-20 an empty result has only the closing line, and $top is a total', async () => {
    const empty = await app.send("/odata/Property?$filter=City eq 'Nowhere'", { headers: NDJSON })
    expect(linesOf(empty.text)).toEqual([{ '@odata.count': 0, [POSITION]: expect.any(Number) }])
    for (const top of [0, 1, 499, 500, 501, 750, 5_000]) {
      const { text } = await app.send(`/odata/Property?$top=${top}&$select=ListingKey`, { headers: NDJSON })
      const lines = linesOf(text)
      const count = Math.min(top, LISTINGS)
      expect([lines.length, lines.at(-1)?.['@odata.count']], `$top=${top}`).toEqual([count + 1, count])
    }
  })

  test('EXP-25, EXP-30 any order, $skip, $expand and related records', async () => {
    const token = app.tokenFor({})
    for (const target of [
      '/odata/Property?$orderby=ListPrice desc&$select=ListingKey,ListPrice',
      '/odata/Property?$skip=250&$select=ListingKey',
      '/odata/Property?$expand=Media($select=MediaURL;$orderby=Order),ListAgent($select=MemberKey)&$select=ListingKey',
      '/odata/Property?$expand=*&$select=ListingKey',
      '/odata/Property?$compute=ListPrice div 2 as Half&$select=Half,ListingKey',
      "/odata/Property('L000000001')/Media",
      '/odata/Property?$apply=groupby((City),aggregate(ListPrice with average as Mean,$count as N))',
    ]) {
      const { status, text } = await app.send(target, { headers: NDJSON })
      expect([target, status]).toEqual([target, 200])
      expect(linesOf(text).slice(0, -1), target).toEqual(await walk(target, token))
    }
  })

  /** Sends a request by HTTP/1.0 or 1.1 and stops reading after the first bytes, until `change` is done. */
  async function readAround(change: () => Promise<unknown>, target: string, version: string) {
    const { hostname, port } = new URL(app.base)
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    let error: string | undefined
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      error = code
    })
    socket.write(
      `GET ${encodeURI(target)} HTTP/${version}\r\nHost: x\r\nConnection: close\r\nAccept: application/x-ndjson\r\n` +
        `Authorization: Bearer ${app.tokenFor({})}\r\n\r\n`,
    )
    await new Promise<void>(resolve =>
      socket.once('data', chunk => {
        socket.pause()
        chunks.push(chunk)
        resolve()
      }),
    )
    await change()
    const closed = new Promise(resolve => socket.once('close', resolve))
    socket.on('data', chunk => chunks.push(chunk)).resume()
    await closed
    return { text: Buffer.concat(chunks).toString(), error }
  }
  const patchPrice = async (ListPrice: number) => {
    const body = { ListPrice, ChangedByMemberKey: 'M00000001' }
    expect((await app.send("/odata/Property('L000000001')", { method: 'PATCH', body })).status).toBe(200)
  }
  const SORTED = '/odata/Property?$orderby=ListPrice&$expand=Media,Rooms'

  // Without chunks, the close is the end of the body.
  test.each([
    ['1.1', undefined],
    ['1.0', 'ECONNRESET'],
  ])(
    'EXP-11 an export by HTTP/%s that is not in the order of the key is aborted when records change',
    async (version, expected) => {
      const { text, error } = await readAround(() => patchPrice(Number(version)), SORTED, version)
      expect(text).toMatch(/^HTTP\/1\.1 200 /)
      expect(text).not.toMatch(/"error"|@odata\.count|\r\n0\r\n\r\n$/)
      expect(error).toBe(expected)
    },
  )

  test('EXP-12 a whole export by HTTP/1.0 ends with its closing line', async () => {
    const { text, error } = await readAround(async () => undefined, SORTED, '1.0')
    const lines = linesOf(text.slice(text.indexOf('\r\n\r\n') + 4))
    expect([lines.length, lines.at(-1)?.['@odata.count'], error]).toEqual([LISTINGS + 1, LISTINGS, undefined])
    expect(text).not.toMatch(/^Transfer-Encoding/im)
  })

  test('EXP-22 CSV has a column for each field, and the exact texts of the JSON pages', async () => {
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

  test('EXP-19, EXP-20, EXP-21 CSV quotes texts and defuses formulas, not numbers', async () => {
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
      'lone\rCR',
      'lone\nLF',
      '"',
      '+1 555 0100',
      '\rCR',
      ' =1',
      '\uFF1D1',
      '\uFF0B1',
      '"=1',
      'null',
      ' ',
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
    expect(stored.value.map(r => r.PublicRemarks)).toEqual(texts)
    const lines = linesOf((await app.send(query.replace('=csv', '=ndjson'))).text)
    expect(lines.slice(0, -1).map(line => line['PublicRemarks'])).toEqual(texts)
    const exact = readCsv((await app.send(`${query}&defuse=false`)).text)
    expect(exact.slice(1).map(row => row[0])).toEqual(stored.value.map(r => r.PublicRemarks))
    const defused = readCsv((await app.send(query)).text)
    expect(defused.slice(1).map(row => row[0])).toEqual(
      stored.value.map(r =>
        r.PublicRemarks && /^[=+\-@\t\r\uFF1D\uFF0B]/.test(r.PublicRemarks)
          ? `'${r.PublicRemarks}`
          : r.PublicRemarks,
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

  test('EXP-20, EXP-25, EXP-30 groups, computed values, empty results and $expand in CSV', async () => {
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
    ['text/*', 'text/csv;charset=utf-8'],
    ['*/*', 'application/json;odata.metadata=minimal'],
    ['', 'application/json;odata.metadata=minimal'],
  ])('EXP-17 Accept: %s is answered as %s', async (accept, type) => {
    const { status, headers } = await app.send('/odata/Property?$top=1', { headers: { Accept: accept } })
    expect([status, headers['content-type']]).toEqual([200, type])
    expect(headers['vary']).toMatch(/\bAccept,/)
  })

  test.each([
    ['csv', 'text/csv;charset=utf-8'],
    ['CSV', 'text/csv;charset=utf-8'],
    ['text/csv', 'text/csv;charset=utf-8'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['json', 'application/json;odata.metadata=minimal'],
  ])('EXP-17 $format=%s overrides Accept', async (format, type) => {
    const Accept = format === 'json' ? 'text/csv' : 'application/json'
    const { headers } = await app.send(`/odata/Media?$top=1&$format=${format}`, { headers: { Accept } })
    expect(headers['content-type']).toBe(type)
    const failed = await app.send(`/odata/Media?$filter=Nothing eq 1&$format=${format}`)
    expect([failed.status, failed.headers['content-type']]).toEqual([400, 'application/json'])
  })

  test('EXP-22 numbers, times and booleans are the texts of the JSON pages', async () => {
    const query =
      "/odata/Property?$compute=ListPrice mul 0.0000001 as Small,ListPrice mul 123456789012345.678 as Large&$select=ListingKey,Small,Large,LastEventSequence,ModificationTimestamp,OnMarketDate,Longitude,InternetEntireListingDisplayYN&$filter=ListingKey eq 'L000000003'"
    const page = (await app.send(query)).text
    const ndjson = await app.send(`${query}&$format=ndjson`)
    const record = ndjson.text.split('\n', 1)[0] ?? ''
    expect(page).toContain(record)
    const text = await app.send(`${query}&$format=application/x-ndjson;IEEE754Compatible=true`)
    expect(text.headers['content-type']).toBe('application/x-ndjson;IEEE754Compatible=true')
    const [names, values] = readCsv((await app.send(`${query}&$format=csv`)).text)
    for (const [i, name] of (names ?? []).entries()) {
      const value = values?.[i] === null ? 'null' : (values?.[i]?.replaceAll('.', '\\.') ?? '')
      expect(record, name ?? '').toMatch(new RegExp(`"${name}" ?: ?"?${value}"?[,}]`))
      expect(value, name ?? '').not.toMatch(/\de[+-]?\d/)
    }
    expect(Object.values(linesOf(text.text)[0] ?? {})).toEqual(
      expect.arrayContaining([values?.[1], values?.[2]]),
    )
  })

  // Node warns of more than ten listeners of an event.
  test('a compressed export causes no warning', async () => {
    const headers = { ...NDJSON, 'Accept-Encoding': 'gzip' }
    const { headers: answered } = await app.send('/odata/Property?$top=50', { headers })
    expect(answered['content-encoding']).toBe('gzip')
    expect(warnings).toEqual([])
  })

  test('EXP-24 a byte order mark begins CSV only where it is requested', async () => {
    const read = async (query: string) => {
      const response = await fetch(`${app.base}/odata/Property?${query}`, {
        headers: { Authorization: `Bearer ${app.tokenFor({})}`, 'Accept-Encoding': 'gzip' },
      })
      return Buffer.from(await response.arrayBuffer())
    }
    const plain = await read('$format=csv&$select=ListingKey,City')
    const marked = await read('$format=csv&$select=ListingKey,City&bom=true')
    expect(marked).toEqual(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plain]))
    expect(plain.subarray(0, 3).toString()).toBe(
      (await app.send('/odata/Property?$top=0&$format=csv')).text.slice(0, 3),
    )
    expect(plain.includes('\uFEFF')).toBe(false)
    expect((await read("$format=csv&bom=true&$filter=City eq 'X'&$select=City")).toString()).toBe(
      '\uFEFFCity\r\n',
    )
    expect((await read('$format=ndjson&bom=true&$select=ListingKey')).includes('\uFEFF')).toBe(false)
  })

  test('EXP-26 CSV and NDJSON have the values and errors of the pages of a public token', async () => {
    const token = app.tokenFor({ scopes: ['listings:read'], audience: 'public' })
    const headers = { Authorization: `Bearer ${token}` }
    for (const query of [
      '$select=ListingKey,ClosePrice,UnparsedAddress',
      '$filter=ClosePrice gt 1&$select=ListingKey',
      '$orderby=ClosePrice&$select=ListingKey,ClosePrice',
    ]) {
      const records = await walk(`/odata/Property?${query}`, token)
      const lines = linesOf((await app.send(`/odata/Property?${query}&$format=ndjson`, { headers })).text)
      expect(lines.slice(0, -1), query).toEqual(records)
      const [names, ...rows] = readCsv(
        (await app.send(`/odata/Property?${query}&$format=csv`, { headers })).text,
      )
      const texts = records.map(record =>
        names?.map(name => record[name ?? ''] ?? null)?.map(v => (v === null ? null : String(v))),
      )
      expect(rows, query).toEqual(texts)
    }
    for (const format of ['csv', 'ndjson']) {
      const refused = await app.send(`/odata/Property?$select=ChangedByMemberKey&$format=${format}`, {
        headers,
      })
      const page = await app.send('/odata/Property?$select=ChangedByMemberKey', { headers })
      expect([refused.status, refused.json]).toEqual([page.status, page.json])
    }
  })

  test('EXP-17, EXP-30 only collections outside of a batch have exports, without $count', async () => {
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

  test('HEAD returns only the headers', async () => {
    const { status, headers, text } = await app.send('/odata/Property', { method: 'HEAD', headers: NDJSON })
    expect([status, headers['content-type'], text]).toEqual([200, 'application/x-ndjson', ''])
  })

  /** Connections with a transaction or a snapshot. */
  const countHeld = async (): Promise<number> => {
    const [row] = await app.database.prisma.$queryRaw<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and backend_type = 'client backend' and (state <> 'idle' or backend_xmin is not null)`
    return row?.count ?? -1
  }

  // The result is larger than the buffers of a socket, so that an export lasts until it is read.
  test('EXP-14, EXP-15 a client has at most eight exports, which hold no snapshot, and can start another after disconnecting one', async () => {
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
    expect((await app.send('/odata/Property?$top=1')).status).toBe(200)
    if (kind === 'server') await expect.poll(countHeld).toBe(0)
    const ninth = await open()
    expect([ninth.response.status, ninth.response.headers.get('retry-after')]).toEqual([429, '5'])
    for (const { controller } of opened) controller.abort()
    await expect.poll(async () => (await open()).response.status, { timeout: 5_000 }).toBe(200)
  })
})
