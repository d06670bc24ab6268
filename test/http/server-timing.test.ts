import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'
import { DRAFT } from '../support/drafts.js'

// OBS-11: Server-Timing on request, by stage only for staff.

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json', env: { CORS_ORIGINS: 'https://app.example' } })
})
afterAll(() => app?.close())

const STAGES = ['parse', 'bind', 'connection', 'lock', 'statement', 'total']
const ASK = { Prefer: 'odata.maxpagesize=2, server-timing' }
const headersFor = (audience: 'public' | 'member' | 'staff') => ({
  ...ASK,
  Authorization: `Bearer ${app.tokenFor({ audience })}`,
})
const timingOf = async (path: string, headers: Readonly<Record<string, string | null>>, parts: object = {}) =>
  (await app.send(path, { headers, ...parts })).headers['server-timing']

/** Reads the header by its grammar (W3C Server Timing, 3): metrics with names and durations. */
function read(header: string | undefined): Readonly<Record<string, number>> {
  const metrics = (header ?? '').split(', ').map(metric => /^([a-z]+);dur=(\d+(?:\.\d)?)$/.exec(metric))
  expect(metrics.every(Boolean), header).toBe(true)
  return Object.fromEntries(metrics.map(match => [match?.[1], Number(match?.[2])]))
}

test('OBS-11 is absent unless it is requested with a valid token', async () => {
  const token = { Authorization: `Bearer ${app.tokenFor()}` }
  expect(await timingOf('/odata/Property', token)).toBeUndefined()
  expect(await timingOf('/odata/Property', { ...token, Prefer: 'x="server-timing"' })).toBeUndefined()
  expect(await timingOf('/odata/Property', { ...ASK, Authorization: null })).toBeUndefined()
  expect(await timingOf('/odata/Property', { ...ASK, Authorization: 'Bearer forged' })).toBeUndefined()
  expect(await timingOf('/health/live', ASK)).toBeUndefined()
})

test('OBS-11 staff get the stages, which are measured', async () => {
  const filter = `$filter=ListPrice gt ${Date.now()}`
  const odata = read(await timingOf(`/odata/Property?${filter}`, headersFor('staff')))
  expect(Object.keys(odata)).toEqual(STAGES)
  const { total = 0, ...stages } = odata
  expect(Object.values(stages).every(ms => ms <= total)).toBe(true)
  expect(odata['statement']).toBeGreaterThan(0)
  const body = { query: `query Q${Date.now()} { properties(first: 1) { nodes { ListingKey } } }` }
  const graphql = read(await timingOf('/graphql', headersFor('staff'), { method: 'POST', body }))
  expect(Object.keys(graphql)).toEqual(STAGES)
  expect(graphql['statement']).toBeGreaterThan(0)
})

test.each(['public', 'member'] as const)(
  'OBS-11 %s tokens get a total in whole milliseconds',
  async audience => {
    const hidden = `/odata/Property?$filter=StandardStatus eq 'Incomplete'`
    const body = { query: '{ properties { totalCount } }' }
    for (const header of [
      await timingOf('/odata/Property', headersFor(audience)),
      await timingOf(hidden, headersFor(audience)),
      await timingOf('/graphql', headersFor(audience), { method: 'POST', body }),
    ])
      expect(header).toMatch(/^total;dur=\d+$/)
  },
)

test('OBS-11 errors, 304, exports and batches have it once, parts of a batch have none', async () => {
  const headers = headersFor('public')
  expect(await timingOf('/odata/Property?$filter=Nothing eq 1', headers)).toMatch(/^total;dur=\d+$/)
  expect(await timingOf("/odata/Property('none')", headers)).toMatch(/^total;dur=\d+$/)
  const fields = { ListPrice: 1, ChangedByMemberKey: 'M1' }
  await app.database.prisma.member.createMany({ data: [{ MemberKey: 'M1' }], skipDuplicates: true })
  const draft = await app.send('/odata/Property', { method: 'POST', body: { ...DRAFT, ...fields } })
  expect(draft.status, draft.text).toBe(201)
  const again = await app.send(draft.headers['location'] ?? '', {
    headers: { ...headersFor('staff'), 'If-None-Match': draft.headers['etag'] ?? '' },
  })
  expect(again).toMatchObject({
    status: 304,
    headers: { 'server-timing': expect.stringContaining('total;') },
  })
  expect(await timingOf('/odata/Property', { ...headers, Accept: 'application/x-ndjson' })).toMatch(/^total;/)
  const requests = [{ id: '1', method: 'GET', url: 'Property?$top=1', headers: { prefer: 'server-timing' } }]
  const batch = await app.send('/odata/$batch', { method: 'POST', headers, body: { requests } })
  expect(batch.headers['server-timing']).toMatch(/^total;/)
  expect(batch.text.toLowerCase()).not.toContain('server-timing')
})

test('OBS-11 only origins of CORS_ORIGINS may read it', async () => {
  const answerTo = (Origin: string) =>
    app.send('/odata/Property?$top=1', { headers: { ...headersFor('public'), Origin } })
  const allowed = await answerTo('https://app.example')
  expect(allowed.headers).toMatchObject({
    'timing-allow-origin': 'https://app.example',
    'access-control-expose-headers': expect.stringContaining('Server-Timing'),
  })
  expect((await answerTo('https://other.example')).headers).not.toHaveProperty('timing-allow-origin')
  const unasked = await app.send('/odata/Property?$top=1', { headers: { Origin: 'https://app.example' } })
  expect(unasked.headers).not.toHaveProperty('timing-allow-origin')
})
