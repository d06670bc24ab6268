import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/data/database.js'
import { bodyOf } from '../support/assertions.js'
import { TRANSPORTS, watch } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import { type Cluster, startCluster } from '../support/postgres.js'
import { type RunningService, serverPlace, startIn, TOKEN } from '../support/process.js'
import { LIMITS } from '../support/setup.js'

describe.runIf(DATABASE_KINDS.includes('server'))('live updates of two services on one database', () => {
  let cluster: Cluster
  let services: readonly RunningService[] = []
  beforeAll(async () => {
    const started = await startCluster()
    if (!started) throw new Error('There is no PostgreSQL on this machine')
    cluster = started
    const place = serverPlace(cluster.url('postgres'))
    services = [await startIn(place), await startIn(place)]
    const database = await openDatabase(
      { ...LIMITS, databaseUrl: cluster.url('postgres'), dataDir: '' },
      'command',
    )
    await database.prisma.member.createMany({ data: ['M1', 'M4'].map(MemberKey => ({ MemberKey })) })
    await database.close()
  })
  afterAll(async () => {
    await Promise.all(services.map(service => service.end('SIGTERM')))
    await cluster.stop()
  })

  /** The key of a draft that one of the services has made. */
  async function create(service: RunningService | undefined): Promise<string> {
    if (!service) throw new Error('No service')
    const answer = await service.send('/odata/Property', { method: 'POST', body: DRAFT })
    expect(answer.status, answer.text).toBe(201)
    return String(bodyOf(answer)['ListingKey'])
  }
  const watchAll = (service: RunningService | undefined, transport: (typeof TRANSPORTS)[number]) =>
    watch<{ readonly ListingKey: string }>(
      { base: service?.base ?? '', tokenFor: () => TOKEN },
      'subscription { propertyChanged(since: 0) { ListingKey } }',
      {
        transport,
      },
    )

  test.each(TRANSPORTS)(
    'what is written through one is told by the other, also after the database was away: %s',
    { timeout: 120_000 },
    async transport => {
      const [here, there] = services
      const watching = watchAll(here, transport)
      const told = async (key: string) => {
        while ((await watching.change()).ListingKey !== key);
      }
      await told(await create(there))
      await told(await create(here))
      await cluster.interrupt()
      await cluster.resume()
      for (const service of services)
        await expect
          .poll(async () => (await service.send('/health/ready')).status, { timeout: 20_000 })
          .toBe(200)
      await told(await create(there))
      await told(await create(there))
      watching.end()
    },
  )

  test('it listens on one connection of its own, and only while somebody waits', {
    timeout: 60_000,
  }, async () => {
    const database = await openDatabase(
      { ...LIMITS, databaseUrl: cluster.url('postgres'), dataDir: '' },
      'command',
    )
    const listeners = async () =>
      (
        await database.prisma.$queryRaw<
          unknown[]
        >`select from pg_stat_activity where application_name = 'listing-service changes'`
      ).length
    await expect.poll(listeners, { timeout: 10_000 }).toBe(0)
    const watches = [1, 2, 3].map(() => watchAll(services[0], 'WebSocket'))
    await Promise.all(watches.map(w => w.change()))
    await expect.poll(listeners, { timeout: 10_000 }).toBe(1)
    for (const w of watches) w.end()
    await expect.poll(listeners, { timeout: 10_000 }).toBe(0)
    await database.close()
  })
})
