import type { KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { type DigestAnswer, digestOf, inKeyOrder } from '../support/digest-client.js'
import { basic } from '../support/partners.js'
import { DEADLINE, type FeedApp, FeedReader, IDX, type Records, startFeedApp } from './market.js'

describe.each(DATABASE_KINDS)('reading through a feed, on the %s database', kind => {
  let app: FeedApp
  let idx: FeedReader
  let all: FeedReader
  let priceless: FeedReader
  let bare: FeedReader
  beforeAll(async () => {
    app = await startFeedApp(kind)
    idx = await app.addFeed(IDX)
    all = await app.addFeed({ FeedName: 'all' })
    priceless = await app.addFeed({
      FeedName: 'priceless',
      Filter: 'ListPrice ne 1',
      HiddenFields: ['ListPrice', 'PublicRemarks', 'SoldPrice', 'Latitude'],
    })
    bare = await app.addFeed({
      FeedName: 'bare',
      ShowsMedia: false,
      ShowsOpenHouses: false,
      ShowsMembers: false,
    })
  }, 120_000)
  afterAll(() => app?.close())

  test('FED-01: a row outside of the feed is absent on every channel', async () => {
    expect(await idx.keys('Property?$select=ListingKey')).toEqual(['A'])
    expect([await idx.status("Property('A')"), await idx.status("Property('B')")]).toEqual([200, 404])
    expect(await idx.keys("Property?$filter=ListingKey in ('A','B','C')")).toEqual(['A'])
    expect(await idx.count('Property/$count')).toBe(1)
    expect(await idx.records('Property?$apply=aggregate($count as n)')).toMatchObject([{ n: 1 }])
    expect(await idx.records('Property?$apply=groupby((StandardStatus))')).toMatchObject([
      { StandardStatus: 'Active' },
    ])
    expect(await idx.keys('Property?$search=cabin')).toEqual(['A'])
    expect(await idx.keys("Media?$filter=ResourceRecordKey eq 'B'")).toEqual([])
    expect([await idx.status("Media('PA')"), await idx.status("Media('PB')")]).toEqual([200, 404])
    for (const set of ['Rooms', 'OpenHouse']) expect(await idx.count(`${set}/$count`)).toBe(1)
    expect(await idx.status("Property('B')/Media")).toBe(404)
    const lines = await idx.read('Property?$select=ListingKey', { Accept: 'application/x-ndjson' })
    expect(lines.text.match(/"ListingKey":"\w"/g)).toEqual(['"ListingKey":"A"'])
    expect((await idx.read("Digest(ResourceName='Property',Buckets=1)")).text).toMatch(/"Count":1\b/)
    expect(
      await idx.graphql(
        '{ properties(first: 9) { totalCount nodes { ListingKey } } property(ListingKey: "B") { ListingKey } room(RoomKey: "RB") { RoomKey } mediaItems(first: 9) { totalCount } }',
      ),
    ).toEqual({
      properties: { totalCount: 1, nodes: [{ ListingKey: 'A' }] },
      property: null,
      room: null,
      mediaItems: { totalCount: 2 },
    })
    const client = await app.addClient({ AudienceClass: 'public', FeedName: 'idx' })
    const headers = { Authorization: basic(client) }
    expect((await app.send('/odata/Property/$count', { headers })).text).toBe('1')
  })

  test('FED-02, FED-04: the filter of a feed can use hidden fields; filters of its readers reveal nothing about them', async () => {
    expect(await priceless.count('Property/$count')).toBe(2)
    for (const filter of [
      'ListPrice gt 1', 'not (ListPrice gt 1)', 'ListPrice eq null', "City eq 'Vail' or ListPrice gt 1", 'Media/any() and ListPrice in (100,200)',
    ]) // biome-ignore format: one list
      expect([filter, await priceless.count(`Property/$count?$filter=${filter}`)]).toEqual([filter, 0])
    // The order of the keys: A has the higher price.
    expect(await priceless.keys('Property?$orderby=ListPrice')).toEqual(['A', 'B'])
    expect(await priceless.keys('Property?$orderby=ListPrice desc')).toEqual(['B', 'A'])
    for (const query of [
      '$apply=aggregate(ListPrice with max as m)', '$apply=groupby((ListPrice))', '$compute=ListPrice add 0 as x&$select=x',
    ]) // biome-ignore format: one list
      expect((await priceless.read(`Property?${query}`)).text).not.toMatch(/[23]00/)
    await app.run(`update "Property" set "Latitude" = 39.5, "Longitude" = -106.4 where "ListingKey" = 'B'`)
    expect(await all.record("Property('B')")).toMatchObject({
      Latitude: 39.5, Longitude: -106.4, GeoLocation: { type: 'Point' }, ClosePrice: 190,
    }) // biome-ignore format: one record
    const record = await priceless.record("Property('B')")
    expect(record).toMatchObject({
      City: 'Vail', ListPrice: null, SoldPrice: null, ClosePrice: null, PublicRemarks: null, GeoLocation: null, Latitude: null, Longitude: null,
    }) // biome-ignore format: one record
    expect(Object.entries(record).find(([name]) => /^ListPrice@.*Permissions$/.test(name))?.[1]).toBe('None')
    expect(await priceless.keys('Property?$search=cabin')).toEqual([])
    expect(
      await priceless.graphql(
        '{ properties(first: 9, where: "ListPrice gt 1") { totalCount } property(ListingKey: "A") { ListPrice City } }',
      ),
    ).toEqual({ properties: { totalCount: 0 }, property: { ListPrice: null, City: 'Vail' } })
  })

  test('FED-03: a feed that does not exist is refused when it is saved, removed only when unused, and shows nothing', async () => {
    await expect(app.addClient({ FeedName: 'nosuch' })).rejects.toThrow(
      "FeedName: no Feed has the key 'nosuch'",
    )
    await expect(app.feeds.remove('idx')).rejects.toThrow(/Clients use the feed 'idx': partner-/)
    const withClaim = (feed: unknown) =>
      new FeedReader(
        app,
        jwt.sign({ scope: 'listings:read', feed }, app.config.jwtSecret as KeyObject, { expiresIn: 600 }),
      )
    expect(await withClaim('idx').keys('Property')).toEqual(['A'])
    for (const claim of ['nosuch', '', null, 5, ['idx'], 'IDX'])
      expect([claim, await withClaim(claim).status('Property')]).toEqual([claim, 401])
    const fleeting = await app.addFeed({ FeedName: 'fleeting' })
    const state = () => fleeting.status('Property')
    expect(await state()).toBe(200)
    // After an upgrade, a filter may compile to other SQL than that in the database.
    await app.run(`update "admin"."Feed" set "Filter" = 'NoSuchField eq 1' where "FeedName" = 'fleeting'`)
    await expect.poll(state, DEADLINE).toBe(401)
    await app.feeds.change('fleeting', { Filter: "City eq 'Vail'" })
    await expect.poll(state, DEADLINE).toBe(200)
    const { FeedId } = await app.feeds.find('fleeting')
    const fleetingClaim = withClaim('fleeting')
    expect(await fleetingClaim.status('Property')).toBe(200)
    await app.clients.remove(fleeting.clientId)
    await app.feeds.remove('fleeting')
    await expect.poll(() => fleetingClaim.status('Property'), DEADLINE).toBe(401)
    expect(await app.run('select from "admin"."FeedListing" where "FeedId" = $1', [FeedId])).toEqual([])
    await expect(app.feeds.find('fleeting')).rejects.toThrow(/no feed/)
  })

  test('FED-14: a feed without media, open houses and members', async () => {
    for (const set of ['Media', 'OpenHouse', 'Member', 'Office'])
      expect([set, await bare.count(`${set}/$count`)]).toEqual([set, 0])
    expect([await bare.status("Media('PA')"), await bare.keys("Property('A')/Media")]).toEqual([404, []])
    expect(await bare.record("Property('A')?$expand=*")).toMatchObject({
      Media: [], OpenHouses: [], ListAgent: null, PhotosCount: null,
    }) // biome-ignore format: one record
    for (const filter of [
      'Media/any()', 'Media/$count gt 0', "ListAgent/MemberLastName eq 'Lee'", 'OpenHouses/any()',
    ]) // biome-ignore format: one list
      expect([filter, await bare.count(`Property/$count?$filter=${filter}`)]).toEqual([filter, 0])
    expect(await bare.keys('Property?$orderby=Media/$count desc,ListingKey')).toEqual(['A', 'B'])
    expect(
      await bare.graphql(
        '{ mediaItems(first: 1) { totalCount } mediaItem(MediaKey: "PA") { MediaKey } member(MemberKey: "M1") { MemberKey } property(ListingKey: "A") { Media { MediaKey } ListAgent { MemberKey } } }',
      ),
    ).toEqual({
      mediaItems: { totalCount: 0 },
      mediaItem: null,
      member: null,
      property: { Media: [], ListAgent: null },
    })
    await bare.newEvents()
    await app.run(`update "Media" set "ShortDescription" = 'x' where "MediaKey" in ('PA', 'PM1')`)
    await app.run(`update "Member" set "MemberLastName" = 'Lee' where "MemberKey" = 'M1'`)
    await app.run(`update "Rooms" set "RoomType" = 'Kitchen' where "RoomKey" = 'RA'`)
    // A change of a photo changes its listing too.
    expect(await bare.newEvents()).toEqual(['Property A', 'Rooms RA'])
  })

  test('FED-16: a feed with --only shows these fields and those that replication needs', async () => {
    const few = await app.addFeed({ FeedName: 'few', OnlyFields: ['City', 'SoldPrice'] })
    const shown = Object.entries(await few.record("Property('B')")).filter(
      ([name, value]) => !name.includes('@') && value !== null && JSON.stringify(value) !== '[]',
    )
    expect(shown.map(([name]) => name).toSorted()).toEqual([
      'City', 'LastEventSequence', 'ListingKey', 'ModificationTimestamp',
    ]) // biome-ignore format: one list
  })

  test('FED-17: the filter of a reader cannot bypass that of the feed', async () => {
    const either = await app.addFeed({
      FeedName: 'either',
      Filter: "StandardStatus eq 'Sold' or City eq 'Nowhere'",
    })
    for (const filter of [
      "City eq 'Vail' or true", 'true', "not (City eq 'Reno')", "City eq 'Vail' or City eq 'Reno'",
    ]) // biome-ignore format: one list
      expect([filter, await either.keys(`Property?$filter=${filter}`)]).toEqual([filter, ['B']])
    expect(await either.status('Property?$filter=true) or (true')).toBe(400)
    const counted = "Property?$apply=filter(true or City eq 'Vail')/aggregate($count as n)"
    expect(await either.records(counted)).toMatchObject([{ n: 1 }])
  })

  test('FED-20: page settings apply to the clients of their feed', async () => {
    const total = await app.addFeed({ FeedName: 'total', TopIsTotal: true, PageSize: 5, PageSizeMax: 5 })
    const sizes = async (reader: FeedReader, query: string) => {
      const found: number[] = []
      for (let path: string | undefined = `Lookup?${query}`; path !== undefined && found.length < 4; ) {
        const { value = [], '@odata.nextLink': next } = (await reader.read(path)).json as Records
        found.push(value.length)
        path = next
      }
      return found
    }
    expect(await sizes(total, '$top=12')).toEqual([5, 5, 2])
    expect(await sizes(total, '$top=3')).toEqual([3])
    expect(await sizes(total, '')).toEqual([5, 5, 5, 5])
    expect(await sizes(all, '$top=12')).toEqual([12, 12, 12, 12])
  })

  test('FED-21: count and digest cover what the feed shows, and rows outside of it never change them', async () => {
    const digest = async (reader: FeedReader, call = "Digest(ResourceName='Property',Buckets=1)") => {
      const { json } = await reader.read(call)
      return (json as DigestAnswer).Ranges.flatMap(({ Buckets }) =>
        Buckets.map(({ Count, Hash }) => [Count, Hash]),
      )
    }
    /** The digest that a client computes from its copy. */
    const ofCopy = async (reader: FeedReader) => {
      const records = await reader.records('Property?$select=ListingKey,LastEventSequence')
      const copy = records.map(r => [String(r['ListingKey']), Number(r['LastEventSequence'])] as const)
      expect(await reader.count('Property/$count')).toBe(copy.length)
      return [[copy.length, digestOf(copy.toSorted(([a], [b]) => inKeyOrder(a, b)))]]
    }
    const before = await digest(idx)
    expect(before).toEqual(await ofCopy(idx))
    await app.run(`update "Property" set "YearBuilt" = 1990 where "ListingKey" in ('B', 'C', 'D')`)
    expect(await digest(idx)).toEqual(before)
    // A hidden field changes the version of the record, which the reader sees.
    await app.run(`update "Property" set "Latitude" = 39 where "ListingKey" = 'A'`)
    expect(await digest(priceless)).toEqual(await ofCopy(priceless))
    await app.run(`update "Property" set "InternetEntireListingDisplayYN" = true where "ListingKey" = 'C'`)
    expect(await digest(idx)).toEqual(await ofCopy(idx))
    expect(await idx.count('Property/$count')).toBe(2)
    await app.run(`update "Property" set "InternetEntireListingDisplayYN" = false where "ListingKey" = 'C'`)
    expect(await digest(idx)).toEqual(await ofCopy(idx))
    const ranges = encodeURIComponent('[{"From":"B","To":"D"}]')
    const outside = await digest(idx, `Digest(ResourceName='Property',Ranges=@r,Buckets=1)?@r=${ranges}`)
    expect(outside.filter(([count]) => count !== 0)).toEqual([])
  })

  test('a token can read what it may write, even outside of its feed', async () => {
    const own = await app.readerOf('priceless', {
      Scopes: ['listings:read', 'listings:write'],
      MemberKey: 'M1',
      OfficeKey: 'O1',
    })
    await app.feeds.change('priceless', { Filter: "ListingKey eq 'C' or ListingKey eq 'D'" })
    await expect.poll(() => priceless.keys('Property?$select=ListingKey'), DEADLINE).toEqual([])
    expect(await own.keys('Property?$filter=ListPrice gt 1')).toEqual(['A', 'B'])
    expect(await own.record("Property('B')")).toMatchObject({
      ListPrice: 200, SoldPrice: 190, PublicRemarks: 'cabin with a view',
    }) // biome-ignore format: one record
    await own.newEvents()
    await app.run(`update "Property" set "ListPrice" = 201 where "ListingKey" in ('B', 'C')`)
    expect(await own.newEvents()).toEqual(['Property B'])
    const patch = async (key: string) => {
      const headers = { Authorization: `Bearer ${own.token}` }
      const parts = { method: 'PATCH', headers, body: { ListPrice: 202 } }
      return (await app.send(`/odata/Property('${key}')`, parts)).status
    }
    expect([await patch('B'), await patch('C')]).toEqual([200, 404])
    // A token that may write every listing sees every listing.
    const writer = await app.readerOf('priceless', { Scopes: ['listings:read', 'listings:write:any'] })
    expect(await writer.count('Property/$count')).toBe(4)
  })
})
