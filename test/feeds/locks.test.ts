import type { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { type FeedApp, startFeedApp } from './market.js'

const POLL = { timeout: 60_000 }
const LISTINGS = 400

describe.runIf(DATABASE_KINDS.includes('server'))(
  'changes of feeds beside writers',
  { timeout: 120_000 },
  () => {
    let app: FeedApp
    beforeAll(async () => {
      app = await startFeedApp('server')
      await app.run(
        `insert into "Property" ("ListingKey", "StandardStatus", "City") select 'N' || 1000 + n, 'Active', 'Vail' from generate_series(1, $1::int) n`,
        [LISTINGS],
      )
    }, 120_000)
    afterAll(() => app?.close())

    const shownKeys = async (feed: string): Promise<readonly string[]> => {
      const rows = await app.run(
        `select "ListingKey" as key from "admin"."FeedListing" join "admin"."Feed" using ("FeedId") where "FeedName" = $1 and "IsShown" order by 1`,
        [feed],
      )
      return rows.map(row => (row as { readonly key: string }).key)
    }

    /** Waits until a session of this database waits for a lock. */
    const untilBlocked = () =>
      expect
        .poll(
          () =>
            app.run(
              `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
            ),
          POLL,
        )
        .toHaveLength(1)

    /**
     * Runs a change of a feed during the transaction of a writer that changes listings in the order opposite to
     * that of the feed. Returns the errors.
     */
    const runBeside = (change: () => Promise<unknown>): Promise<readonly unknown[]> =>
      app.database.withClient(async (writer: Client) => {
        await writer.query('begin')
        await writer.query(`update "Property" set "City" = 'Reno' where "ListingKey" = 'N1250'`)
        const changed = change()
        changed.catch(() => undefined)
        await untilBlocked()
        const written = writer
          .query(`update "Property" set "City" = 'Reno' where "ListingKey" < 'N1200' and "ListingKey" > 'N'`)
          .then(() => writer.query('commit'))
        const results = await Promise.allSettled([changed, written])
        return results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
      })

    test('a changed filter and a writer of the same listings do not deadlock', async () => {
      await app.addFeed({ FeedName: 'narrowed', Filter: "City eq 'Vail'" })
      // The writer moves 200 listings out of the new filter, or into it, after the leavers were found.
      const change = () =>
        app.feeds.change('narrowed', { Filter: "City eq 'Reno' or ListingKey gt 'N1300' and City eq 'Vail'" })
      expect(await runBeside(change)).toEqual([])
      const expected = await app.run(
        `select "ListingKey" as key from "Property" where "City" = 'Reno' or "ListingKey" > 'N1300' and "City" = 'Vail' order by 1`,
      )
      expect(await shownKeys('narrowed')).toEqual(expected.map(row => (row as { readonly key: string }).key))
    })

    test('a removed feed and a writer of its listings do not deadlock', async () => {
      await app.run(`update "Property" set "City" = 'Vail' where "ListingKey" > 'N'`)
      await app.feeds.add({ FeedName: 'removed', Filter: "City eq 'Vail'" })
      expect(await runBeside(() => app.feeds.remove('removed'))).toEqual([])
      expect(await shownKeys('removed')).toEqual([])
    })

    test('a listing that is written while a filter changes does not remain in a feed that it leaves', async () => {
      await app.run(`update "Property" set "City" = 'Vail' where "ListingKey" > 'N'`)
      await app.feeds.add({ FeedName: 'leaving', Filter: "City ne 'Aspen'" })
      const [feed] = await app.run(`select "FeedId" as id from "admin"."Feed" where "FeedName" = 'leaving'`)
      const { id } = feed as { readonly id: number }
      // A writer that began before the change commits during it.
      await app.database.withClient(async operator => {
        await app.database.withClient(async writer => {
          await writer.query('begin')
          await writer.query(`update "Property" set "City" = 'Denver' where "ListingKey" = 'N1001'`)
          await operator.query('begin')
          await operator.query(
            `update "admin"."Feed" set "Filter" = 'x', "FilterSql" = $2 where "FeedId" = $1`,
            [id, `r0."City" = 'Vail'`],
          )
          await operator.query('select "admin".compile_feeds()')
          const hidden = operator.query('select "admin".hide_leavers($1)', [id])
          await untilBlocked()
          await writer.query('commit')
          await hidden
          await operator.query('commit')
        })
      })
      expect(await shownKeys('leaving')).not.toContain('N1001')
      expect(await shownKeys('leaving')).toContain('N1002')
    })
  },
)
