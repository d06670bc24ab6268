import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { showDueSoldPrices } from '../../src/service/feeds/sold-price-job.js'
import { startSubscription } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DEADLINE, type FeedApp, type FeedReader, IDX, startFeedApp } from './market.js'

const KEYS = 'Property?$select=ListingKey'

describe.each(DATABASE_KINDS)('changes of feeds and their listings, on the %s database', kind => {
  let app: FeedApp
  let idx: FeedReader
  let all: FeedReader
  beforeAll(async () => {
    app = await startFeedApp(kind)
    idx = await app.addFeed(IDX)
    all = await app.addFeed({ FeedName: 'all' })
  }, 120_000)
  afterAll(() => app?.close())

  test("FED-09: copies of a feed's readers follow a narrower or wider filter; other copies do not change", async () => {
    const reader = await app.addFeed(
      { FeedName: 'f1', Filter: "City eq 'Vail'" },
      { AudienceClass: 'member' },
    )
    await Promise.all([reader.newEvents(), all.newEvents()])
    const [link, mediaLink, otherLink] = [
      await reader.track('Property'), await reader.track('Media'), await all.track('Property'),
    ] // biome-ignore format: one list
    const etag = async () => (await all.read("Property('A')")).headers['etag']
    const before = await etag()
    await app.feeds.change('f1', { Filter: "City eq 'Reno' or StandardStatus eq 'Sold'" })
    await expect.poll(() => reader.keys(KEYS), DEADLINE).toEqual(['B', 'C'])
    expect(await reader.newEvents()).toEqual([
      'Media PA', 'Rooms RA', 'OpenHouse HA', 'Property A', 'Property C', 'Media PC', 'Rooms RC', 'OpenHouse HC',
    ]) // biome-ignore format: one list
    const { changes, next } = await reader.follow(link)
    expect(changes).toEqual(['A removed', 'C'])
    expect((await reader.follow(mediaLink)).changes).toEqual(['PA removed', 'PC'])
    expect(await all.newEvents()).toEqual([])
    expect((await all.follow(otherLink)).changes).toEqual([])
    expect(await etag()).toBe(before)
    // Events do not show which fields are hidden now.
    await app.feeds.change('f1', { HiddenFields: ['City'] })
    await expect.poll(() => reader.status(next), DEADLINE).toBe(410)
    const eventsAfter = (position: unknown) => `EntityEvent?$filter=EntityEventSequence gt ${position}`
    expect(await reader.status(eventsAfter(reader.position))).toBe(410)
    expect([await all.status(eventsAfter(all.position)), await reader.status(eventsAfter(0))]).toEqual([
      200, 200,
    ])
    const [last] = await reader.records('EntityEvent?$orderby=EntityEventSequence desc&$top=1')
    expect(await reader.status(eventsAfter(last?.['EntityEventSequence']))).toBe(200)
  })

  test('FED-10: a sold price shows when it is due, and the copies receive it', async () => {
    const reader = await app.addFeed({ FeedName: 'delayed', SoldPriceDelayDays: 30 })
    const price = () => reader.record("Property('B')?$select=SoldPrice,ClosePrice")
    expect(await price()).toMatchObject({ SoldPrice: 190, ClosePrice: 190 })
    await app.run(
      `update "Property" set "CloseDate" = (clock_timestamp() at time zone 'UTC')::date - 29 where "ListingKey" = 'B'`,
    )
    expect(await price()).toMatchObject({ SoldPrice: null, ClosePrice: null })
    expect(await reader.count('Property/$count?$filter=SoldPrice gt 1')).toBe(0)
    await showDueSoldPrices(app.database)
    expect(await price()).toMatchObject({ SoldPrice: null })
    await reader.newEvents()
    const link = await reader.track('Property?$select=ListingKey,SoldPrice')
    // A day passes: the listing was sold a day earlier, and no client writes it.
    await app.run('alter table "Property" disable trigger user')
    await app.run(`update "Property" set "CloseDate" = "CloseDate" - 1 where "ListingKey" = 'B'`)
    await app.run('alter table "Property" enable trigger user')
    expect(await price()).toMatchObject({ SoldPrice: null })
    await showDueSoldPrices(app.database)
    expect(await price()).toMatchObject({ SoldPrice: 190, ClosePrice: 190 })
    expect(await reader.newEvents()).toEqual(['Property B'])
    expect((await reader.follow(link)).changes).toEqual(['B'])
    await showDueSoldPrices(app.database)
    expect(await reader.newEvents()).toEqual([])
  })

  test('FED-11: an edit that moves a listing out of the feed or into it', async () => {
    await idx.newEvents()
    const link = await idx.track('Property')
    const query = 'subscription { propertyChanged { ListingKey property { ListingKey SoldPrice } } }'
    const subscription = startSubscription(app, query, { token: idx.token })
    try {
      await new Promise(resolve => setTimeout(resolve, 500))
      await app.run(
        `update "Property" set "StandardStatus" = 'Sold', "SoldPrice" = 1 where "ListingKey" = 'A'`,
      )
      await app.run(`update "Property" set "ListPrice" = 5 where "ListingKey" = 'C'`)
      expect(await idx.newEvents()).toEqual(['Media PA', 'Rooms RA', 'OpenHouse HA', 'Property A'])
      expect(await subscription.nextChange()).toMatchObject({ ListingKey: 'A', property: null })
      const left = await idx.follow(link)
      expect(left.changes).toEqual(['A removed'])
      await app.run(
        `update "Property" set "StandardStatus" = 'Active', "SoldPrice" = null where "ListingKey" in ('A', 'D')`,
      )
      const arrivals = (await idx.newEvents()).filter(event => event.endsWith('D'))
      expect(arrivals).toEqual(['Property D', 'Media PD', 'Rooms RD', 'OpenHouse HD'])
      expect((await idx.follow(left.next)).changes.toSorted()).toEqual(['A', 'D'])
      expect(await idx.keys(KEYS)).toEqual(['A', 'D'])
    } finally {
      subscription.dispose()
      await app.run(`update "Property" set "StandardStatus" = 'Incomplete' where "ListingKey" = 'D'`)
    }
  })

  test('FED-16, FED-17, FED-20: invalid values of a feed are refused when it is saved', async () => {
    const faults: readonly (readonly [object, RegExp])[] = [
      [{ Filter: '' }, /empty/], [{ Filter: "City eq 'Vail" }, /position 9 of the filter/], [{ Filter: 'Citty eq null' }, /Did you mean 'City'/],
      [{ Filter: "ListPrice eq 'x'" }, /accept|number|type/i], [{ Filter: 'City' }, /Boolean/], [{ Filter: `${'('.repeat(200)}true${')'.repeat(200)}` }, /100|nested/],
      [{ Filter: 'ListAgent/MemberLastName eq null' }, /another record/], [{ Filter: 'Media/any()' }, /records of Media/], [{ Filter: 'OnMarketTimestamp lt now()' }, /now\(\)/],
      [{ Filter: '@p' }, /alias/], [{ Filter: 'City eq @p' }, /alias/], [{ Filter: 'ModificationTimestamp gt 2020-01-01T00:00:00Z' }, /every write/],
      [{ Filter: 'true) or (true' }, /position 5 of the filter/], [{ HiddenFields: ['NoSuch'] }, /no field 'NoSuch'/], [{ HiddenFields: ['Media'] }, /related records/],
      [{ HiddenFields: ['listprice'] }, /Did you mean 'ListPrice'/], [{ HiddenFields: ['ListingKey'] }, /cannot be hidden/], [{ HiddenFields: ['LastEventSequence'] }, /cannot be hidden/],
      [{ HiddenFields: ['City', 'City'] }, /more than once/], [{ HiddenFields: ['City'], OnlyFields: ['City'] }, /not both/], [{ PageSize: 0 }, /1 to 1000/], [{ PageSize: -1 }, /1 to 1000/],
      [{ PageSizeMax: 1001 }, /1 to 1000/], [{ PageSize: 9, PageSizeMax: 8 }, /larger/], [{ FeedName: 'a b' }, /name/], [{ FeedName: 'idx' }, /already/],
    ] // biome-ignore format: a fault in each entry
    for (const [values, message] of faults)
      await expect(
        app.feeds.add({ FeedName: 'wrong', Filter: 'true', ...values }),
        JSON.stringify(values),
      ).rejects.toThrow(message)
    // Texts with quotes and backslashes are values, whatever they hold.
    for (const text of ["x''); drop table x; --", "\\'' or true or ''", '$feeds$ || %L', "''"])
      await app.feeds.change('all', { Filter: `City ne '${text}'` })
    await app.feeds.change('all', { Filter: 'true' })
    await expect.poll(() => all.keys(KEYS), DEADLINE).toEqual(['A', 'B'])
  })

  test('CLI-05: a change of the feed, or to another feed, affects tokens and open sockets within 5 s', async () => {
    const reader = await app.readerOf('all')
    const total = () => reader.count('Property/$count')
    expect(await total()).toBe(2)
    const query = 'subscription { propertyChanged { ListingKey } }'
    const subscription = startSubscription(app, query, { token: reader.token })
    const ended = subscription.next().then(
      () => undefined,
      (error: unknown) => error,
    )
    await new Promise(resolve => setTimeout(resolve, 500))
    await app.clients.change(reader.clientId, { FeedName: 'idx' })
    await expect.poll(total, DEADLINE).toBe(1)
    expect(await ended).toMatchObject({ code: 4403 })
    await app.feeds.change('idx', { Filter: "City eq 'Nowhere'" })
    await expect.poll(total, DEADLINE).toBe(0)
    await app.feeds.change('idx', { Filter: IDX.Filter })
    await expect.poll(total, DEADLINE).toBe(1)
    subscription.dispose()
  })

  test('a listing on which a filter fails is not in the feed, and no write fails', async () => {
    const reader = await app.addFeed({ FeedName: 'fragile', Filter: 'ListPrice div BedroomsTotal gt 1' })
    await app.run(`update "Property" set "BedroomsTotal" = 0 where "ListingKey" = 'A'`)
    await app.run(`update "Property" set "BedroomsTotal" = 2 where "ListingKey" = 'B'`)
    expect(await reader.keys(KEYS)).toEqual(['B'])
    expect(await all.keys(KEYS)).toEqual(['A', 'B'])
  })

  test('deleting a listing writes an event for the readers of its feeds, and leaves no row', async () => {
    await app.run(
      `insert into "Property" ("ListingKey", "StandardStatus", "City") values ('Z', 'Active', 'Vail')`,
    )
    await idx.newEvents()
    const link = await idx.track('Property')
    await app.run(`delete from "Property" where "ListingKey" = 'Z'`)
    expect(await idx.newEvents()).toEqual(['Property Z'])
    expect((await idx.follow(link)).changes).toEqual(['Z removed'])
    expect(await app.run(`select from "admin"."FeedListing" where "ListingKey" = 'Z'`)).toEqual([])
  })
})
