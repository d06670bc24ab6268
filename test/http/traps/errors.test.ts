import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, nextLinkOf, type Row, rowsOf } from '../../support/assertions.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { errorSummaryOf } from '../../support/error-summary.js'
import { startTestService, type TestService } from '../../support/test-service.js'

// The format of every refusal (ERR-08) and the absence of internal details (ERR-02) are checked in all files
// of traps, by support/test-service.ts.

describe.each(DATABASE_KINDS)('traps of errors on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, list, send, patch, refused }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, list, send, patch, refused } = market)
  })
  afterAll(() => market.close())

  test('ERR-01 a bad value of the status', async () => {
    await given([{}])
    for (const status of ['Banana', 'active', '', 5]) {
      const answer = await patch('L001', { StandardStatus: status })
      expect([status, errorSummaryOf(answer)]).toEqual([status, expect.objectContaining({ status: 400, code: '1111', details: ['1105 StandardStatus'] })])
      const { message } = (bodyOf(answer)['error'] as { readonly details: readonly Row[] }).details[0] ?? {} // as just seen
      for (const part of ['StandardStatus', String(status)]) expect(message).toContain(part)
    }
    expect((await market.read('L001'))['StandardStatus']).toBe('Active')
  }) // biome-ignore format: one table

  test('ERR-04 bad numbers in $top and $skip', async () => {
    await given([{}, {}])
    for (const query of [
      '$top=',
      '$top=-1',
      '$top=abc',
      '$top=1.5',
      '$top=1e3',
      '$top=0x10',
      '$skip=-1',
      '$skip=',
      '$skip=NaN',
    ]) {
      const answer = await list(query)
      expect([query, answer.status, errorSummaryOf(answer).target]).toEqual([query, 400, query.split('=')[0]])
    }
    const huge = await list('$top=99999999999999999999')
    expect([huge.status, rowsOf(huge).length, nextLinkOf(huge)]).toEqual([200, 2, undefined])
  })

  test('ERR-05 unknown names', async () => {
    for (const query of [
      '$select=Citty',
      "$filter=Citty eq 'A'",
      '$expand=Medias',
      '$select=city',
      '$select=Media/Nope',
    ]) {
      const answer = await list(query)
      expect([query, answer.status]).toEqual([query, 400])
      expect(answer.text).toContain(/Citty|Medias|city|Nope/.exec(query)?.[0])
    }
    await refused('$select=')
  })

  test('ERR-07 not found in JSON', async () => {
    for (const path of [
      '/odata/Nope',
      "/odata/Property('nope')",
      "/odata/Property('nope')/Media",
      '/odata/Property/Nope',
      '/nope',
    ])
      expect([path, (await send(path)).status]).toEqual([path, 404])
  })

  test('ERR-08 the form of each error body', async () => {
    await given([{}])
    const json = { 'Content-Type': 'application/json' }
    const asked: readonly (readonly [number, string, Parameters<TestService['send']>[1]])[] = [
      [400, '/odata/Property?$filter=City eq', {}],
      [400, '/odata/Property', { method: 'POST', headers: json, rawBody: '{' }],
      [400, '/odata/Property', { method: 'POST', body: {} }],
      [401, '/odata/Property', { headers: { Authorization: null } }],
      [401, '/odata/Property', { headers: { Authorization: 'Bearer x' } }],
      [403, '/odata/Property', { method: 'POST', body: {}, headers: { Authorization: `Bearer ${market.tokenFor({ scopes: ['listings:read'] })}` } }],
      [404, "/odata/Property('nope')", {}],
      [405, '/odata/Property', { method: 'DELETE' }],
      [406, '/odata/Property', { headers: { Accept: 'image/png' } }],
      [412, "/odata/Property('L001')", { method: 'DELETE', headers: { 'If-Match': 'W/"0"' } }],
      [413, '/odata/Property', { method: 'POST', headers: json, rawBody: `"${'x'.repeat(1_100_000)}"` }],
      [414, `/odata/Property?$filter=City eq '${'x'.repeat(20_000)}'`, {}],
      [415, '/odata/Property', { method: 'POST', headers: { 'Content-Type': 'text/plain' }, rawBody: '{}' }],
    ] // biome-ignore format: table `send` checks the body and the headers of each.
    for (const [status, target, parts] of asked)
      expect([target.slice(0, 60), (await send(target, parts)).status]).toEqual([target.slice(0, 60), status])
    const head = await send("/odata/Property('nope')", { method: 'HEAD' })
    expect([head.status, head.text, head.headers['content-language']]).toEqual([404, '', 'en'])
  })

  test('ERR-02 an internal error shows only its id', async () => {
    const rename = (from: string, to: string) => market.database.withClient(client => client.query(`alter table "${from}" rename to "${to}"`))
    await rename('Property', 'Moved')
    for (const [target, parts] of [['/odata/Property', {}], ["/odata/Property('x')", { method: 'PATCH', body: { City: 'X', ChangedByMemberKey: 'M1' } }]] as const) {
      const answer = await send(target, parts)
      expect(answer.status).toBe(500)
      expect(bodyOf(answer)).toEqual({
        error: { code: '5000', message: `An internal error occurred. Report its id to the operator of the service: ${answer.headers['x-request-id']}.`, details: [] },
      })
    }
    await rename('Moved', 'Property')
    expect((await list('$top=1')).status).toBe(200)
  }) // biome-ignore format: one table
})
