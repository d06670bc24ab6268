import { createSecretKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'
import { createTestEnvironment, type StartedService, startService, type TestEnvironment } from '../support/process.js' // biome-ignore format: one line
import { DEADLINE, feedServiceOf } from './market.js'

const SECRET = createSecretKey('a secret of the tests, long enough for HS256', 'utf8')
const tokenOf = (feed?: string): string =>
  jwt.sign({ scope: 'listings:read', audience_class: 'public', feed }, SECRET, { expiresIn: 3600 })

const LISTINGS = `insert into "Property" ("ListingKey", "StandardStatus", "City", "ListPrice")
  select 'K' || n, 'Active', (array['Vail','Reno','Aspen'])[1 + n % 3], 100 + n from generate_series(1, 30) n`
const REQUESTS = 200
const QUERY =
  '{ properties(first: 50, where: "ListPrice gt 100") { totalCount nodes { ListingKey City ListPrice } } }'
/** Requests that every reader sends with exactly the same text. */
const PROBES = [
  { target: '/odata/Property?$select=ListingKey,City,ListPrice&$count=true' },
  { target: "/odata/Property?$filter=City ne 'x'&$orderby=ListPrice desc&$select=City,ListPrice" },
  { target: '/odata/Property?$apply=groupby((City),aggregate(ListPrice with max as m))' },
  { target: '/odata/Lookup?$top=3' },
  { target: '/graphql', options: { method: 'POST', body: { query: QUERY } } },
] // biome-ignore format: one request a line

describe.runIf(DATABASE_KINDS.includes('server'))('one text, several feeds', () => {
  let environment: TestEnvironment
  let service: StartedService
  const readers: Readonly<Record<string, string>> = {
    f1: tokenOf('f1'),
    f2: tokenOf('f2'),
    none: tokenOf(),
  }
  beforeAll(async () => {
    environment = await createTestEnvironment('server')
    const database = await environment.connect()
    await database.queryControl({ text: LISTINGS, values: [] })
    await feedServiceOf(database).add({ FeedName: 'f1', Filter: "City eq 'Vail'" })
    await feedServiceOf(database).add({
      FeedName: 'f2',
      Filter: "City eq 'Reno'",
      HiddenFields: ['ListPrice'],
    })
    await database.close()
    service = await startService(environment, { WORKERS: '2', RATE_LIMIT: '0', POOL_SIZE: '3' })
  }, 180_000)
  afterAll(async () => {
    await service?.stop('SIGKILL')
    await environment?.remove()
  })

  const ask = async (name: string, i: number): Promise<string> => {
    const { target, options = {} } = PROBES[i] ?? { target: '' }
    const headers = { Authorization: `Bearer ${readers[name]}` }
    const { status, text } = await service.send(target, { ...options, headers })
    return `${status} ${text}`
  }
  const askAll = async (name: string) => Promise.all(PROBES.map((_, i) => ask(name, i)))
  const citiesIn = (answers: readonly string[]) =>
    [...new Set(answers.join().match(/Vail|Reno|Aspen/g))].toSorted()

  /** Sends the requests of all readers at random. Returns those that differ from what each reader got alone. */
  async function mix(expected: Readonly<Record<string, readonly string[]>>): Promise<readonly string[]> {
    const names = Object.keys(expected)
    const wrong: string[] = []
    const send = async (n: number) => {
      const [name, i] = [names[(n * 7) % names.length] ?? '', (n * 11) % PROBES.length]
      if ((await ask(name, i)) !== expected[name]?.[i]) wrong.push(`${name} ${PROBES[i]?.target}`)
    }
    for (let n = 0; n < REQUESTS; n += 20)
      await Promise.all(Array.from({ length: 20 }, (_, i) => send(n + i)))
    return wrong
  }

  test("FED-07: each response has the content of the reader's feed, in every process, also after a change", { timeout: 120_000 }, async () => {
    const expected = { f1: await askAll('f1'), f2: await askAll('f2'), none: await askAll('none') }
    expect([citiesIn(expected.f1), citiesIn(expected.f2), citiesIn(expected.none)]).toEqual([
      ['Vail'], ['Reno'], ['Aspen', 'Reno', 'Vail'],
    ]) // biome-ignore format: one list
    expect(await mix(expected)).toEqual([])
    const database = await environment.connect()
    await feedServiceOf(database).change('f1', { Filter: "City eq 'Aspen'" })
    await database.close()
    const hasChanged = async () => citiesIn((await Promise.all([0, 1, 2, 3].map(() => askAll('f1')))).flat())
    await expect.poll(hasChanged, DEADLINE).toEqual(['Aspen'])
    expect(await mix({ ...expected, f1: await askAll('f1') })).toEqual([])
  }) // biome-ignore format: one test
})

test('FED-13: no shared cache may store a response that depends on a token', { timeout: 60_000 }, async () => {
  const app = await startTestApp({ fixture: 'fixture.json' })
  try {
    const { etag = '' } = (await app.send("/odata/Property('P01')")).headers
    const answers = [
      ['/odata/', {}], ['/odata/$metadata', {}], ['/odata/Property', {}], ["/odata/Property('P01')", {}], ["/odata/Property('P01')", { headers: { 'If-None-Match': etag } }],
      ["/odata/Property('nosuch')", {}], ['/odata/NoSuch', {}], ['/odata/Property?$filter=(', {}], ['/odata/Property/$count', {}], ['/odata/Property', { headers: { Authorization: null } }],
      ['/odata/Property', { headers: { Accept: 'text/csv' } }], ['/odata/Property', { headers: { Accept: 'application/x-ndjson' } }], ['/odata/Property', { method: 'HEAD' }],
      ['/odata/Property?$filter=x', { headers: { Accept: 'text/csv' } }], ['/odata/$batch', { method: 'POST', body: { requests: [] } }], ['/odata/Property', { method: 'PUT', body: {} }],
      ['/graphql?query={__typename}', {}], ['/graphql?query={', {}], ['/graphql?query={__typename}', { headers: { Authorization: null } }], ['/graphql', { method: 'POST', rawBody: '{' }],
      ['/graphql', { method: 'PUT' }], ['/admin/odata/Client', {}], ['/odata/Property', { headers: { Authorization: 'Basic eDp5' } }], ["/odata/Digest(ResourceName='Property',Buckets=1)", {}],
      [`/odata/Property?${'x'.repeat(70_000)}`, {}], ['/odata/Property', { method: 'POST', rawBody: 'x'.repeat(2_000_000) }],
    ] as const // biome-ignore format: one list
    const stored: string[] = []
    for (const [target, parts] of answers) {
      const { status, headers } = await app.send(target, parts)
      const control = headers['cache-control'] ?? ''
      const mayStore = !/\bno-store\b|\bprivate\b/.test(control)
      if (mayStore) stored.push(`${target.slice(0, 60)} ${JSON.stringify(parts).slice(0, 60)} ${status} ${control}`)
    }
    expect(stored).toEqual([])
  } finally {
    await app.close()
  }
}) // biome-ignore format: one test
