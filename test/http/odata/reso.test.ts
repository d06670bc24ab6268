import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RequestOptions, startTestApp, type TestApp, type TestResponse } from '../../support/app.js'
import { bodyOf, type Row, rowsOf } from '../../support/assertions.js'
import { DRAFT } from '../../support/drafts.js'

// The checks of RESO's certification for Add/Edit (RCP-010) and EntityEvent (RCP-027), with a token that
// names a member.

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({
    fixture: 'fixture.json',
    grant: { scopes: ['listings:read', 'listings:write'], memberKey: 'M1', audience: 'member' },
  })
})
afterAll(() => app.close())

const VERSION = /^4\.01?$/
const write = (method: string, url: string, body?: unknown, prefer?: string) => {
  const headers = {
    'OData-Version': '4.01',
    Accept: 'application/json',
    ...(prefer !== undefined && { Prefer: `return=${prefer}` }),
  }
  return app.send(url, { method, headers, body } satisfies RequestOptions)
}

const create = async (prefer = 'representation') => {
  const answer = await write('POST', '/odata/Property', DRAFT, prefer)
  expect(answer.status, answer.text).toBe(prefer === 'minimal' ? 204 : 201)
  return answer
}
const locationOf = ({ headers }: TestResponse) => headers['location'] ?? ''
const keyAt = (location: string) => /Property\('([^']+)'\)$/.exec(location)?.[1] ?? ''

/** Checks an accepted write in both representations. */
async function checkWritten(answer: TestResponse, sent: Row, prefer: string): Promise<void> {
  expect(answer.headers).toMatchObject({
    'odata-version': expect.stringMatching(VERSION),
    'preference-applied': `return=${prefer}`,
  })
  expect(new URL(locationOf(answer)).pathname).toContain('Property')
  if (answer.status === 204) expect(answer.headers['entityid']).toBe(locationOf(answer))
  else checkRepresentation(bodyOf(answer), sent)
  const read = await app.send(locationOf(answer))
  expect([read.status, read.headers['odata-version']]).toEqual([200, expect.stringMatching(VERSION)])
  expect(bodyOf(read)).toMatchObject(sent)
}

function checkRepresentation(body: Row, sent: Row): void {
  for (const name of ['@odata.context', '@odata.id', '@odata.editLink'])
    expect(URL.canParse(String(body[name])), name).toBe(true)
  expect(body['@odata.etag']).toMatch(/^W\//)
  expect(body).toMatchObject(sent)
}

async function checkRefused(answer: TestResponse): Promise<void> {
  expect([answer.status, answer.headers['odata-version']]).toEqual([400, expect.stringMatching(VERSION)])
  const { error } = bodyOf(answer) as { readonly error: Row } // checked below
  expect(error).toMatchObject({
    code: expect.stringMatching(/.+/),
    message: expect.stringMatching(/.+/),
    details: expect.any(Array),
  })
  const declared = await declaredFields('Property')
  for (const { target, message } of error['details'] as readonly Row[]) {
    expect(declared).toContain(String(target).split(/[.[/]/)[0])
    expect(message).toMatch(/.+/)
  }
}

/** The properties of an entity type in `$metadata`, with their types. */
async function declaredTypes(type: string): Promise<ReadonlyMap<string, Row>> {
  const schema = bodyOf(await app.send('/odata/$metadata?$format=json'))['org.reso.metadata'] as Readonly<
    Record<string, Row>
  >
  return new Map(Object.entries(schema[type] ?? {}).map(([name, field]) => [name, field as Row]))
}
const declaredFields = async (type: string) => [...(await declaredTypes(type)).keys()]

describe('RESO Add/Edit', () => {
  test('every field of the bodies is declared', async () => {
    expect(await declaredFields('Property')).toEqual(
      expect.arrayContaining([...Object.keys(DRAFT), 'ListPrice', 'ChangedByMemberKey']),
    )
  })

  test.each(['representation', 'minimal'])('create-succeeds, return=%s', async prefer => {
    await checkWritten(await create(prefer), DRAFT, prefer)
  })

  test('create-fails', async () => {
    await checkRefused(await write('POST', '/odata/Property', { ...DRAFT, ListPrice: -1 }))
  })

  test.each(['representation', 'minimal'])('update-succeeds, return=%s', async prefer => {
    const sent = { ListPrice: 110_000, City: 'Toronto', ConstructionMaterials: ['Stone', 'Brick'] }
    await checkWritten(await write('PATCH', locationOf(await create()), sent, prefer), sent, prefer)
  })

  test('update-fails', async () => {
    await checkRefused(await write('PATCH', locationOf(await create()), { StandardStatus: 'NotAStatus' }))
  })

  test('delete-succeeds', async () => {
    const url = locationOf(await create())
    const removed = await write('DELETE', url)
    expect([removed.status, removed.headers['odata-version']]).toEqual([204, expect.stringMatching(VERSION)])
    const gone = await app.send(url)
    expect([gone.status, gone.headers['odata-version']]).toEqual([404, expect.stringMatching(VERSION)])
  })

  test('delete-fails', async () => {
    const answer = await write('DELETE', "/odata/Property('no-such-key')")
    expect([answer.status, answer.headers['odata-version']]).toEqual([404, expect.stringMatching(VERSION)])
  })
})

describe('RESO EntityEvent', () => {
  const sequences = (rows: readonly Row[]) => rows.map(row => Number(row['EntityEventSequence']))
  const events = async (options: string) => rowsOf(await app.send(`/odata/EntityEvent?${options}`))
  const last = async () => sequences(await events('$orderby=EntityEventSequence desc&$top=1'))[0] ?? 0
  /** Returns the only event of a write, as the next request reads it. */
  const eventAfter = async (sequence: number, key: string) => {
    const [event, ...others] = await events(
      `$filter=EntityEventSequence gt ${sequence} and ResourceRecordKey eq '${key}'&$orderby=EntityEventSequence`,
    )
    expect(event).toMatchObject({ ResourceName: 'Property', ResourceRecordKey: key })
    expect(others).toEqual([])
    return Number(event?.['EntityEventSequence'])
  }

  test('metadata-valid', async () => {
    const types = await declaredTypes('EntityEvent')
    expect(types.get('$Key')).toEqual(['EntityEventSequence'])
    expect(types.get('EntityEventSequence')).toMatchObject({ $Type: 'Edm.Int64' })
    for (const name of ['ResourceName', 'ResourceRecordKey'])
      expect(types.get(name)?.['$Type'] ?? 'Edm.String').toBe('Edm.String')
  })

  // biome-ignore format: table
  test.each([
    ['POST',   '/odata/EntityEvent'],
    ['PATCH',  "/odata/EntityEvent('1')"],
    ['DELETE', "/odata/EntityEvent('1')"],
  ])('read-only-enforced: %s %s', async (method, url) => {
    const answer = await write(method, url, { ResourceName: 'Property', ResourceRecordKey: 'P01' })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
  })

  test('event-structure, sequence-monotonic, query-filter, query-orderby-top-skip, query-count', async () => {
    for (let i = 0; i < 3; i++) await create()
    const found = sequences(await events('$top=50&$orderby=EntityEventSequence asc'))
    expect(found.every(Number.isSafeInteger)).toBe(true)
    expect(found).toEqual([...new Set(found)].sort((a, b) => a - b))
    expect(
      (await events("$filter=ResourceName eq 'Property'")).every(row => row['ResourceName'] === 'Property'),
    ).toBe(true)
    expect(sequences(await events('$orderby=EntityEventSequence desc&$top=5'))[0]).toBe(await last())
    expect(sequences(await events('$orderby=EntityEventSequence asc&$top=2&$skip=1'))).toEqual(
      found.slice(1, 3),
    )
    const page = await app.send('/odata/EntityEvent?$count=true&$top=1')
    expect(bodyOf(page)['@odata.count']).toBeTypeOf('number')
  })

  test('create-, update- and delete-triggers-event, incremental-sync', async () => {
    const start = await last()
    const url = locationOf(await create())
    const key = keyAt(url)
    const created = await eventAfter(start, key)
    const changed = await write('PATCH', url, { ModificationTimestamp: new Date().toISOString() }, 'minimal')
    expect(changed.status).toBe(204)
    const updated = await eventAfter(created, key)
    expect((await write('DELETE', url)).status).toBe(204)
    expect((await app.send(url)).status).toBe(404)
    await eventAfter(updated, key)
    expect(sequences(await events(`$filter=EntityEventSequence gt ${start}`)).length).toBeGreaterThanOrEqual(
      3,
    )
  })

  test('data-validation: a hundred keys in one request, records as declared', async () => {
    const known = [
      ...new Set(
        (await events("$filter=ResourceName eq 'Property'&$top=1000")).map(row =>
          String(row['ResourceRecordKey']),
        ),
      ),
    ]
    const shown = rowsOf(await app.send('/odata/Property?$top=1000&$select=ListingKey')).map(row =>
      String(row['ListingKey']),
    )
    const asked = [...known, ...Array.from({ length: 100 }, (_, i) => `gone-${i}`)].slice(0, 100)
    const quote = (key = '') => encodeURIComponent(`'${key.replaceAll("'", "''")}'`)
    const rows = rowsOf(
      await app.send(`/odata/Property?$filter=ListingKey in (${asked.map(quote).join(',')})`),
    )
    expect(rows.length).toBeGreaterThan(30)
    expect(rows.map(row => String(row['ListingKey'])).sort()).toEqual(
      shown.filter(key => asked.includes(key)).sort(),
    )
    const declared = await declaredFields('Property')
    for (const name of Object.keys(rows[0] ?? {})) if (!name.includes('@')) expect(declared).toContain(name)
    const [event] = await events(`$filter=ResourceRecordKey eq ${quote(shown[0])}&$top=1`)
    expect((await app.send(String(event?.['ResourceRecordUrl']))).status).toBe(200)
  })
})
