import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf } from '../../support/assertions.js'
import { createDrafts, DRAFT } from '../../support/drafts.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
})
afterAll(() => app.close())

const create = (headers = {}, query = '') =>
  app.send(`/odata/Property${query}`, { method: 'POST', body: DRAFT, headers })
const change = (key: string | undefined, headers = {}, query = '') =>
  app.send(`/odata/Property('${key}')${query}`, {
    method: 'PATCH',
    body: { City: 'Changed', ChangedByMemberKey: 'M1' },
    headers,
  })

describe('a create', () => {
  test('is answered with the record as a read shows it, and a relative context', async () => {
    const answer = await create()
    const { '@odata.context': context, ...record } = bodyOf(answer)
    expect([answer.status, context]).toEqual([201, '$metadata#Property/$entity'])
    expect(answer.headers['location']).toBe(`${app.base}/odata/Property('${record['ListingKey']}')`)
    expect(answer.headers['odata-entityid']).toBe(answer.headers['location'])
    expect(answer.headers['etag']).toBe(record['@odata.etag'])
    expect(answer.headers['preference-applied']).toBeUndefined()
    expect(new URL(String(context), answer.headers['location']).href).toBe(
      `${app.base}/odata/$metadata#Property/$entity`,
    )
    const { '@odata.context': _, ...read } = bodyOf(await app.send(answer.headers['location'] ?? ''))
    expect(read).toEqual(record)
  })

  test('with return=representation has absolute links', async () => {
    const answer = await create({ Prefer: 'return=representation' })
    const url = answer.headers['location']
    expect(answer.headers['preference-applied']).toBe('return=representation')
    expect(bodyOf(answer)).toMatchObject({
      '@odata.context': `${app.base}/odata/$metadata#Property/$entity`,
      '@odata.id': url,
      '@odata.editLink': url,
      '@odata.etag': answer.headers['etag'],
    })
  })

  test('with return=minimal has headers only', async () => {
    const answer = await create({ Prefer: 'return=minimal' })
    const url = answer.headers['location']
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(url).toMatch(/\/odata\/Property\('Draft/)
    expect(answer.headers).toMatchObject({
      'odata-entityid': url,
      entityid: url,
      'preference-applied': 'return=minimal',
      etag: expect.stringMatching(/^W\/"\d+"$/),
    })
  })

  test('can select and expand the response', async () => {
    const answer = await create({}, '?$select=City&$expand=Media($select=MediaKey)')
    expect(bodyOf(answer)).toEqual({
      '@odata.context': '$metadata#Property(City,Media(MediaKey))/$entity',
      '@odata.etag': answer.headers['etag'],
      City: 'Testville',
      Media: [],
    })
  })

  // biome-ignore format: table
  test.each([
    ['?$filter=true',  {},                          '{}', 400],
    ['?$top=1',        {},                          '{}', 400],
    ['',               { Accept: 'text/html' },     '{}', 406],
    ['',               { 'Content-Type': 'text/plain' }, '{}', 415],
    ['',               {},                          '[]', 400],
    ['',               {},                          'null', 400],
    ['',               {},                          '{"City":', 400],
    ['',               {},                          '{}', 400],
  ])('%s %o %s is refused with %4$i, and nothing is written', async (query, headers, rawBody, status) => {
    const before = (await app.send('/odata/Property/$count')).text
    const answer = await app.send(`/odata/Property${query}`, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, rawBody })
    expect(answer.status).toBe(status)
    expect((await app.send('/odata/Property/$count')).text).toBe(before)
  })

  // biome-ignore format: table
  test.each([
    ['application/json;odata=verbose'], ['application/json;charset=UTF-8;IEEE754Compatible=true'], ['application/json ; odata.metadata=minimal '],
  ])('takes a body of type %s', async type => {
    expect((await create({ 'Content-Type': type })).status).toBe(201)
  })
})

describe('a change', () => {
  test('is answered with the record', async () => {
    const [key] = await createDrafts(app, 'Before', [{}])
    const answer = await change(key)
    expect([answer.status, bodyOf(answer)['City'], bodyOf(answer)['@odata.context']]).toEqual([
      200,
      'Changed',
      `${app.base}/odata/$metadata#Property/$entity`,
    ])
    expect(answer.headers['location']).toBe(`${app.base}/odata/Property('${key}')`)
    expect(answer.headers['etag']).toBe(bodyOf(answer)['@odata.etag'])
  })

  test('with return=minimal has headers only', async () => {
    const [key] = await createDrafts(app, 'Before', [{}])
    const answer = await change(key, { Prefer: 'return=minimal' })
    const url = `${app.base}/odata/Property('${key}')`
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(answer.headers).toMatchObject({
      location: url,
      'odata-entityid': url,
      entityid: url,
      'preference-applied': 'return=minimal',
    })
    expect((await app.send(url)).headers['etag']).toBe(answer.headers['etag'])
  })

  test('respects its preconditions', async () => {
    const [key] = await createDrafts(app, 'Before', [{}])
    const etag = (await app.send(`/odata/Property('${key}')`)).headers['etag'] ?? ''
    const status = async (headers: Record<string, string>) => (await change(key, headers)).status
    expect(await status({ 'If-Match': 'W/"0"' })).toBe(412)
    expect(await status({ 'If-None-Match': '*' })).toBe(412)
    expect(await status({ 'If-None-Match': etag })).toBe(412)
    expect(await status({ 'If-Match': 'nonsense' })).toBe(400)
    expect((await app.send(`/odata/Property('${key}')`)).headers['etag']).toBe(etag)
    expect(await status({ 'If-Match': `W/"0", ${etag}` })).toBe(200)
    expect(await status({ 'If-Match': '*' })).toBe(200)
    expect(await status({ 'If-Match': etag })).toBe(412)
  })

  test('may contain the key and control information', async () => {
    const [key] = await createDrafts(app, 'Before', [{}])
    const body = {
      '@odata.etag': 'W/"1"',
      '@odata.type': '#x',
      ListingKey: 'other',
      City: 'After',
      ChangedByMemberKey: 'M1',
    }
    expect(bodyOf(await app.send(`/odata/Property('${key}')`, { method: 'PATCH', body }))).toMatchObject({
      ListingKey: key,
      City: 'After',
    })
  })

  test('by PUT replaces all of the record', async () => {
    const [key] = await createDrafts(app, 'Before', [{ ListPrice: 5 }])
    const answer = await app.send(`/odata/Property('${key}')`, {
      method: 'PUT',
      body: { ...DRAFT, ChangedByMemberKey: 'M1' },
    })
    expect([answer.status, bodyOf(answer)['ListPrice'], bodyOf(answer)['StandardStatus']]).toEqual([
      200,
      null,
      'Incomplete',
    ])
  })
})

describe('a removal', () => {
  test.each([[undefined], ['null'], ['{"a":'], ['[]']])('ignores a body %j', async rawBody => {
    const [key] = await createDrafts(app, 'Removed', [{}])
    const remove = () =>
      app.send(`/odata/Property('${key}')`, {
        method: 'DELETE',
        headers: { 'Content-Type': 'application/json' },
        rawBody,
      })
    const answer = await remove()
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await remove()).status).toBe(404)
  })

  test('respects its preconditions', async () => {
    const [key] = await createDrafts(app, 'Removed', [{}])
    expect(
      (await app.send(`/odata/Property('${key}')`, { method: 'DELETE', headers: { 'If-Match': '"0"' } }))
        .status,
    ).toBe(412)
    expect(
      (await app.send(`/odata/Property('${key}')`, { method: 'DELETE', headers: { 'If-Match': '*' } }))
        .status,
    ).toBe(204)
  })
})

describe('write permissions', () => {
  test.each([
    ['POST', '/odata/Property'],
    ['PATCH', "/odata/Property('P01')"],
    ['PUT', "/odata/Property('P01')"],
    ['DELETE', "/odata/Property('P01')"],
  ])('%s %s needs a scope', async (method, url) => {
    const token = app.tokenFor({ scopes: ['listings:read'] })
    const answer = await app.send(url, { method, body: DRAFT, headers: { Authorization: `Bearer ${token}` } })
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([
      403,
      expect.stringContaining('insufficient_scope'),
    ])
  })
})
