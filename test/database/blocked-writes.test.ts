import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { RequestScope } from '../../src/domain/request-scope.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const LOCK = 4711
const WAIT_FOR_LOCK = { text: 'select pg_advisory_xact_lock($1)', values: [LOCK] }
const SLOW_READ = { text: 'select pg_sleep(60)', values: [] }
const READ = { text: 'select 1 as "read"', values: [] }
const PLAN_CACHE_MODES = ['custom', 'generic'] as const

describe.runIf(DATABASE_KINDS.includes('server'))('writes that wait for a lock', () => {
  let database: TestDatabase
  let slow: RequestScope
  beforeAll(async () => {
    database = await openTestDatabase('server', { poolSize: 4, poolWaitMs: 3000 })
  })
  afterAll(() => database?.close())
  beforeEach(() => {
    slow = new RequestScope('client with slow reads')
  })

  const executorsOf = (client: string) => database.executorsFor(new RequestScope(client))
  const write = (client: string) => executorsOf(client).writer.query(WAIT_FOR_LOCK)
  const transact = (client: string) =>
    executorsOf(client).transaction(executor => executor.query(WAIT_FOR_LOCK))

  /** Runs work while the lock is held, then lets the writes end. */
  async function whileLocked(writes: () => readonly Promise<unknown>[], work: () => Promise<unknown>) {
    await database.withClient(async client => {
      await client.query(`select pg_advisory_lock(${LOCK})`)
      const started = Promise.all(writes())
      // The first write is in the database then, and the others have waited for a connection.
      await expect
        .poll(async () => {
          const { rows } = await client.query(`select 1 from pg_locks where not granted and objid = ${LOCK}`)
          return rows.length
        })
        .toBeGreaterThan(0)
      await new Promise(resolve => setTimeout(resolve, 100))
      const slowReads = Array.from({ length: 4 }, () => database.executorsFor(slow).reader.query(SLOW_READ))
      const endOfSlowReads = Promise.allSettled(slowReads)
      try {
        await work()
      } finally {
        await client.query(`select pg_advisory_unlock(${LOCK})`)
        slow.abort()
        await Promise.all([started, endOfSlowReads])
      }
    })
  }

  test.each(PLAN_CACHE_MODES)(
    'leave connections with %s plans to the reads of their client, beside slow reads of another',
    async mode => {
      const writes = () => [write('writer'), transact('writer'), write('writer'), write('other writer')]
      await whileLocked(writes, async () => {
        for (let i = 0; i < 5; i++)
          expect(await executorsOf('writer').reader.query(READ, mode)).toEqual([{ read: 1 }])
      })
    },
  )

  test('of many clients leave connections to the reads of all', async () => {
    const clients = Array.from({ length: 20 }, (_, i) => `client ${i}`)
    await whileLocked(
      () => clients.map(write),
      async () => {
        const reads = [...clients, 'reader'].flatMap(client =>
          PLAN_CACHE_MODES.map(mode => executorsOf(client).reader.query(READ, mode)),
        )
        expect(await Promise.all(reads)).toHaveLength(42)
      },
    )
  })

  test('end in turn when the lock is free, one of each client', async () => {
    const ended: string[] = []
    const record = (client: string) => write(client).then(() => ended.push(client))
    const writes = () => [...Array.from({ length: 10 }, () => record('many')), record('one')]
    await whileLocked(writes, async () => expect(ended).toEqual([]))
    expect(ended.indexOf('one')).toBeLessThan(3)
  })
})
