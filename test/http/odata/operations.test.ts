import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startTestApp, type TestApp, type TestAppSettings } from '../../support/app.js'
import { bodyOf, nextLinkOf } from '../../support/assertions.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { DRAFT } from '../../support/drafts.js'

const apps: TestApp[] = []
afterEach(async () => {
  await Promise.all(apps.splice(0).map(app => app.close()))
})

/** The service with default settings. */
let plain: TestApp
beforeAll(async () => {
  plain = await startTestApp({ fixture: 'fixture.json' })
})
afterAll(() => plain.close())

async function start(settings: TestAppSettings): Promise<TestApp> {
  // These settings do not depend on the database, so the one that starts faster is used.
  const app = await startTestApp({
    kind: DATABASE_KINDS.at(-1) ?? 'embedded',
    fixture: 'fixture.json',
    ...settings,
  })
  apps.push(app)
  return app
}

describe('links', () => {
  test('OPS-01: all begin with PUBLIC_URL', async () => {
    const app = await start({ env: { PUBLIC_URL: 'https://api.example.test/reso/' } })
    const root = 'https://api.example.test/reso/odata'
    const page = await app.send('/odata/Property?$top=1')
    expect(String(bodyOf(page)['@odata.context'])).toBe(`${root}/$metadata#Property`)
    expect(nextLinkOf(page)).toMatch(
      /^https:\/\/api\.example\.test\/reso\/odata\/Property\?\$top=1&\$skiptoken=/,
    )
    const created = await app.send('/odata/Property', {
      method: 'POST',
      body: DRAFT,
      headers: { Prefer: 'return=representation' },
    })
    for (const link of [
      created.headers['location'],
      bodyOf(created)['@odata.id'],
      bodyOf(created)['@odata.editLink'],
    ])
      expect(link).toMatch(/^https:\/\/api\.example\.test\/reso\/odata\/Property\('Draft/)
    expect(
      (await app.send("/odata/$entity?$id=https://api.example.test/reso/odata/Property('P01')")).status,
    ).toBe(200)
    expect((await app.send('/')).text).toContain(`href="${root}"`)
  })

  test('without PUBLIC_URL they follow the Host header, if it is valid', async () => {
    const page = await plain.send('/odata/Property?$top=1', { headers: { Host: 'market.example:8080' } })
    expect(nextLinkOf(page)).toMatch(/^http:\/\/market\.example:8080\/odata\//)
    const forwarded = await plain.send('/odata/Property?$top=1', {
      headers: { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' },
    })
    expect(nextLinkOf(forwarded)?.startsWith(plain.base)).toBe(true)
    expect((await plain.send('/odata/Property?$top=1', { headers: { Host: 'a b"<c' } })).status).toBe(400)
  })
})

describe('limits', () => {
  test('OPS-03: deep nesting is refused immediately', async () => {
    const app = await start({ env: { MAX_QUERY_LENGTH: '100000', MAX_HEADER_BYTES: '200000' } })
    const lambdas = 'Rooms/any(r:'.repeat(150)
    for (const filter of ['('.repeat(5000), 'not '.repeat(5000), `${lambdas}true${')'.repeat(150)}`]) {
      const started = performance.now()
      expect((await app.send(`/odata/Property?$filter=${filter}`)).status).toBe(400)
      // Exponential work would take minutes.
      expect(performance.now() - started).toBeLessThan(20_000)
    }
    expect(
      (
        await app.send(
          `/odata/Property?$expand=${'Rooms($expand=Listing($expand='.repeat(100)}Media${'))'.repeat(100)}`,
        )
      ).status,
    ).toBe(400)
    expect((await app.send('/odata/Property?$top=1')).status).toBe(200)
  })

  test('OPS-04: long flat filters are accepted', async () => {
    const terms = (n: number) => Array.from({ length: n }, (_, i) => `ListingKey eq 'k${i}'`).join(' or ')
    expect((await plain.send(`/odata/Property?$filter=${terms(200)}`)).status).toBe(200)
    const longer = await plain.send(`/odata/Property?$filter=${terms(2000)}`)
    expect([longer.status, longer.headers['content-type'], longer.headers['odata-version']]).toEqual([
      414,
      'application/json',
      '4.01',
    ])
    const longest = await plain.send(`/odata/Property?$filter=${terms(8000)}`)
    expect([longest.status, longest.headers['content-type'], longest.headers['odata-version']]).toEqual([
      431,
      'application/json',
      '4.01',
    ])
  })

  test('OPS-06: the rate is limited by token', async () => {
    const app = await start({ env: { RATE_LIMIT: '2' } })
    const [one, other] = [app.tokenFor({ memberKey: 'M1' }), app.tokenFor({ memberKey: 'M2' })]
    const send = (token: string, headers = {}) =>
      app.send('/odata/Property?$top=1', { headers: { Authorization: `Bearer ${token}`, ...headers } })
    expect([(await send(one)).status, (await send(one)).status]).toEqual([200, 200])
    const refused = await send(one, { 'OData-MaxVersion': '4.0' })
    expect([refused.status, refused.headers['odata-version']]).toEqual([429, '4.0'])
    expect(refused.headers).toMatchObject({
      'retry-after': expect.stringMatching(/^\d+$/),
      'ratelimit-remaining': '0',
      'content-language': 'en',
    })
    expect((await send(other)).status).toBe(200)
    // Refused requests do not prolong the wait, and after it the same request works.
    for (let n = 0; n < 3; n++) expect((await send(one)).status).toBe(429)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 * Number(refused.headers['retry-after']) })
    expect((await send(one)).status).toBe(200)
    vi.useRealTimers()
  })
})

describe('browsers', () => {
  test('OPS-08: a preflight needs no token, and responses can be read, errors included', async () => {
    const app = await start({ env: { CORS_ORIGINS: 'https://app.example' } })
    const asked = {
      Origin: 'https://app.example',
      'Access-Control-Request-Method': 'PATCH',
      'Access-Control-Request-Headers': 'authorization,content-type,odata-version,prefer',
    }
    const preflight = await app.send('/odata/Property', {
      method: 'OPTIONS',
      headers: { ...asked, Authorization: null },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': expect.stringContaining('PATCH'),
    })
    for (const [url, status] of [
      ['/odata/Property?$top=1', 200],
      ['/odata/Nope', 404],
    ] as const) {
      const answer = await app.send(url, { headers: { Origin: 'https://app.example' } })
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([
        status,
        'https://app.example',
      ])
      expect(answer.headers['access-control-expose-headers']).toContain('OData-Version')
      expect(answer.headers['vary']).toMatch(/Origin/)
    }
  })

  test('OPS-08: large responses are compressed if the client accepts it', async () => {
    const answer = await plain.send('/odata/Property', { headers: { 'Accept-Encoding': 'gzip' } })
    expect([answer.status, answer.headers['content-encoding']]).toEqual([200, 'gzip'])
    expect(answer.headers['vary']).toMatch(/Accept-Encoding/)
  })

  test('the front page lists the links, unless it is off', async () => {
    const page = await plain.send('/', { headers: { Authorization: null } })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.text).toContain('href="/odata"')
    const off = await (await start({ env: { FRONT_PAGE: 'off' } })).send('/')
    expect([off.status, off.headers['content-type']]).toEqual([404, 'application/json'])
  })
})
