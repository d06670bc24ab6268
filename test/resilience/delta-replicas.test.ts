import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DeltaReplica } from '../support/clients/delta-replica.js'
import { LogReader } from '../support/clients/log-reader.js'
import { REPLICATED_SETS } from '../support/clients/replicated-sets.js'
import { DATABASE_KINDS } from '../support/database.js'
import { startTestService } from '../support/test-service.js'

// Random changes, by the service and by SQL, between the pages of copies that four audiences maintain by delta
// links. At the end each copy must equal a new read. DELTA_SEED repeats a run, DELTA_STEPS makes longer ones.

const SEED = Number(process.env['DELTA_SEED'] ?? 11)
const STEPS = Number(process.env['DELTA_STEPS'] ?? 60)
const LISTINGS = 24
const TIME = '2024-05-01T00:00:00.000Z'

/** Parts of queries, by set. Each copy has one of each list. */
const QUERIES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  Property: [
    [
      '', `$filter=City eq 'Austin'`, `$filter=StandardStatus eq 'Active' and TaxYear ge 2005`, `$filter=Media/any(m:m/Order gt 3)`,
      `$filter=ListPrice gt 5 or PublicRemarks eq null`, `$search=pool`, `$filter=Rooms/$count gt 1`, `$filter=not(ListAgentKey eq 'M1')`,
    ], // biome-ignore format: a list of words
    ['', '$expand=Media,Rooms', '$expand=ListAgent', '$expand=OpenHouses($filter=OpenHouseId ne null),ListOffice,Media($orderby=Order)'],
    ['', '$orderby=ListPrice desc', '$orderby=ModificationTimestamp', '$select=ListingKey,City,LastEventSequence'],
  ], // biome-ignore format: a list of words
  Media: [['', '$filter=Order lt 4', `$filter=ResourceName eq 'Property'`], ['', '$select=MediaKey,Order']],
  Rooms: [['', `$filter=RoomType eq 'Attic'`], ['', '$expand=Listing']],
  OpenHouse: [[''], ['', '$expand=Listing($select=City)']],
  Member: [['', `$filter=MemberLastName eq 'Lee'`], ['', '$expand=Office']],
  Office: [[''], ['', '$expand=OfficeBroker']],
} // biome-ignore format: a table

/** A different number at every call, the same in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}

describe.each(DATABASE_KINDS)('copies by delta links on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  beforeAll(async () => {
    market = await startTestService({ kind })
  })
  afterAll(() => market.close())

  const random = createRandom(SEED)
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T // no list is empty
  const keyOf = () => `L${String(1 + random(LISTINGS)).padStart(3, '0')}`
  const sql = (...statements: readonly string[]) =>
    market.database.withClient(async client => {
      for (const statement of statements) await client.query(statement)
    })
  const importing = (statement: string) =>
    sql('begin', `set local listing.import = 'on'`, statement, 'commit')
  const update = (fields: string) => sql(`update "Property" set ${fields} where "ListingKey" = '${keyOf()}'`)

  let created = 0
  const CHANGES: readonly (() => Promise<unknown>)[] = [
    () => market.patch(keyOf(), { ListPrice: random(9), TaxYear: 2000 + random(10) }),
    () => market.patch(keyOf(), { City: pick(['Austin', 'Waco']) }),
    () => market.patch(keyOf(), { StandardStatus: pick(['Active', 'Pending', 'Withdrawn']) }),
    () => market.patch(keyOf(), { InternetEntireListingDisplayYN: random(2) === 0 }),
    () => market.patch(keyOf(), { PublicRemarks: pick([null, 'a pool', 'a garden']) }),
    () => market.remove(keyOf()),
    () => market.draft({ ListPrice: random(9) }),
    () => update(`"StandardStatus" = '${pick(['Incomplete', 'Active', 'Hold'])}'`),
    () => update(`"ListAgentKey" = '${pick(['M1', 'M2', 'M3'])}', "ListOfficeKey" = '${pick(['O1', 'O2'])}'`),
    () => update(`"ListingKey" = 'K${++created}'`),
    () => importing(`update "Property" set "TaxYear" = 1990 where "ListingKey" = '${keyOf()}'`),
    () => importing(`insert into "Property" ("ListingKey", "City", "StandardStatus") values ('${keyOf()}', 'Austin', '${pick(['Active', 'Incomplete'])}') on conflict do nothing`),
    () => sql(`insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "Order", "MediaCategory") values ('N${++created}', '${pick(['Property', 'Member', 'Office'])}', '${pick([keyOf(), 'M1', 'O1'])}', ${random(6)}, 'Photo')`),
    () => sql(`update "Media" set "Order" = ${random(6)} where "ResourceRecordKey" = '${keyOf()}'`),
    () => sql(`update "Media" set "ResourceRecordKey" = '${keyOf()}' where "ResourceRecordKey" = '${keyOf()}'`),
    () => sql(`delete from "Media" where "ResourceRecordKey" = '${keyOf()}' and "Order" = ${random(6)}`),
    () => sql(`insert into "Rooms" ("RoomKey", "ListingKey") select 'R${++created}', "ListingKey" from "Property" where "ListingKey" = '${keyOf()}'`),
    () => sql(`update "Rooms" set "ListingKey" = p."ListingKey" from "Property" p where p."ListingKey" = '${keyOf()}' and "Rooms"."ListingKey" = '${keyOf()}'`),
    () => sql(`update "Rooms" set "RoomType" = '${pick(['Attic', 'Hall'])}' where "ListingKey" = '${keyOf()}'`),
    () => sql(`update "OpenHouse" set "OpenHouseId" = ${pick(['null', `'H'`])} where "ListingKey" = '${keyOf()}'`),
    () => sql(`update "Member" set "MemberLastName" = '${pick(['Lee', 'Lu'])}', "OfficeKey" = '${pick(['O1', 'O2'])}' where "MemberKey" = '${pick(['M1', 'M2'])}'`),
    () => sql(`delete from "Member" where "MemberKey" = 'M3'`),
    () => importing(`insert into "Member" ("MemberKey") values ('M3') on conflict do nothing`),
    () => sql(`update "Office" set "OfficeName" = 'N${++created}', "OfficeBrokerKey" = '${pick(['M1', 'M2'])}'`),
    () => sql(`select compact_log(now() + interval '1 day', 1000, '', '')`),
  ] // biome-ignore format: one change a line

  async function disturb(changes: number): Promise<void> {
    for (let n = 0; n < changes; n++) await pick(CHANGES)()
  }

  test('the copies of four audiences equal a new read, whatever changes between the pages', async () => {
    const children = (key: string) => ({ ListingKey: key, ModificationTimestamp: TIME })
    const keys = Array.from({ length: LISTINGS }, (_, n) => `L${String(n + 1).padStart(3, '0')}`)
    await market.given(
      keys.map((_, n) => ({ City: n % 2 ? 'Waco' : 'Austin', ListPrice: n, ListOfficeKey: n % 3 ? 'O1' : 'O2' })),
      {
        Office: ['O1', 'O2'].map(OfficeKey => ({ OfficeKey, OfficeBrokerKey: 'M1', ModificationTimestamp: TIME })),
        Media: keys.map((key, n) => ({ MediaKey: `${key}-P`, ResourceName: 'Property', ResourceRecordKey: key, Order: n % 6, ModificationTimestamp: TIME })),
        Rooms: keys.map(key => ({ RoomKey: `${key}-R`, ...children(key) })),
        OpenHouse: keys.map(key => ({ OpenHouseKey: `${key}-H`, ...children(key) })),
      },
    ) // biome-ignore format: one set a line
    // Three copies of Property for each audience, one of each other set. Together they have every option.
    const copies = ['public', 'member', 'agent', 'staff'].flatMap((name, audience) =>
      Object.entries(QUERIES).flatMap(([set, parts]) =>
        (set === 'Property' ? [0, 1, 2] : [0]).map(n => {
          const reader = new LogReader(market, name)
          const index = set === 'Property' ? 3 * audience + n : audience
          const options = parts.map((list, i) => list[(index + i) % list.length]).filter(Boolean)
          const query = options.length > 0 ? `${set}?${options.join('&')}` : set
          const keyField = REPLICATED_SETS[set] ?? ''
          const betweenPages = () => (random(2) ? disturb(1) : Promise.resolve())
          const preference = `maxpagesize=${pick([3, 10, 50])}`
          const replica = new DeltaReplica(reader, query, keyField, preference, betweenPages)
          return { name, query, keyField, reader, replica }
        }),
      ),
    )
    for (const { replica } of copies) await replica.poll()
    for (let step = 0; step < STEPS; step++) {
      await disturb(1 + random(3))
      if (step % 3 === 0) await pick(copies).replica.poll()
    }
    for (const { name, query, keyField, reader, replica } of copies) {
      // A run of one page has all changes, since none occurs meanwhile.
      for (let pages = 2; pages > 1; ) pages = await replica.poll()
      const settled = new DeltaReplica(reader, query, keyField)
      const fresh = await reader.rows(query)
      for (const row of fresh) settled.records.set(String(row[keyField]), row)
      expect({ seed: SEED, name, query, records: replica.market() }).toEqual({
        seed: SEED, name, query, records: settled.market(),
      }) // biome-ignore format: one line
    }
  }, 240_000)
})
