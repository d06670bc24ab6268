import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RequestOptions } from '../../support/app.js'
import { bodyOf, keysOf, type Row, rowsOf } from '../../support/assertions.js'
import { readPages } from '../../support/cases.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { DRAFT } from '../../support/drafts.js'
import { startTestService, testServiceOf } from '../../support/test-service.js'

describe.each(DATABASE_KINDS)('traps of permissions on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  beforeAll(async () => {
    market = await startTestService({ kind, env: { NON_DISCLOSURE: 'true' } })
  })
  afterAll(() => market.close())

  /**
   * The service as an agent of the public class uses it: sold prices are hidden, but the agent can write its
   * own listings.
   */
  const asPublic = () => {
    const token = market.tokenFor({
      audience: 'public',
      scopes: ['listings:read', 'listings:write'],
      memberKey: 'M1',
    })
    const send = (target: string, parts: RequestOptions = {}) =>
      market.send(target, { ...parts, headers: { Authorization: `Bearer ${token}`, ...parts.headers } })
    return testServiceOf({ ...market, send })
  }
  const givenPrices = (...prices: readonly number[]) =>
    market.given(
      prices.map(SoldPrice => ({
        SoldPrice,
        StandardStatus: 'Sold',
        ListAgentKey: 'M2',
        ListOfficeKey: 'M3',
      })),
    )

  test('PER-01 a filter on a restricted field', async () => {
    const reader = asPublic()
    const answers: (readonly string[])[][] = []
    for (const prices of [[100, 900], [900, 100], [1, 2]]) {
      await givenPrices(...prices)
      const filters = ['SoldPrice gt 500', 'SoldPrice le 500', 'not (SoldPrice gt 500)', 'SoldPrice ne null', "SoldPrice gt 500 or City eq 'Austin'"]
      answers.push(await Promise.all(filters.map(filter => reader.keys(`$filter=${filter}`))))
    }
    // The result does not depend on hidden values, and neither does that of the negated condition.
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
    expect(answers[0]).toEqual([[], [], [], [], []])
    expect(await market.keys('$filter=SoldPrice gt 1')).toEqual(['L002'])
  }) // biome-ignore format: one table

  test('PER-03 sorting by a restricted field', async () => {
    const reader = asPublic()
    for (const prices of [[100, 900], [900, 100]]) {
      await givenPrices(...prices)
      const first = async (order: string) => keysOf(rowsOf(await reader.list(`$orderby=${order}&$top=1`)))
      expect([await reader.keys('$orderby=SoldPrice'), await first('SoldPrice')]).toEqual([['L001', 'L002'], ['L001']])
      expect(await first('SoldPrice desc')).toEqual(['L002'])
      // A link does not reveal the value at which it continues.
      const pages = await readPages(reader as typeof market, '/odata/Property?$orderby=SoldPrice desc&$top=1')
      expect(keysOf(pages.flatMap(rowsOf))).toEqual(['L002', 'L001'])
    }
  }) // biome-ignore format: one table

  test('PER-05 restricted fields are never in the payload', async () => {
    const reader = asPublic()
    await market.given([{ SoldPrice: 100, StandardStatus: 'Sold' }])
    const hidden = (row: Row | undefined) =>
      expect([row?.['SoldPrice'], row?.['SoldPrice@Core.Permissions']]).toEqual([null, 'None'])
    for (const query of ['$top=1', '$select=*', '$select=SoldPrice'])
      hidden(rowsOf(await reader.list(query))[0])
    hidden(await reader.read('L001'))
    const changed = await reader.send("/odata/Property('L001')", {
      method: 'PATCH',
      headers: { Prefer: 'return=representation' },
      body: { SoldPrice: 200 },
    })
    expect(changed.status, changed.text).toBe(200)
    hidden(bodyOf(changed))
    hidden(bodyOf(await reader.post({ ...DRAFT, SoldPrice: 5 })))
    for (const path of ['SoldPrice', 'SoldPrice/$value'])
      expect((await reader.send(`/odata/Property('L001')/${path}`)).text).not.toContain('200')
    expect((await market.read('L001'))['SoldPrice']).toBe(200)
  })

  test('PER-06 ChangedByMemberKey is write-only', async () => {
    await market.given([{}])
    await market.refused(
      '$select=ChangedByMemberKey',
      "$filter=ChangedByMemberKey eq 'M1'",
      '$orderby=ChangedByMemberKey',
    )
    await market.refused(
      '$apply=groupby((ChangedByMemberKey))',
      '$compute=ChangedByMemberKey as X',
      "$expand=Media($filter=Listing/ChangedByMemberKey eq 'M1')",
    )
    for (const answer of [
      await market.patch('L001', { City: 'Waco' }),
      await market.send("/odata/Property('L001')"),
      await market.post(DRAFT),
      await market.list(''),
    ])
      expect(answer.text).not.toContain('ChangedByMemberKey')
    expect((await market.send("/odata/Property('L001')/ChangedByMemberKey")).status).toBe(400)
  })

  test('PER-08 counts do not disclose hidden values', async () => {
    const reader = asPublic()
    await givenPrices(100, 900)
    for (const price of [0, 500, 1000]) {
      const filter = `SoldPrice gt ${price}`
      expect(bodyOf(await reader.list(`$filter=${filter}&$count=true&$top=0`))['@odata.count']).toBe(0)
      expect((await reader.send(`/odata/Property/$count?$filter=${filter}`)).text).toBe('0')
    }
  })
})
