import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { clientServiceOf } from '../support/partners.js'
import { runProgram } from '../support/shell.js'

const LISTINGS = `insert into "Property" ("ListingKey", "StandardStatus", "City") values ('A', 'Active', 'Vail'), ('B', 'Sold', 'Reno')`

describe.each(DATABASE_KINDS)(
  'npm run feeds on the %s database',
  kind => {
    let database: TestDatabase
    beforeAll(async () => {
      database = await openTestDatabase(kind)
      await database.queryControl({ text: LISTINGS, values: [] })
    }, 60_000)
    afterAll(() => database?.close())

    const run = (...args: readonly string[]) => runProgram(database, 'feeds/feeds.ts', args)
    const succeed = async (...args: readonly string[]): Promise<string> => {
      const { code, out, err } = await run(...args)
      expect(code, err).toBe(0)
      return out
    }
    const fail = async (...args: readonly string[]): Promise<string> => {
      const { code, out, err } = await run(...args)
      expect({ code, out }, err).toEqual({ code: expect.toBeOneOf([1, 2]), out: '' })
      return err
    }

    test('init adds the presets once; add, show, change, refresh, list and remove', async () => {
      const presets = /^back-office\t2 listings\t0 clients\ttrue\nidx\t1 listings\t.*\nvow\t2 listings\t.*\n$/
      expect(await succeed('init')).toMatch(presets)
      await succeed('change', 'vow', '--filter', "City eq 'Vail'")
      expect(await succeed('init')).toMatch(/^vow\t1 listings\t0 clients\tCity eq 'Vail'$/m)
      const options = ['--hide', 'City, ListPrice', '--sold-price-delay', '30', '--media', 'no', '--page-size', '7', '--top-is-total', 'yes'] // biome-ignore format: one command
      const added = JSON.parse(await succeed('add', 'partner', '--filter', "City ne 'x'", ...options))
      const values = { HiddenFields: ['City', 'ListPrice'], SoldPriceDelayDays: 30, ShowsMedia: false, PageSize: 7, TopIsTotal: true } // biome-ignore format: one object
      expect(added).toMatchObject({ FeedName: 'partner', Filter: "City ne 'x'", Listings: 2, ...values })
      expect(added).not.toHaveProperty('FilterSql')
      if (kind === 'embedded') return
      expect(JSON.parse(await succeed('show', 'partner'))).toEqual(added)
      const cleared = ['--hide', 'none', '--sold-price-delay', 'none', '--page-size', 'none', '--top-is-total', 'none', '--media', 'yes'] // biome-ignore format: one command
      expect(JSON.parse(await succeed('change', 'partner', ...cleared, '--only', 'City'))).toMatchObject({
        HiddenFields: [], OnlyFields: ['City'], SoldPriceDelayDays: null, PageSize: null, TopIsTotal: null, ShowsMedia: true,
      }) // biome-ignore format: one object
      expect(JSON.parse(await succeed('refresh', 'partner'))).toMatchObject({ Listings: 2 })
      await clientServiceOf(database).add({ Name: 'Acme', Scopes: ['listings:read'], AudienceClass: 'public', FeedName: 'partner' }) // biome-ignore format: one client
      expect(await fail('remove', 'partner')).toMatch(/Clients use the feed 'partner': acme-/)
      await succeed('remove', 'back-office')
      expect(await succeed('list')).not.toContain('back-office')
      const entries = await database.queryControl<{ readonly action: string; readonly actor: string }>({
        text: `select "Action" as action, "Actor" as actor from "admin"."AuditEntry" where "ResourceName" = 'Feed' and "ResourceKey" in ('partner', 'back-office') order by "AuditId"`,
        values: [],
      })
      expect(entries.map(({ action }) => action)).toEqual(['feed.add', 'feed.add', 'feed.change', 'feed.change', 'feed.remove']) // biome-ignore format: one list
      for (const { actor } of entries) expect(actor).toMatch(/^command /)
    })

    test.runIf(kind === 'server')(
      'invalid input is refused with an explanation, and nothing is added',
      async () => {
        const faults: readonly (readonly [args: readonly string[], message: RegExp])[] = [
        [[], /usage: npm run feeds/],
        [['add', 'x'], /--filter is missing; 'true' shows all listings/],
        [['add', '--filter', 'true'], /name of the feed is missing/],
        [['add', 'x', '--filter', 'true', '--media', 'maybe'], /--media is 'maybe'; expected yes or no/],
        [['add', 'x', '--filter', 'true', '--page-size', 'many'], /--page-size is 'many'; expected a number/],
        [['add', 'x', '--filter', "Citty eq 'Vail'"], /Did you mean 'City'/],
        [
          ['add', 'x', '--filter', 'Media/any()', '--hide', 'NoSuch', '--page-size', '0'],
          /no field 'NoSuch'.*A page size is.*the records of Media/,
        ],
        [['remove', 'nosuch'], /There is no feed 'nosuch'/],
      ] // biome-ignore format: a fault a line
        for (const [args, message] of faults) expect(await fail(...args), args.join(' ')).toMatch(message)
        expect(await succeed('list')).not.toMatch(/^x\t/m)
      },
    )
  },
  300_000,
)
