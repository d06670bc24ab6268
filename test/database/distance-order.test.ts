import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import type { Actor } from '../../src/domain/actor.js'
import { afterCursor } from '../../src/query/parameter.js'
import type { Plan } from '../../src/query/plan.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { explainQueries } from '../support/explain-plan.js'
import { ODATA_REPRESENTATION, toAuthorizedPlan } from '../support/oracle/plans.js'

// Pages in the order of a distance are read ring by ring around the point. They must equal the pages of a
// sort of all records by the same distance plus a constant, which is not recognized as a distance.

const STAFF: Actor = { scopes: new Set(['listings:read', 'listings:write', 'listings:write:any']), audience: 'staff' } // biome-ignore format: one row
const PUBLIC: Actor = { scopes: new Set(['listings:read']), audience: 'public' }

/** Positions are dense near the point and sparse on the other side of the earth. Some are missing. */
const FILL = sql`
  insert into "Property" ("ListingKey", "StandardStatus", "Longitude", "Latitude", "InternetAddressDisplayYN", "City")
  select 'K' || lpad(n::text, 4, '0'), case when n % 3 = 0 then 'Sold' else 'Active' end,
    case when n % 50 > 0 then mod(round((-97.74 + power(n / 2 / 300.0, 6) * 180 * sin(n) + 540)::numeric, 6), 360) - 180 end,
    case when n % 70 > 0 then round((30.27 + power(n / 2 / 300.0, 6) * 59 * cos(n))::numeric, 6) end, n % 9 > 0, 'City ' || n % 4
  from generate_series(1, 600) n`

const CENTERS = ['-97.74 30.27', '-97.7401 30.2702', '179.9 10', '-180 -30', '0 90', '12 -89.5', '50 50']
const FILTERS = [
  '',
  "StandardStatus eq 'Active'",
  'geo.distance(GeoLocation,POINT) le 5000',
  "geo.distance(GeoLocation,POINT) lt 40000 and City eq 'City 1'",
  '900000 ge geo.distance(GeoLocation,POINT)',
  "geo.distance(GeoLocation,geography'SRID=4326;POINT(-97 30)') le 100000",
  'geo.distance(GeoLocation,POINT) gt 3000',
]

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind, { statementTimeoutMs: 60_000 })
    await database.prisma.$executeRaw(FILL)
    await database.withClient(client => client.query('analyze'))
  })
  afterAll(() => database?.close())

  const toQueryPlan = (reader: Actor, center: string, filter: string, distance: string, more = ''): Plan => {
    const text = `$select=ListingKey&${filter && `$filter=${filter}&`}$orderby=${distance}&$top=60${more}`
    return toAuthorizedPlan(reader, text.replaceAll('POINT)', `geography'SRID=4326;POINT(${center})')`))
  }

  /** Returns the records of all pages, each of which begins after the last record before it. */
  async function readAll(plan: Plan): Promise<readonly string[]> {
    const found: string[] = []
    let page = await readPage(database.reader, plan, ODATA_REPRESENTATION)
    for (;;) {
      found.push(...page.records.list.map(({ json }) => JSON.parse(json).ListingKey))
      if (!page.next) return found
      page = await readPage(database.reader, afterCursor(plan, page.next), ODATA_REPRESENTATION, page.next)
    }
  }

  for (const reader of [STAFF, PUBLIC])
    test.each(CENTERS)(
      `pages around %s are those of a sort, for a reader of the audience ${reader.audience}`,
      async center => {
        for (const filter of FILTERS) {
          const found = await readAll(toQueryPlan(reader, center, filter, 'geo.distance(GeoLocation,POINT)'))
          const sorted = await readAll(
            toQueryPlan(reader, center, filter, 'geo.distance(GeoLocation,POINT) add 0'),
          )
          expect([filter, found]).toEqual([filter, sorted])
          if (filter === '') expect(found).toHaveLength(600)
        }
      },
    )

  test('records that are skipped, and pages from the end, are those of a sort', async () => {
    for (const more of ['&$skip=7', '&$skip=70'])
      for (const order of ['', ' desc']) {
        const read = (added: string) =>
          readAll(toQueryPlan(STAFF, '-97.74 30.27', '', `geo.distance(GeoLocation,POINT)${added}${order}`, more)) // biome-ignore format: one call
        expect(await read('')).toEqual(await read(' add 0'))
      }
  })

  test('the nearest records are found without computing every distance', async () => {
    const plan = { ...toQueryPlan(PUBLIC, '-97.74 30.27', 'geo.distance(GeoLocation,POINT) le 50000', 'geo.distance(GeoLocation,POINT)'), top: 10 } // biome-ignore format: one plan
    const { rowsRead } = await explainQueries(database.reader, watched =>
      readPage(watched, plan, ODATA_REPRESENTATION),
    )
    expect(rowsRead).toBeLessThan(300)
  })
})
