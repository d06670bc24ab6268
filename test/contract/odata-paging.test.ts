import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'
import { readPages } from '../support/cases.js'
import { createDrafts } from '../support/drafts.js'
import { bodyOf, keysOf, linkOf, type Row, rowsOf } from '../support/expectation.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
})
afterAll(() => app.close())

/** All records of a query, page by page. */
const walk = async (url: string) => (await readPages(app, url)).map(rowsOf)
const keys = async (url: string) => keysOf((await walk(url)).flat())
const values = (rows: readonly Row[], name: string) => rows.map(row => row[name])
const filter = (city: string) => `$filter=City eq '${city}'`

describe('a walk by next links', () => {
  test('PAG-01: ties at a page boundary', async () => {
    await createDrafts(
      app,
      'Ties',
      Array.from({ length: 7 }, () => ({ ListPrice: 5 })),
    )
    const pages = await walk(`/odata/Property?${filter('Ties')}&$orderby=ListPrice&$top=3`)
    expect(pages.map(page => page.length)).toEqual([3, 3, 1])
    expect(new Set(keysOf(pages.flat())).size).toBe(7)
  })

  test('PAG-02, ORD-01: nulls come first ascending, last descending, and none is lost', async () => {
    await createDrafts(
      app,
      'Nulls',
      [null, 2, null, 30, null, 35, 5, 50, 25].map(ListPrice => ({ ListPrice })),
    )
    const up = (await walk(`/odata/Property?${filter('Nulls')}&$orderby=ListPrice&$top=2`)).flat()
    const down = (await walk(`/odata/Property?${filter('Nulls')}&$orderby=ListPrice desc&$top=2`)).flat()
    expect(values(up, 'ListPrice')).toEqual([null, null, null, 2, 5, 25, 30, 35, 50])
    expect(values(down, 'ListPrice')).toEqual([50, 35, 30, 25, 5, 2, null, null, null])
    expect(new Set(keysOf(up)).size + new Set(keysOf(down)).size).toBe(18)
  })

  test('an order by a value that its integer type does not hold', async () => {
    await createDrafts(
      app,
      'Large',
      [2019, null, 2021].map(YearBuilt => ({ YearBuilt })),
    )
    const pages = await walk(`/odata/Property?${filter('Large')}&$orderby=YearBuilt mul 10000000&$top=1`)
    expect(values(pages.flat(), 'YearBuilt')).toEqual([null, 2019, 2021])
  })

  test('an order by how many there are, in both directions', async () => {
    const all = await keys('/odata/Property')
    for (const direction of ['asc', 'desc']) {
      expect((await keys(`/odata/Property?$orderby=Media/$count ${direction}&$top=3`)).toSorted()).toEqual(all.toSorted())
      expect((await keys(`/odata/Property?$orderby=Media/$count ${direction},ListPrice desc&$top=3`)).toSorted()).toEqual(all.toSorted())
    }
  })

  test('PAG-06: $skip counts once', async () => {
    const all = await keys('/odata/Property?$orderby=ListingKey')
    expect(await keys('/odata/Property?$orderby=ListingKey&$skip=10&$top=5')).toEqual(all.slice(10))
  })

  test('PAG-08, PAG-09: no link where nothing remains', async () => {
    await createDrafts(
      app,
      'Six',
      Array.from({ length: 6 }, () => ({})),
    )
    expect((await walk(`/odata/Property?${filter('Six')}&$top=3`)).map(page => page.length)).toEqual([3, 3])
    expect(linkOf(await app.send("/odata/Property?$filter=ListingKey eq 'P01'"))).toBeUndefined()
  })

  test('PAG-11: neither order nor key need be selected', async () => {
    await createDrafts(
      app,
      'Unselected',
      [1, 2, 3, 4, 5].map(ListPrice => ({ ListPrice })),
    )
    const pages = await walk(`/odata/Property?${filter('Unselected')}&$select=City&$orderby=ListPrice desc&$top=2`)
    expect(pages.map(page => page.length)).toEqual([2, 2, 1])
    for (const row of pages.flat()) expect(Object.keys(row)).toEqual(['@odata.etag', 'City'])
  })

  test('PAG-12: the last record of a page may go away', async () => {
    const drafts = await createDrafts(
      app,
      'Gone',
      Array.from({ length: 6 }, () => ({})),
    )
    const page = await app.send(`/odata/Property?${filter('Gone')}&$orderby=ListingKey&$top=2`)
    expect((await app.send(`/odata/Property('${drafts[1]}')`, { method: 'DELETE' })).status).toBe(204)
    expect(await keys(linkOf(page) ?? '')).toEqual(drafts.slice(2))
  })

  test('PAG-18: text goes by code point, both ways alike', async () => {
    await createDrafts(
      app,
      'Text',
      ['ab', 'a_z', 'B', 'a', 'Zebra', 'zebra'].map(StreetName => ({ StreetName })),
    )
    const up = values((await walk(`/odata/Property?${filter('Text')}&$orderby=StreetName&$top=1`)).flat(), 'StreetName')
    const down = values((await walk(`/odata/Property?${filter('Text')}&$orderby=StreetName desc&$top=1`)).flat(), 'StreetName')
    expect(up).toEqual(['B', 'Zebra', 'a', 'a_z', 'ab', 'zebra'])
    expect(down).toEqual([...up].reverse())
  })

  test('the link can be put together by the client: the options as they were, and the token', async () => {
    const all = await keys('/odata/Property?$orderby=ListPrice desc')
    const token = new URL(linkOf(await app.send('/odata/Property?$orderby=ListPrice desc&$top=2')) ?? '').searchParams.get('$skiptoken')
    expect(await keys(`/odata/Property?$skiptoken=${token}&$top=2&$orderby=ListPrice desc`)).toEqual(all.slice(2))
  })

  test('a preferred page size holds below the limit, and not beside $top', async () => {
    const page = await app.send('/odata/Property', { headers: { Prefer: 'odata.maxpagesize=7' } })
    expect([rowsOf(page).length, page.headers['preference-applied']]).toEqual([7, 'odata.maxpagesize=7'])
    const sized = await app.send('/odata/Property?$top=3', { headers: { Prefer: 'maxpagesize=7' } })
    expect([rowsOf(sized).length, sized.headers['preference-applied']]).toEqual([3, undefined])
  })

  test('related records have pages of their own', async () => {
    const pages = await walk("/odata/Property('P01')/Rooms?$top=2&$orderby=RoomKey")
    expect(pages.map(page => values(page, 'RoomKey'))).toEqual([['R011', 'R012'], ['R013']])
    expect((await readPages(app, '/odata/Property/$ref?$top=15')).map(page => rowsOf(page).length)[0]).toBe(15)
  })
})

describe('a page token', () => {
  test.each(['garbage', '', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'])('PAG-14: %j is refused', async token => {
    expect((await app.send(`/odata/Property?$top=2&$skiptoken=${token}`)).status).toBe(400)
  })

  test('PAG-14: one changed character, or another query, is refused', async () => {
    const token = new URL(linkOf(await app.send('/odata/Property?$top=2')) ?? '').searchParams.get('$skiptoken') ?? ''
    const changed = (token.startsWith('A') ? 'B' : 'A') + token.slice(1)
    for (const query of [`$top=2&$skiptoken=${changed}`, `$top=2&$orderby=City&$skiptoken=${token}`, `$top=2&$filter=TaxYear gt 1&$skiptoken=${token}`]) {
      expect((await app.send(`/odata/Property?${query}`)).status).toBe(400)
    }
  })
})

describe('counts and sizes', () => {
  test('PAG-16, CNT-01: the count is that of the filter, whatever the page', async () => {
    await createDrafts(
      app,
      'Count',
      Array.from({ length: 5 }, () => ({})),
    )
    const none = await app.send(`/odata/Property?${filter('Count')}&$top=0&$count=true`)
    expect([rowsOf(none).length, bodyOf(none)['@odata.count'], linkOf(none)]).toEqual([0, 5, undefined])
    const some = await app.send(`/odata/Property?${filter('Count')}&$count=true&$top=2&$skip=1`)
    expect([rowsOf(some).length, bodyOf(some)['@odata.count']]).toEqual([2, 5])
  })

  // biome-ignore format: table
  test.each([
    ['$skip=100000&$top=1', 200], ['$skip=100001&$top=1', 400],
    ['$count=True', 200], ['$count=TRUE', 200], ['$count=false', 200], ['$count=maybe', 400], ['$count=1', 400], ['$count=', 400],
    ['$top=', 400], ['$top=-1', 400], ['$top=abc', 400], ['$top=1.5', 400], ['$top=1e3', 400], ['$top=99999999999999999999', 200], ['$top=0x10', 400],
    ['$skip=-1', 400], ['$skip=', 400], ['$skip=NaN', 400],
    ['$orderby=ListPrice asc', 200], ['$orderby=ListPrice DESC', 200], ['$orderby=City,  ListPrice   desc', 200],
    ['$orderby=Bogus', 400], ['$orderby=ConstructionMaterials', 400], ['$orderby=GeoLocation', 400], ['$orderby=Media', 400], ['$orderby=ListPrice sideways', 400],
    ['$orderby=ListPrice desc;select pg_sleep(5)', 400], ['$orderby=(select 1)', 400],
  ])('PAG-17, CNT-03, ERR-04, ORD-03 to 05: %s is %i', async (query, status) => {
    const answer = await app.send(`/odata/Property?${query}`)
    expect(answer.status, answer.text).toBe(status)
    if (status === 400) expect(answer.text).toContain(/^\$\w+/.exec(query)?.[0])
  })
})
