import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { keysOf, nextLinkOf, type Row, rowsOf } from '../../support/assertions.js'
import { readPages } from '../../support/cases.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
})
afterAll(() => app.close())

/** The pages of a query. */
const walk = async (url: string) => (await readPages(app, url)).map(rowsOf)
const keys = async (url: string) => keysOf((await walk(url)).flat())
const values = (rows: readonly Row[], name: string) => rows.map(row => row[name])

describe('pages by next links', () => {
  test('a client can build the link from the options and the token', async () => {
    const all = await keys('/odata/Property?$orderby=ListPrice desc')
    const token = new URL(
      nextLinkOf(await app.send('/odata/Property?$orderby=ListPrice desc&$top=2')) ?? '',
    ).searchParams.get('$skiptoken')
    expect(await keys(`/odata/Property?$skiptoken=${token}&$top=2&$orderby=ListPrice desc`)).toEqual(
      all.slice(2),
    )
  })

  test('a preferred page size applies below the limit and without $top', async () => {
    const page = await app.send('/odata/Property', { headers: { Prefer: 'odata.maxpagesize=7' } })
    expect([rowsOf(page).length, page.headers['preference-applied']]).toEqual([7, 'odata.maxpagesize=7'])
    const sized = await app.send('/odata/Property?$top=3', { headers: { Prefer: 'maxpagesize=7' } })
    expect([rowsOf(sized).length, sized.headers['preference-applied']]).toEqual([3, undefined])
  })

  test('related records have pages of their own', async () => {
    const pages = await walk("/odata/Property('P01')/Rooms?$top=2&$orderby=RoomKey")
    expect(pages.map(page => values(page, 'RoomKey'))).toEqual([['R011', 'R012'], ['R013']])
    expect((await readPages(app, '/odata/Property/$ref?$top=15')).map(page => rowsOf(page).length)[0]).toBe(
      15,
    )
  })
})
