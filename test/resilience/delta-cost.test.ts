import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRecordChanges } from '../../src/data/changes/record-changes.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { explainQueries } from '../support/explain-plan.js'

const HIDDEN = 20_000
const LIMIT = 100

describe.each(DATABASE_KINDS)('the cost of a page of a delta on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    // Every thousandth event is a public one of a listing; the others are those of drafts and of photos.
    await database.withClient(async client => {
      await client.query(`insert into "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "Audience", "EarlierAudiences")
        select 1000000 + n, now(), case when n % 2 = 0 then 'Property' else 'Media' end, 'K' || n, case when n % 1000 = 0 or n % 2 = 1 then 'public' else 'any' end, '{}'
        from generate_series(1, ${HIDDEN}) n`)
      await client.query('analyze "EntityEvent"')
    })
  })
  afterAll(() => database?.close())

  test.each([
    ['public', ['public'], HIDDEN / 1000],
    ['agent', ['public', 'agent:M1', 'office:M1'], HIDDEN / 1000],
    ['staff', ['public', 'member', 'staff', 'any'], LIMIT],
  ] as const)('%s: the events of others are not read', async (_, audiences, found) => {
    let count = 0
    const { rowsRead, indexes } = await explainQueries(database.reader, async executor => {
      const changes = await readRecordChanges(executor, {
        resources: ['Property'],
        audiences,
        after: '1000000',
        until: String(1_000_000 + HIDDEN),
        limit: LIMIT,
      })
      count = changes.length
    })
    expect(count).toBe(found)
    expect(rowsRead).toBeLessThanOrEqual(audiences.length * LIMIT)
    expect([...new Set(indexes)]).toEqual(['EntityEvent_ResourceName_Audience_EntityEventSequence_idx'])
  })
})
