import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/data/database.js'
import { bodyOf, keysOf, nextLinkOf, rowsOf } from '../support/assertions.js'
import { ConcurrentWriters } from '../support/clients/concurrent-writers.js'
import { DeltaReplica, deltaLinkOf, summaryOf } from '../support/clients/delta-replica.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import {
  createTestEnvironment,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'
import { spawnService } from '../support/service-process.js'

const WRITERS = 4
const KILLS = 2
const ONE_ENTRY = { Prefer: 'maxpagesize=1' }

/** Work on a connection beside the service. */
async function beside<T>(place: TestEnvironment, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await place.connect()
  return work(database).finally(() => database.close())
}

describe.each(DATABASE_KINDS)('the service as a process on the %s database', kind => {
  let place: TestEnvironment
  let service: StartedService
  beforeAll(async () => {
    place = await createTestEnvironment(kind)
    service = await startService(place)
    await beside(place, ({ prisma }) =>
      prisma.member.createMany({ data: ['M1', 'M4'].map(MemberKey => ({ MemberKey })) }),
    )
  })
  afterAll(async () => {
    await service.stop('SIGKILL')
    await place.remove()
  })

  test('killed during writes, it has lost no acknowledged write, and no write is partial', {
    timeout: 180_000,
  }, async () => {
    const writers = new ConcurrentWriters()
    for (let kill = 0; kill < KILLS; kill++) {
      const acknowledged = writers.acknowledged
      const writing = writers.run(service, WRITERS)
      await expect.poll(() => writers.acknowledged - acknowledged, { timeout: 60_000 }).toBeGreaterThan(20)
      await service.stop('SIGKILL')
      await writing
      service = await startService(place)
    }
    await writers.checkListings(service)
    await beside(place, database => writers.checkLog(database))
  })

  test('REP-05, DEL-13 links of pages, deltas and delta pages are good after a stop, after kill -9 and a new start', {
    timeout: 180_000,
  }, async () => {
    const city = 'Pages'
    for (let n = 0; n < 4; n++) {
      const body = { ...DRAFT, City: city, ListPrice: n }
      expect((await service.send('/odata/Property', { method: 'POST', body })).status).toBe(201)
    }
    const restart = async (signal: 'SIGTERM' | 'SIGKILL') => {
      expect(await service.stop(signal)).toBe(signal === 'SIGTERM' ? 0 : null)
      service = await startService(place)
    }
    const follow = ({ pathname, search }: URL) => service.send(pathname + search, { headers: ONE_ENTRY })
    const url = `/odata/Property?$filter=City eq '${city}'&$orderby=ListPrice desc`
    const all = keysOf(rowsOf(await service.send(url)))
    const link = new URL(nextLinkOf(await service.send(`${url}&$top=2`)) ?? '')
    const replica = new DeltaReplica(
      service,
      `Property?$filter=City eq '${city}'&$expand=Rooms`,
      'ListingKey',
    )
    await replica.poll()
    const [first, second, third] = all
    const change = (ListPrice: number) => ({
      method: 'PATCH',
      body: { ListPrice, ChangedByMemberKey: 'M1' },
    })
    await service.send(`/odata/Property('${first}')`, { method: 'DELETE' })
    await service.send(`/odata/Property('${second}')`, change(77))
    await restart('SIGTERM')
    expect(keysOf(rowsOf(await follow(link)))).toEqual(all.slice(2))
    const page = await follow(new URL(replica.link))
    expect(rowsOf(page).map(row => summaryOf(row))).toEqual([`deleted ${first}`])
    await service.send(`/odata/Property('${third}')`, change(88))
    await restart('SIGKILL')
    const rest = await follow(new URL(nextLinkOf(page) ?? ''))
    expect(rowsOf(rest).map(row => [summaryOf(row), row['ListPrice']])).toEqual([[second, 77]])
    // The run ends where it began. The change made during it is in the next one.
    const next = await follow(new URL(deltaLinkOf(rest) ?? ''))
    expect(rowsOf(next).map(row => [summaryOf(row), row['ListPrice']])).toEqual([[third, 88]])
  })

  test('SIGTERM: running requests finish, new ones are refused, exit code 0', {
    timeout: 60_000,
  }, async () => {
    const database = await place.connect()
    let answers: Promise<readonly number[]> = Promise.resolve([])
    await database.withClient(async client => {
      // Reads and writes wait for this lock.
      await client.query('begin')
      await client.query('lock table "Property" in access exclusive mode')
      const body = { ...DRAFT, City: 'Last' }
      const requests = [
        service.send('/odata/Property?$top=1'),
        service.send('/odata/Property', { method: 'POST', body }),
        service.send('/odata/Property/$count'),
      ]
      answers = Promise.all(requests.map(request => request.then(answer => answer.status)))
      await wait(500)
      service.process.child.kill('SIGTERM')
      await expect.poll(() => service.process.output.out, { timeout: 10_000 }).toContain('"msg":"stopping"')
      await expect(service.send('/health/live')).rejects.toThrow(/ECONNREFUSED|ECONNRESET/)
      await client.query('rollback')
    })
    await database.close()
    expect(await answers).toEqual([200, 201, 200])
    expect(await service.process.exit).toBe(0)
    service = await startService(place)
    expect(
      bodyOf(await service.send("/odata/Property?$filter=City eq 'Last'&$count=true&$top=0"))['@odata.count'],
    ).toBe(1)
  })

  test.runIf(kind === 'embedded')(
    'a second service on the same folder reports it and ends',
    { timeout: 60_000 },
    async () => {
      const second = spawnService(place.env)
      expect(await second.exit).toBe(1)
      expect(second.output.err).toMatch(/^The service cannot start\. .*in use.*DATA_DIR.*\n$/)
      expect((await service.send('/odata/Property?$top=1')).status).toBe(200)
    },
  )
})
