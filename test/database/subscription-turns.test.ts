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

  /** Creates a service whose reads for some clients wait for `open`. */
  function createService(poolSize: number, isGated: (scope: RequestScope) => boolean) {
    let open = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    const executorsFor: Database['executorsFor'] = scope => {
      const executors = database.executorsFor(scope)
      const query: typeof executors.reader.query = async (...statement) => {
        if (isGated(scope)) await gate
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
      poolSize,
    })
    const read = (scope: RequestScope) => service.forRequest(scope).latestSequence(PUBLIC)
    return { read, open: () => open() }
  }

  test('clients take turns, and a subscription leaves the queue when its client disconnects', async () => {
    const { read, open } = createService(1, () => true)
    const order: string[] = []
    const readAs = async (name: string, scope: RequestScope) => {
      await read(scope)
      order.push(name)
    }
    const gone = new RequestScope('many')
    const reads = ['first', 'second', 'third', 'fourth'].map(name => readAs(name, new RequestScope('many')))
    const abandoned = readAs('abandoned', gone)
    reads.push(readAs('other client', new RequestScope('one')))
    gone.abort()
    await expect(abandoned).rejects.toMatchObject({ problems: [{ reason: 'canceled' }] })
    expect(order).toEqual([])
    open()
    await Promise.all(reads)
    expect(order).toEqual(['first', 'second', 'other client', 'third', 'fourth'])
  })

  test('a client whose reads wait for a connection does not delay the subscriptions of others', async () => {
    const { read, open } = createService(4, ({ clientId }) => clientId === 'many')
    const waiting = Array.from({ length: 20 }, () => read(new RequestScope('many')))
    await expect(read(new RequestScope('one'))).resolves.toBe('0')
    open()
    await Promise.all(waiting)
  })
})
