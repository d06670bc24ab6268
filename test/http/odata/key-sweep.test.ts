import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_KEY_PAGE } from '../../../src/query/limits.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { DATABASE_KINDS } from '../../support/database.js'

const PAGE_SIZE_MAX = 5

describe.each(DATABASE_KINDS)('pages of keys on the %s database', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({
      kind,
      fixture: 'fixture.json',
      env: { PAGE_SIZE: '3', PAGE_SIZE_MAX: String(PAGE_SIZE_MAX), EXPAND_PAGE_MAX: '4' },
    })
  })
  afterAll(() => app?.close())

  test.each([
    ['Property?$select=ListingKey', 'maxpagesize=20', 20, 'maxpagesize=20'],
    ['Property?$select=ListingKey,LastEventSequence', 'maxpagesize=20', 20, 'maxpagesize=20'],
    ['Property?$select=ListingKey&$orderby=ListPrice', 'maxpagesize=20', 20, 'maxpagesize=20'],
    ['Property?$select=ListingKey,City', 'maxpagesize=20', 5, 'maxpagesize=5'],
    ['Property', 'odata.maxpagesize=20', 5, 'odata.maxpagesize=5'],
    ['Property?$select=ListingKey&$expand=Media', 'maxpagesize=20', 4, 'maxpagesize=4'],
    ['Property?$select=ListingKey', 'maxpagesize=2', 2, 'maxpagesize=2'],
    ['Property?$select=ListingKey&$top=20', 'maxpagesize=20', 5, undefined],
    ['Property?$select=ListingKey', 'maxpagesize=0', 3, undefined],
    ['Property?$select=ListingKey', 'maxpagesize=-1', 3, undefined],
    ['Property?$select=ListingKey', 'maxpagesize=abc', 3, undefined],
    ['Property?$select=ListingKey', 'maxpagesize=99999999999', 3, undefined],
    ['Property?$select=ListingKey&$top=2', 'maxpagesize=1', 2, undefined],
    ['Property?$select=ListingKey', 'maxpagesize=10000.5', 3, undefined],
    ['Media?$select=MediaKey,ResourceRecordKey', 'maxpagesize=20', 5, 'maxpagesize=5'],
  ])('EXP-37 %s with %s has %i records', async (target, prefer, size, applied) => {
    const { status, json, headers } = await app.send(`/odata/${target}`, { headers: { Prefer: prefer } })
    const page = json as { readonly value: readonly object[]; readonly '@odata.nextLink'?: string }
    expect([status, page.value.length, headers['preference-applied']]).toEqual([200, size, applied])
  })

  test('EXP-37 a page has at most 10,000 keys', async () => {
    const { headers } = await app.send('/odata/Property?$select=ListingKey', {
      headers: { Prefer: 'maxpagesize=99999' },
    })
    expect(headers['preference-applied']).toBe(`maxpagesize=${MAX_KEY_PAGE}`)
  })
})
