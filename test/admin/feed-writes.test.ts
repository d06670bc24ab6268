import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, type PartnerApp } from '../support/partners.js'
import { type AdminClient, LONG, SOON, startAdmin } from './admin-client.js'

describe.each(DATABASE_KINDS)('writes of feeds at /admin/odata on the %s database', LONG, kind => {
  let app: PartnerApp
  let admin: AdminClient
  beforeAll(async () => {
    admin = await startAdmin(kind)
    app = admin.app
  }, LONG.timeout)
  afterAll(() => app.close())

  test('CLI-05 a feed and its clients: created, narrowed, and removed when no client uses it', async () => {
    const created = await admin.write('POST', 'Feed', {
      FeedName: 'idx',
      Filter: `City eq 'Vail'`,
      HiddenFields: ['ListPrice'],
    })
    expect(created.status, created.text).toBe(201)
    const total = bodyOf(await app.send(`/odata/Property?$filter=City eq 'Vail'&$count=true&$top=0`))[
      '@odata.count'
    ]
    expect(bodyOf(created)).toMatchObject({
      FeedName: 'idx',
      OnlyFields: [],
      ShowsMedia: true,
      ListingCount: total,
      PageSize: null,
    })
    expect(bodyOf(created)['ComputedTimestamp']).not.toBeNull()
    const { id, secret } = await app.addClient({ Name: 'Reader', FeedName: 'idx' })
    const readers = async (path: string) =>
      bodyOf(await app.send(path, { headers: { Authorization: basic({ id, secret }) } }))
    expect(await readers('/odata/Property?$count=true&$top=1&$select=ListPrice')).toMatchObject({
      '@odata.count': total,
      value: [{ ListPrice: null }],
    })
    const expanded = await admin.read(`Client('${id}')?$select=Name&$expand=Feed($select=Filter)`)
    expect(bodyOf(expanded)).toMatchObject({ Feed: { Filter: `City eq 'Vail'` } })
    const changed = await admin.write('PATCH', `Feed('idx')`, { Filter: 'false' })
    expect(changed.status, changed.text).toBe(200)
    expect(bodyOf(changed)).toMatchObject({ Filter: 'false', HiddenFields: ['ListPrice'], ListingCount: 0 })
    await expect
      .poll(async () => (await readers('/odata/Property?$count=true&$top=0'))['@odata.count'], SOON)
      .toBe(0)
    const used = await admin.write('DELETE', `Feed('idx')`)
    expect(used.status).toBe(409)
    expect(used.text).toContain(id)
    await admin.write('PATCH', `Client('${id}')`, { FeedName: null })
    expect((await admin.write('DELETE', `Feed('idx')`)).status).toBe(204)
    expect((await admin.read(`Feed('idx')`)).status).toBe(404)
    const entries = rowsOf(await admin.read(`AuditEntry?$filter=ResourceName eq 'Feed'&$orderby=AuditId`))
    expect(entries.map(entry => entry['Action'])).toEqual(['feed.add', 'feed.change', 'feed.remove'])
    for (const entry of entries) expect(entry).toMatchObject({ Actor: 'subject ops-7', ResourceKey: 'idx' })
    expect(entries[1]).toMatchObject({ ChangedFields: ['Filter'], Before: `{"Filter": "City eq 'Vail'"}` })
  })

  test('FED-16 a fault has code, target and, in a filter, a position; nothing is changed', async () => {
    const created = await admin.write('POST', 'Feed', { FeedName: 'vow', Filter: 'true' })
    expect(created.status, created.text).toBe(201)
    const faultOf = (text: string) => {
      const { error } = JSON.parse(text) as {
        error: { code: string; details: { code: string; target: string; message: string }[] }
      }
      return error.details.map(({ code, target, message }) => `${code} ${target} ${message}`).join()
    }
    const refusals: readonly (readonly [body: object, fault: RegExp])[] = [
      [{ Filter: `City eq 'Vail` }, /^1103 Filter .*position 9 of the filter/],
      [{ Filter: 'Citty eq null' }, /^1103 Filter .*Did you mean 'City'/],
      [{ Filter: 'Media/any()' }, /^1103 Filter .*Media/],
      [{ Filter: null }, /^1101 Filter/],
      [{ HiddenFields: ['NoSuch'] }, /^1103 HiddenFields .*NoSuch/],
      [{ OnlyFields: ['City'], HiddenFields: ['City'] }, /^1103 OnlyFields .*not both/],
      [{ PageSize: 0 }, /^1103 PageSize .*1 to 1000/],
      [{ SoldPriceDelayDays: 'x' }, /^1103 SoldPriceDelayDays/],
      [{ ShowsMedia: null }, /^1101 ShowsMedia/],
      [{ FeedName: 'other' }, /^1106 FeedName/],
      [{ Filters: 'true' }, /^1102 Filters .*Did you mean 'Filter'/],
    ]
    for (const [body, fault] of refusals) {
      const refused = await admin.write('PATCH', `Feed('vow')`, body)
      expect(refused.status, refused.text).toBe(400)
      expect(faultOf(refused.text)).toMatch(fault)
    }
    // All faults are in one answer: of types and of rules.
    const many = {
      Filter: 'Media/any() and now() gt OnMarketTimestamp and LastEventSequence gt 1',
      HiddenFields: ['NoSuch', 'Media', 'ListingKey', 'City', 'City'],
      OnlyFields: ['Other'],
      SoldPriceDelayDays: 0,
      PageSize: 'x',
      PageSizeMax: 5000,
      Nothing: 1,
    }
    const targets = ['1103 PageSize', '1102 Nothing', '1103 HiddenFields', '1103 HiddenFields', '1103 HiddenFields', '1103 HiddenFields', '1103 OnlyFields', '1103 OnlyFields', '1103 SoldPriceDelayDays', '1103 PageSizeMax', '1103 Filter', '1103 Filter', '1103 Filter'] // biome-ignore format: one list
    for (const [method, path, body] of [
      ['PATCH', `Feed('vow')`, many],
      ['POST', 'Feed', { FeedName: 'many', ...many }],
    ] as const) {
      const refused = await admin.write(method, path, body)
      const { error } = JSON.parse(refused.text) as { error: { details: { code: string; target: string }[] } }
      expect(error.details.map(({ code, target }) => `${code} ${target}`).toSorted()).toEqual(
        targets.toSorted(),
      )
    }
    expect(faultOf((await admin.write('POST', 'Feed', { FeedName: 'a b', Filter: 'true' })).text)).toMatch(
      /^1103 FeedName/,
    )
    expect((await admin.write('POST', 'Feed', { FeedName: 'vow', Filter: 'true' })).status).toBe(409)
    expect((await admin.read(`Feed('vow')`)).headers['etag']).toBe(created.headers['etag'])
    const etag = created.headers['etag'] ?? ''
    const both = await Promise.all(
      [1, 2].map(PageSize => admin.write('PATCH', `Feed('vow')`, { PageSize }, { 'If-Match': etag })),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412])
    expect((await admin.write('DELETE', `Feed('vow')`, undefined, { 'If-Match': etag })).status).toBe(412)
    const replaced = await admin.write('PUT', `Feed('vow')`, {
      FeedName: 'vow',
      Filter: 'true',
      OnlyFields: ['City'],
    })
    expect(replaced.status, replaced.text).toBe(200)
    expect(bodyOf(replaced)).toMatchObject({ OnlyFields: ['City'], PageSize: null, ShowsMedia: true })
    const staff = { Authorization: `Bearer ${app.tokenFor()}` }
    expect((await admin.write('DELETE', `Feed('vow')`, undefined, staff)).status).toBe(403)
    expect((await app.send('/odata/Feed')).status).toBe(404)
  })
})
