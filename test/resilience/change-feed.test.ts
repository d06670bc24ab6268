import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/data/database.js'
import { bodyOf } from '../support/assertions.js'
import { startSubscription, TRANSPORTS } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import { type Cluster, startCluster } from '../support/postgres.js'
import {
  FULL_ACCESS_TOKEN,
  type StartedService,
  serverEnvironment,
  startService,
} from '../support/process.js'
import { DATABASE_LIMITS } from '../support/setup.js'

describe.runIf(DATABASE_KINDS.includes('server'))('live updates of two services on one database', () => {
  let cluster: Cluster
  let services: readonly StartedService[] = []
  beforeAll(async () => {
    const started = await startCluster()
    if (!started) throw new Error('There is no PostgreSQL on this machine')
    cluster = started
    const place = serverEnvironment(cluster.url('postgres'))
    services = [await startService(place), await startService(place)]
    const database = await openDatabase(
      { ...DATABASE_LIMITS, databaseUrl: cluster.url('postgres'), dataDir: '' },
      'command',
    )
    await database.prisma.member.createMany({ data: ['M1', 'M4'].map(MemberKey => ({ MemberKey })) })
    await database.close()
  })
  afterAll(async () => {
    await Promise.all(services.map(service => service.stop('SIGTERM')))
    await cluster.stop()
  })

  /** Creates a draft on one of the services and returns its key. */
  async function create(service: StartedService | undefined): Promise<string> {
    if (!service) throw new Error('No service')
    const answer = await service.send('/odata/Property', { method: 'POST', body: DRAFT })
    expect(answer.status, answer.text).toBe(201)
    return String(bodyOf(answer)['ListingKey'])
  }
  const watchAll = (service: StartedService | undefined, transport: (typeof TRANSPORTS)[number]) =>
    startSubscription<{ readonly ListingKey: string }>(
      { base: service?.base ?? '', tokenFor: () => FULL_ACCESS_TOKEN },
      'subscription { propertyChanged(since: 0) { ListingKey } }',
      {
        transport,
      },
    )

  test.each(TRANSPORTS)(
    'a write through one process reaches subscribers of the other, also after an outage of the database: %s',
    { timeout: 120_000 },
    async transport => {
      const [here, there] = services
      const watching = watchAll(here, transport)
      const told = async (key: string) => {
        while ((await watching.nextChange()).ListingKey !== key);
      }
      await told(await create(there))
      await told(await create(here))
      await cluster.shutdownFast()
      await cluster.restart()
      for (const service of services)
        await expect
          .poll(async () => (await service.send('/health/ready')).status, { timeout: 20_000 })
          .toBe(200)
      await told(await create(there))
      await told(await create(there))
      watching.dispose()
    },
  )

  test('a read that exceeds the statement limit is repeated, and the change is shown', {
    timeout: 60_000,
  }, async () => {
    const env = { STATEMENT_TIMEOUT_MS: '2000', POOL_WAIT_MS: '20000', SLOW_QUERY_MS: '500' }
    const slow = await startService(serverEnvironment(cluster.url('postgres')), env)
    const key = await create(services[0])
    const watching = startSubscription<{ readonly property: { readonly City: string } | null }>(
      { base: slow.base, tokenFor: () => FULL_ACCESS_TOKEN },
      `subscription { propertyChanged(since: 0, filter: { ListingKey: { eq: "${key}" } }) { property { City Media { MediaKey } } } }`,
    )
    // The change of a listing outside the filter brings no listing.
    const shows = async (city: string) => (await watching.nextChange()).property?.City === city
    while (!(await shows(String(DRAFT.City))));
    const blocker = new Client({ connectionString: cluster.url('postgres') })
    await blocker.connect()
    await blocker.query('begin; lock table "Media" in access exclusive mode')
    const patched = await services[0]?.send(`/odata/Property('${key}')`, {
      method: 'PATCH',
      body: { City: 'Waco', ChangedByMemberKey: 'M1' },
    })
    expect(patched?.status, patched?.text).toBe(200)
    const timeouts = () =>
      slow.process.output.out.split('\n').filter(line => line.includes('"failed":true')).length
    await expect.poll(timeouts, { timeout: 20_000 }).toBeGreaterThan(0)
    await blocker.query('commit')
    await blocker.end()
    while (!(await shows('Waco')));
    watching.dispose()
    await slow.stop('SIGTERM')
  })

  test('it listens on its own connection, and only while there are subscribers', {
    timeout: 60_000,
  }, async () => {
    const database = await openDatabase(
      { ...DATABASE_LIMITS, databaseUrl: cluster.url('postgres'), dataDir: '' },
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
    await Promise.all(watches.map(w => w.nextChange()))
    await expect.poll(listeners, { timeout: 10_000 }).toBe(1)
    for (const w of watches) w.dispose()
    await expect.poll(listeners, { timeout: 10_000 }).toBe(0)
    await database.close()
  })
})
