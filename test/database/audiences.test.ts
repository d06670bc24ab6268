import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import { parseCursor } from '../../src/data/sql/json/records.js'
import { type Actor, AUDIENCES } from '../../src/domain/actor.js'
import { audiencesOf } from '../../src/domain/audiences.js'
import { authorize } from '../../src/domain/authorize.js'
import { getEntity } from '../../src/model/model.js'
import { bind } from '../../src/query/bind/bind.js'
import { BARE_REPRESENTATION } from '../../src/query/representation.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { explainQueries } from '../support/explain-plan.js'

// The audiences of records, which the triggers write to the change log, must agree with the rules of
// visibility: an actor can see a record if and only if it belongs to one of its audiences.

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const POLICY = { nonDisclosure: false }
const KEYS = [undefined, 'A', 'B', 'agent:A'] as const
const SCOPES = [[], ['listings:write'], ['listings:write:any'], ['listings:write', 'listings:write:any']]

const ACTORS: readonly Actor[] = AUDIENCES.flatMap(audience =>
  SCOPES.flatMap(scopes =>
    KEYS.flatMap(memberKey =>
      KEYS.map(officeKey => ({
        audience,
        scopes: new Set(['listings:read', ...scopes]),
        ...(memberKey !== undefined && { memberKey }),
        ...(officeKey !== undefined && { officeKey }),
      })),
    ),
  ),
)

/** A listing of each kind with a photo, and media that belong to no listing. */
const FILL = [
  `insert into "Property" ("ListingKey", "StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey")
    select 'L' || row_number() over (), status, displayed, agent, office
    from unnest(array['Incomplete', 'Active', 'Sold', null]) status, unnest(array[true, false, null]) displayed,
      unnest(array['A', 'B', null]) agent, unnest(array['A', 'B', null]) office`,
  `insert into "Member" ("MemberKey") values ('A')`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey")
    select 'of ' || "ListingKey", 'Property', "ListingKey" from "Property"
    union all values ('orphan', 'Property', 'none'), ('of A', 'Member', 'A'), ('of nobody', 'Member', 'none'), ('free', null, null)`,
]

const RECORD_AUDIENCES = {
  Property: `select "ListingKey" as key, listing_audiences("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey") as audiences from "Property"`,
  Media: `select "MediaKey" as key, media_audiences("ResourceName", "PropertyKey") as audiences from "Media"`,
}

describe.each(DATABASE_KINDS)('audiences on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind, { statementTimeoutMs: 120_000 })
    for (const statement of FILL) await database.prisma.$executeRawUnsafe(statement)
  })
  afterAll(() => database?.close())

  const planOf = (set: string, actor: Actor, top: number) =>
    authorize(bind({ top }, getEntity(set), LIMITS), actor, POLICY)

  async function keysFor(set: string, actor: Actor): Promise<readonly string[]> {
    const { records } = await readPage(database.reader, planOf(set, actor, 1000), BARE_REPRESENTATION)
    return records.list.map(record => parseCursor(record)[0] ?? '')
  }

  test.each(Object.entries(RECORD_AUDIENCES))(
    'REP2-34 an actor can see a record of %s if and only if it belongs to one of its audiences',
    async (set, statement) => {
      const records = await database.prisma.$queryRawUnsafe<{ key: string; audiences: string[] }[]>(statement)
      expect(records.length).toBeGreaterThan(100)
      const counts = new Set<number>()
      for (const actor of ACTORS) {
        const own = audiencesOf(actor)
        const expected = records.filter(r => r.audiences.some(a => own.includes(a))).map(({ key }) => key)
        counts.add(expected.length)
        const label = JSON.stringify({ ...actor, scopes: [...actor.scopes] })
        expect([label, await keysFor(set, actor)]).toEqual([label, expected.sort()])
      }
      expect(counts.size).toBeGreaterThan(5)
    },
  )

  test('each event is read once, by exactly the actors of its audiences', async () => {
    const events = await database.prisma.$queryRawUnsafe<{ key: string; audiences: string[] }[]>(
      `select "EntityEventSequence"::text as key, array_agg("Audience") as audiences from "EntityEvent" group by "EntityEventSequence" order by "EntityEventSequence"`,
    )
    for (const actor of ACTORS) {
      const own = audiencesOf(actor)
      const expected = events.filter(e => e.audiences.some(a => own.includes(a))).map(({ key }) => key)
      expect(await keysFor('EntityEvent', actor)).toEqual(expected)
    }
  })

  describe('REP2-13 100,000 events that readers may not see', () => {
    const READERS: Readonly<Record<string, Actor>> = {
      public: { scopes: new Set(['listings:read']), audience: 'public' },
      agent: {
        scopes: new Set(['listings:read', 'listings:write']),
        audience: 'member',
        memberKey: 'B',
        officeKey: 'A',
      },
      staff: { scopes: new Set(['listings:read']), audience: 'staff' },
    }
    let last = 0
    beforeAll(async () => {
      // Events of drafts of others, and a visible one at each end.
      const visible = `update "Property" set "ListPrice" = 1 where "ListingKey" = (select min("ListingKey") from "Property" where "StandardStatus" = 'Active' and "InternetEntireListingDisplayYN")`
      await database.prisma.$executeRawUnsafe(visible)
      await database.prisma.$executeRawUnsafe(
        `insert into "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "Audience", "EarlierAudiences")
        select s, clock_timestamp(), 'Property', 'X', audience, case audience when 'any' then array['agent:Z'] else '{}' end
        from (select nextval('entity_event_sequence') as s from generate_series(1, 100000)) n, unnest(array['agent:Z', 'any']) audience`,
      )
      await database.prisma.$executeRawUnsafe(visible)
      await database.prisma.$executeRawUnsafe('analyze "EntityEvent"')
      const [row] = await database.prisma.$queryRawUnsafe<{ last: bigint }[]>(
        `select max("EntityEventSequence") as last from "EntityEvent"`,
      )
      last = Number(row?.last)
    }, 120_000)

    const QUERIES: Readonly<
      Record<string, () => { top: number; after?: readonly string[]; descending?: boolean }>
    > = {
      'the next events': () => ({ top: 100, after: [String(last - 100_001)] }),
      'the next events, a whole page of all that there are': () => ({ top: 1000, after: ['0'] }),
      'the last event': () => ({ top: 1, descending: true }),
    }

    test.each(Object.entries(QUERIES))(
      'REP2-13 %s: rows that are read do not depend on them',
      async (_, toQuery) => {
        for (const [name, actor] of Object.entries(READERS)) {
          const { top, after, descending = false } = toQuery()
          const plan = planOf('EntityEvent', actor, top)
          const ordered = {
            ...plan,
            orderBy: plan.orderBy.map(term => ({ ...term, descending })),
            ...(after && { after }),
          }
          const { rowsRead, nodes } = await explainQueries(database.reader, async watched => {
            const { records, next } = await readPage(watched, ordered, BARE_REPRESENTATION)
            expect(records.list.map(record => parseCursor(record)[0]).at(descending ? 0 : -1)).toBe(
              String(last),
            )
            expect([name, next === undefined]).toEqual([name, !descending])
          })
          expect([name, nodes.includes('Seq Scan')]).toEqual([name, false])
          // Keys and records are read one after the other, with at most one extra for each audience of the
          // reader.
          expect([name, rowsRead]).toEqual([name, expect.any(Number)])
          expect(rowsRead).toBeLessThan(1500)
        }
      },
    )
  })
})
