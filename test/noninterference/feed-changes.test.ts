import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FeedApp, startFeedApp } from '../feeds/market.js'
import { DATABASE_KINDS } from '../support/database.js'
import type { Choose } from './channels.js'
import { FeedChanges } from './feed-changes.js'
import { createRandom } from './random.js'

const TRIES = 60

describe.each(DATABASE_KINDS)('hidden changes on the %s database', kind => {
  let app: FeedApp
  beforeAll(async () => {
    app = await startFeedApp(kind)
  }, 120_000)
  afterAll(() => app?.close())

  test('a change outside of a feed does not change a listing of the feed that an earlier change created', async () => {
    const feed = { FeedName: 'boise', Filter: "City eq 'Boise'" }
    const { FeedId } = await app.feeds.add(feed)
    // The copy of listing A is in the feed. A itself and all others are not.
    await app.run(`insert into "Property" ("ListingKey", "StandardStatus", "City") values ('XA', 'Active', 'Boise')`) // biome-ignore format: one statement
    const read = () => app.run(`select to_jsonb(p) as listing, array(select "RoomKey" from "Rooms" r where r."ListingKey" = p."ListingKey") as rooms from "Property" p where "ListingKey" = 'XA'`) // biome-ignore format: one statement
    const before = await read()
    const random = createRandom(7)
    const pick: Choose = list => list[random(list.length)] as (typeof list)[number] // no list is empty
    const changes = new FeedChanges(app.database, ['M1', 'M2'], random, pick)
    const rights = { audience: 'staff', scopes: ['listings:read'], feedId: FeedId, feed, hiddenFields: [] } as const // biome-ignore format: one object
    let made = 0
    for (let tries = 0; tries < TRIES; tries++) {
      if (await changes.make('outside', rights)) made++
      expect(await read()).toEqual(before)
    }
    expect(made).toBeGreaterThan(TRIES / 3)
  }, 60_000)
})
