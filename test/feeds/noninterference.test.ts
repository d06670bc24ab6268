import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { type FeedApp, type FeedReader, startFeedApp } from './market.js'

// Hidden values must not affect any response. The responses to a reader are compared before and after a
// change of values that it may not see. The change is not logged, as if there were two databases that differ
// only in these values.

/** Number of feeds in a run. NONINTERFERENCE_FEEDS changes it. */
const FEEDS = Number(process.env['NONINTERFERENCE_FEEDS'] ?? 3)
const LISTINGS = 60

/** A deterministic random number generator (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

/** Columns that the changes overwrite, with the SQL of another value. No filter of a feed below names them. */
const VALUES: Readonly<Record<string, string>> = {
  ListPrice: `"ListPrice" + 1 + floor(random() * 900)`,
  BathroomsTotalInteger: '1 + floor(random() * 9)',
  PublicRemarks: `'lake ' || md5(random()::text)`,
  SoldPrice: `"ListPrice" + floor(random() * 900)`,
  ClosePrice: `"ListPrice" + floor(random() * 900)`,
  Latitude: '39 + round(random()::numeric, 3)',
  YearBuilt: '1900 + floor(random() * 99)',
  SubdivisionName: `'S' || floor(random() * 9)`,
}
const FILTERS = [
  "City eq 'Vail'", "City ne 'Vail' and BedroomsTotal gt 1", "StandardStatus in ('Active','Pending')", "not (BedroomsTotal le 2) or City eq 'Reno'", 'BedroomsTotal eq null',
  "StandardStatus eq 'Sold' and City ne 'Reno'", 'true', 'false',
] // biome-ignore format: one list

const FILL = `insert into "Property" ("ListingKey", "StandardStatus", "City", "BedroomsTotal", "ListPrice", "SoldPrice", "ClosePrice", "CloseDate", "InternetEntireListingDisplayYN", "ListAgentKey",
    "PublicRemarks", "BathroomsTotalInteger", "Latitude", "Longitude", "YearBuilt", "SubdivisionName")
  select 'N' || lpad(n::text, 3, '0'), (array['Active','Pending','Sold','Incomplete'])[1 + n % 4], (array['Vail','Reno','Aspen'])[1 + n % 3], nullif(n % 5, 4), 100 + n, 90 + n, 90 + n, '2026-01-01',
    n % 7 <> 0, 'M1', 'lake house ' || n, n % 4, 39.5, -106, 1950 + n, 'S' || n % 5 from generate_series(1, ${LISTINGS}) n`
const CHILDREN = [
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory") select 'NP' || "ListingKey", 'Property', "ListingKey", 'Photo' from "Property" where "ListingKey" like 'N%'`,
  `insert into "Rooms" ("RoomKey", "ListingKey", "RoomType") select 'NR' || "ListingKey", "ListingKey", 'Kitchen' from "Property" where "ListingKey" like 'N%'`,
]
/** The triggers that record an edit in the log and in the row. */
const TRACES = ['lock_change_log_first', 'stamp_record', 'log_change', 'hide_children', 'show_children']

/** Requests that use fields which the feed may hide, through each channel. */
const QUESTIONS = [
  'Property?$top=20', 'Property?$filter=ListPrice gt 130&$count=true&$select=ListingKey', 'Property?$filter=not (ListPrice gt 130)&$select=ListingKey', 'Property/$count?$filter=YearBuilt lt 1980',
  'Property?$orderby=ListPrice desc&$select=ListingKey&$top=9', 'Property?$orderby=YearBuilt,BathroomsTotalInteger desc&$select=ListingKey&$top=9', 'Property?$search=lake&$select=ListingKey',
  'Property?$apply=aggregate(ListPrice with max as m,$count as n)', 'Property?$apply=groupby((SubdivisionName),aggregate($count as n))', 'Property?$compute=ListPrice add YearBuilt as x&$select=ListingKey,x&$top=9',
  "Property?$filter=contains(PublicRemarks,'lake')&$select=ListingKey", 'Property?$filter=geo.distance(GeoLocation,geography\'SRID=4326;POINT(-106 39.5)\') lt 60000&$select=ListingKey',
  'Property?$filter=SoldPrice gt 120 or ClosePrice gt 120&$select=ListingKey', "Media?$filter=startswith(MediaKey,'NP')&$top=20", 'Media/$count', 'Rooms?$expand=Listing($select=ListingKey,ListPrice)&$top=9',
  "Rooms?$filter=Listing/ListPrice gt 130&$select=RoomKey", 'EntityEvent?$top=50', 'EntityEvent/$count', "Digest(ResourceName='Property',Buckets=4)", "Digest(ResourceName='Media',Buckets=2)",
  "Member('M1')?$expand=*", 'Property?$filter=Media/any(m:m/MediaCategory eq \'Photo\') and ListPrice gt 130&$select=ListingKey', 'Lookup?$top=1',
] // biome-ignore format: one list
const GRAPHQL_QUESTIONS = [
  '{ properties(first: 20) { totalCount nodes { ListingKey ListPrice SoldPrice PublicRemarks Media { MediaKey } } } }',
  '{ properties(first: 20, where: "ListPrice gt 130", orderBy: { ListPrice: DESC }) { totalCount nodes { ListingKey } } }',
  '{ rooms(first: 9) { totalCount nodes { RoomKey Listing { ListingKey YearBuilt } } } }',
]

describe.each(DATABASE_KINDS)('noninterference of feeds on the %s database', kind => {
  let app: FeedApp
  beforeAll(async () => {
    app = await startFeedApp(kind)
    for (const statement of [FILL, ...CHILDREN]) await app.run(statement)
  }, 120_000)
  afterAll(() => app?.close())

  async function answersOf(reader: FeedReader): Promise<readonly string[]> {
    const answers: string[] = []
    for (const path of QUESTIONS) {
      const { status, text } = await reader.read(path)
      answers.push(`${path} ${status} ${text}`)
    }
    const lines = await reader.read('Property', { Accept: 'application/x-ndjson' })
    answers.push(`export ${lines.text}`)
    for (const query of GRAPHQL_QUESTIONS)
      answers.push(`${query} ${JSON.stringify(await reader.graphql(query).catch(error => String(error)))}`)
    return answers
  }

  /** Overwrites every hidden value: all values of listings outside the feed, and hidden fields of those in it. */
  async function changeHidden(feedId: number, visible: string, hidden: readonly string[]): Promise<void> {
    const isShown = `exists (select from "admin"."FeedListing" m where m."FeedId" = ${feedId} and m."ListingKey" = p."ListingKey") and ${visible}`
    const set = (fields: readonly string[]) => fields.map(name => `"${name}" = ${VALUES[name]}`).join(', ')
    const triggers = (action: string) =>
      app.run(TRACES.map(name => `alter table "Property" ${action} trigger ${name}`).join('; '))
    await triggers('disable')
    try {
      await app.run(`update "Property" p set ${set(Object.keys(VALUES))} where not (${isShown})`)
      if (hidden.length > 0) await app.run(`update "Property" p set ${set(hidden)} where ${isShown}`)
    } finally {
      await triggers('enable')
    }
  }

  test('FED-01, FED-04: hidden data does not affect any response', async () => {
    const random = createRandom(1)
    let withData = 0
    let pairs = 0
    for (let n = 0; n < FEEDS; n++) {
      const audience = n % 2 === 0 ? 'public' : 'member'
      const hidden = Object.keys(VALUES).filter(() => random(2) === 0)
      // The fields of a group are hidden together.
      const groups = [['SoldPrice', 'ClosePrice']].filter(group => group.some(name => hidden.includes(name)))
      const name = `random-${n}`
      const Filter = FILTERS[random(FILTERS.length)] ?? 'true'
      const reader = await app.addFeed(
        { FeedName: name, Filter, HiddenFields: hidden },
        { AudienceClass: audience },
      )
      const before = await answersOf(reader)
      const published = `p."StandardStatus" <> 'Incomplete'`
      const visible =
        audience === 'public' ? `${published} and p."InternetEntireListingDisplayYN" is not false` : published
      const { FeedId } = await app.feeds.find(name)
      await changeHidden(FeedId, visible, [...new Set([...hidden, ...groups.flat()])])
      const after = await answersOf(reader)
      for (const [i, answer] of before.entries()) expect(after[i], `${Filter} hides ${hidden}`).toBe(answer)
      pairs += before.length
      withData += before.filter(answer => /"N[PR]?N?\d{3}"/.test(answer)).length
    }
    // Empty answers would prove nothing.
    expect(withData).toBeGreaterThan(pairs / 3)
  }, 600_000)
})
