import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createChangeFeed } from '../../src/data/changes/change-feed.js'
import type { Database } from '../../src/data/database.js'
import type { Actor } from '../../src/domain/actor.js'
import { RequestScope } from '../../src/domain/request-scope.js'
import { createCursorSeal } from '../../src/query/cursor.js'
import { ChangeService } from '../../src/service/changes.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const PUBLIC: Actor = { scopes: new Set(['listings:read']), audience: 'public' }
const LIMITS = {
  pageSize: 100,
  pageSizeMax: 1000,
  expandPageMax: 100,
  topIsTotal: false,
  expandDepth: 8,
}

describe.each(DATABASE_KINDS)('reads of subscriptions on %s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterAll(() => database?.close())

  test('clients take turns, and a subscription leaves the queue when its client disconnects', async () => {
    let open = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    const executorsFor: Database['executorsFor'] = scope => {
      const executors = database.executorsFor(scope)
      const query: typeof executors.reader.query = async (...statement) => {
        await gate
        return executors.reader.query(...statement)
      }
      return { ...executors, reader: { ...executors.reader, query } }
    }
    const service = new ChangeService({
      database: { ...database, executorsFor },
      limits: LIMITS,
      policy: { nonDisclosure: false },
      seal: createCursorSeal('a key of the tests'),
      feed: createChangeFeed(database),
      poolSize: 4,
    })
    const order: string[] = []
    const read = async (name: string, scope: RequestScope) => {
      await service.forRequest(scope).latestSequence(PUBLIC)
      order.push(name)
    }
    const gone = new RequestScope('many')
    const reads = ['first', 'second', 'third', 'fourth'].map(name => read(name, new RequestScope('many')))
    const abandoned = read('abandoned', gone)
    reads.push(read('other client', new RequestScope('one')))
    gone.abort()
    await expect(abandoned).rejects.toMatchObject({ problems: [{ reason: 'canceled' }] })
    expect(order).toEqual([])
    open()
    await Promise.all(reads)
    expect(order).toEqual(['first', 'second', 'other client', 'third', 'fourth'])
  })
})
