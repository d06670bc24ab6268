import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { feedServiceOf } from './market.js'

// The work of PostgreSQL for a change of a price, without feeds and with them. Counts of calls, not times.

const CHANGE = `update "Property" set "ListPrice" = "ListPrice" + 1 where "ListingKey" = 'A'`

/** Functions that a change of only the price calls, with the number of their calls. */
const WITHOUT_FEEDS = {
  audit_property: 1, event_time: 1, hide_children: 1, lock_change_log_first: 1, log_property: 1, next_change_time: 1, next_event: 1, show_children: 1, stamp_record: 1,
  write_audit_entry: 1, write_event: 1,
} // biome-ignore format: one list

const DELETION = `delete from "Property" where "ListingKey" = 'A'`

const DELETION_WITHOUT_FEEDS = {
  audit_property: 1, count_photos: 2, count_photos_of: 1, delete_children: 1, event_time: 1, lock_change_log_first: 7, log_property_removal: 1, next_change_time: 1, next_event: 1, 
  write_audit_entry: 1, write_removal: 1,
} // biome-ignore format: one list

/** Reads the counts of calls that a session has not yet published. Those of its last second may be among them. */
async function readCalls(client: Client): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ readonly funcname: string; readonly calls: string }>(
    'select funcname, calls from pg_stat_xact_user_functions where calls > 0',
  )
  return new Map(rows.map(({ funcname, calls }) => [funcname, Number(calls)]))
}

describe.each(DATABASE_KINDS)('a change of a listing on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    const filled = `insert into "Property" ("ListingKey", "StandardStatus", "City", "ListPrice") values ('A', 'Active', 'Vail', 100)`
    await database.withClient(client => client.query(filled))
  })
  afterAll(() => database?.close())

  /** The functions in PL/pgSQL that a statement calls after a change, and their calls. Those in SQL are part of plans. */
  const callsOf = (statement: string): Promise<Readonly<Record<string, number>>> =>
    database.withClient(async client => {
      await client.query(CHANGE)
      await client.query(`begin; set local track_functions = 'pl'`)
      const before = await readCalls(client)
      await client.query(statement)
      const after = await readCalls(client)
      await client.query('rollback')
      const calls = [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
      return Object.fromEntries(calls.filter(([, count]) => count > 0))
    })
  const feedsOf = (key: string) =>
    database.withClient(async client => {
      const text = `select "FeedName" as name from "admin"."FeedListing" join "admin"."Feed" using ("FeedId") where "ListingKey" = $1 and "RemovedTimestamp" is null order by 1`
      return (await client.query<{ readonly name: string }>(text, [key])).rows.map(({ name }) => name)
    })

  test('in a market without feeds it calls no function of feeds', async () => {
    expect(await callsOf(CHANGE)).toEqual(WITHOUT_FEEDS)
    expect(await callsOf(DELETION)).toEqual(DELETION_WITHOUT_FEEDS)
  })

  test('a change of status looks for children only if an audience gains or loses the listing', async () => {
    const calls = async (status: string): Promise<number> =>
      (await callsOf(`update "Property" set "StandardStatus" = '${status}' where "ListingKey" = 'A'`))[
        'touch_children'
      ] ?? 0
    expect(await calls('Closed')).toBe(0)
    expect(await calls('Incomplete')).toBe(1)
  })

  test('a session that wrote before applies feeds that are added later, and none that were removed', async () => {
    const feeds = feedServiceOf(database)
    // The embedded database has one session.
    const session = kind === 'server' ? new Client(database.settings.databaseUrl) : undefined
    await session?.connect()
    const write = (text: string): Promise<unknown> =>
      session ? session.query(text) : database.withClient(client => client.query(text))
    try {
      await write(CHANGE)
      await feeds.add({ FeedName: 'reno', Filter: "City eq 'Reno'" })
      await write(`update "Property" set "City" = 'Reno' where "ListingKey" = 'A'`)
      expect(await feedsOf('A')).toEqual(['reno'])
      await write(`update "Property" set "City" = 'Vail' where "ListingKey" = 'A'`)
      expect(await feedsOf('A')).toEqual([])
      await feeds.remove('reno')
      await write(CHANGE)
    } finally {
      await session?.end()
    }
    expect(await callsOf(CHANGE)).toEqual(WITHOUT_FEEDS)
  })
})
