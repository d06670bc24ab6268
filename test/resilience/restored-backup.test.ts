import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Database, openDatabase } from '../../src/data/database.js'
import { bodyOf, nextLinkOf, rowsOf } from '../support/assertions.js'
import { deltaLinkOf, TRACK_CHANGES } from '../support/clients/delta-replica.js'
import { startSubscription } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import { startCluster } from '../support/postgres.js'
import {
  createTestEnvironment,
  FULL_ACCESS_TOKEN,
  type StartedService,
  serverEnvironment,
  startService,
  type TestEnvironment,
} from '../support/process.js'
import { DATABASE_LIMITS } from '../support/setup.js'
import { addWebhook, webhookServiceOf } from '../webhooks/setting.js'

const run = promisify(execFile)
const POLL = { timeout: 60_000 }
const LISTINGS = ['L1', 'L2', 'L3', 'L4', 'L5']
const ENV = { WEBHOOK_PRIVATE_ADDRESSES: 'on' }

type Place = Pick<TestEnvironment, 'env' | 'connect'>

async function beside<T>(place: Place, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await place.connect()
  return work(database).finally(() => database.close())
}

const createListings = ({ prisma }: Database) =>
  prisma.property.createMany({
    data: LISTINGS.map(ListingKey => ({ ListingKey, StandardStatus: 'Active', City: 'Vail' })),
  })
const change = (place: Place, times: number) =>
  beside(place, async ({ prisma }) => {
    for (let n = 0; n < times; n++) await prisma.property.updateMany({ data: { TaxYear: 2000 + n } })
  })

/** Uses a position. Returns the status and the code of the response. */
type Use = (service: StartedService) => Promise<readonly [status: number, code: string | undefined]>

const pathOf = (link: string | undefined): string => (link ?? '').replace(/^http:\/\/[^/]+/, '')

const byLink =
  (link: string | undefined): Use =>
  async ({ send }) => {
    const answer = await send(pathOf(link))
    const { error } = bodyOf(answer) as { readonly error?: { readonly code: string } }
    return [answer.status, error?.code]
  }
const byQuery =
  (query: string): Use =>
  async ({ send }) => {
    const answer = await send('/graphql', { method: 'POST', body: { query } })
    const { errors } = answer.json as { readonly errors?: readonly { extensions: { code: string } }[] }
    return errors ? [410, errors[0]?.extensions.code] : [answer.status, undefined]
  }
const bySubscription =
  (since: number): Use =>
  async ({ base }) => {
    const query = `subscription { propertyChanged(since: ${since}) { ListingKey } }`
    const app = { base, tokenFor: () => FULL_ACCESS_TOKEN }
    const subscription = startSubscription(app, query)
    const { errors } = (await subscription.next()) ?? {}
    subscription.dispose()
    return errors ? [410, errors[0]?.extensions.code] : [200, undefined]
  }

/** Takes a position by each method. */
async function takePositions({ send }: StartedService): Promise<Readonly<Record<string, Use>>> {
  const number = async () => {
    const [last] = rowsOf(await send('/odata/EntityEvent?$orderby=EntityEventSequence desc&$top=1'))
    return Number(last?.['EntityEventSequence'])
  }
  const after = (position: unknown) => byLink(`/odata/EntityEvent?$filter=EntityEventSequence gt ${position}`)
  const data = async (query: string) => {
    const { json } = await send('/graphql', { method: 'POST', body: { query } })
    return (json as { readonly data: Record<string, { token?: string; pageInfo?: { endCursor: string } }> })
      .data
  }
  const deltaLink = deltaLinkOf(await send('/odata/Property', { headers: TRACK_CHANGES }))
  const { propertyChanges } = await data('{ propertyChanges { token } }')
  const one = { Prefer: 'odata.track-changes, maxpagesize=2' }
  const copyPage = nextLinkOf(await send('/odata/Property', { headers: one }))
  const logPage = nextLinkOf(await send('/odata/EntityEvent?$top=2'))
  const { entityEvents } = await data('{ entityEvents(first: 2) { pageInfo { endCursor } } }')
  // Subscriptions return what follows, so one event is left for them.
  const end = await number()
  const exported = await send('/odata/Property', { headers: { Accept: 'application/x-ndjson' } })
  const digest = bodyOf(await send("/odata/Digest(ResourceName='Property')"))
  return {
    'a delta link': byLink(deltaLink),
    'a page of a tracked copy': async service => {
      // The page itself is good in any log. Its last page has the delta link.
      let answer = await service.send(pathOf(copyPage))
      for (let link = nextLinkOf(answer); link !== undefined; link = nextLinkOf(answer))
        answer = await service.send(pathOf(link))
      return answer.status === 200 ? byLink(deltaLinkOf(answer))(service) : byLink(copyPage)(service)
    },
    'a page link of the log': byLink(logPage),
    'the number of an event': after(end),
    'the position of an export': after(exported.headers['last-event-sequence']),
    'the position of a digest': after(digest['LastEventSequence']),
    'a token of GraphQL': byQuery(`{ propertyChanges(since: "${propertyChanges?.token}") { token } }`),
    'a cursor of GraphQL': byQuery(
      `{ entityEvents(first: 2, after: ${JSON.stringify(entityEvents?.pageInfo?.endCursor)}) { nodes { ResourceName } } }`,
    ),
    'the position of a subscription': bySubscription(end - 1),
  }
}

async function useAll(uses: Readonly<Record<string, Use>>, service: StartedService) {
  const results: Record<string, readonly [number, string | undefined]> = {}
  for (const [name, use] of Object.entries(uses)) results[name] = await use(service)
  return results
}
const allOf = (uses: Readonly<Record<string, Use>>, toResult: (name: string) => unknown) =>
  Object.fromEntries(Object.keys(uses).map(name => [name, toResult(name)]))

/** Copies the database of a service that does not run, as docs/operations.md says. */
async function backUp(kind: string, { env }: Place): Promise<TestEnvironment> {
  if (kind === 'embedded') {
    const dataDir = join(await mkdtemp(join(tmpdir(), 'listing-backup-')), 'data')
    await cp(env['DATA_DIR'] ?? '', dataDir, { recursive: true })
    return {
      env: { ...env, DATA_DIR: dataDir },
      connect: () => openDatabase({ ...DATABASE_LIMITS, dataDir }, 'command'),
      remove: () => rm(dataDir, { recursive: true, force: true }),
    }
  }
  const file = join(await mkdtemp(join(tmpdir(), 'listing-dump-')), 'dump')
  await run('pg_dump', ['-Fc', '-f', file, env['DATABASE_URL'] ?? ''])
  const restored = await createTestEnvironment('server', '')
  await run('pg_restore', ['--exit-on-error', '-d', restored.env['DATABASE_URL'] ?? '', file])
  return restored
}

describe.each(DATABASE_KINDS)('a restored backup of the %s database', { timeout: 180_000 }, kind => {
  test('REP2-10 after migrate --new-log positions of the old log are gone, also when the new one has grown', async () => {
    const place = await createTestEnvironment(kind)
    let service = await startService(place, ENV)
    onTestFinished(async () => {
      await service.stop('SIGKILL')
      await place.remove()
    })
    await beside(place, createListings)
    const webhook = await beside(place, database => addWebhook(database))
    await service.stop('SIGTERM')
    const restored = await backUp(kind, place)
    onTestFinished(() => restored.remove())
    service = await startService(place, ENV)
    await change(place, 4)
    const uses = await takePositions(service)
    expect(await useAll(uses, service)).toEqual(allOf(uses, () => [200, undefined]))
    await service.stop('SIGTERM')

    const program = ['--import', './src/typescript.mjs', 'src/cli/migrate.ts', '--new-log']
    const { stdout } = await run(process.execPath, program, { env: { ...process.env, ...restored.env } })
    expect(stdout).toContain('The change log is new.')
    service = await startService(restored, ENV)
    const gone = allOf(uses, name => [410, /GraphQL|subscription/.test(name) ? 'GONE' : '4010'])
    expect(await useAll(uses, service)).toEqual(gone)
    const stateOf = () => beside(restored, database => webhookServiceOf(database).find(webhook.id))
    await expect.poll(async () => (await stateOf()).State, POLL).toBe('lost')
    await change(restored, 10)
    expect(await useAll(uses, service)).toEqual(gone)
    const next = await takePositions(service)
    expect(await useAll(next, service)).toEqual(allOf(next, () => [200, undefined]))
    await webhook.receiver.close()
  })
})

test.runIf(DATABASE_KINDS.includes('server'))(
  'REP2-10 after the promotion of a standby all positions are good',
  { timeout: 180_000 },
  async () => {
    const primary = await startCluster()
    if (!primary) throw new Error('PostgreSQL was found a moment ago')
    const placeOf = (databaseUrl: string): Place => ({
      ...serverEnvironment(databaseUrl),
      connect: () => openDatabase({ ...DATABASE_LIMITS, databaseUrl, dataDir: '' }, 'command'),
    })
    const [place, ends] = [placeOf(primary.url('postgres')), [() => primary.stop()]]
    onTestFinished(async () => {
      for (const end of ends.reverse()) await end()
    })
    const before = await startService(place)
    ends.push(async () => void (await before.stop('SIGKILL')))
    await beside(place, createListings)
    const standby = await primary.startStandby()
    ends.push(() => standby.stop())
    await change(place, 4)
    const uses = await takePositions(before)
    const [row] = await beside(place, ({ prisma }) =>
      prisma.$queryRawUnsafe<{ lsn: string }[]>('select pg_current_wal_lsn()::text as lsn'),
    )
    const promoted = placeOf(standby.url('postgres'))
    const ask = (sql: string) =>
      beside(promoted, ({ prisma }) => prisma.$queryRawUnsafe<{ done: boolean }[]>(`select ${sql} as done`))
    await expect.poll(() => ask(`pg_last_wal_replay_lsn() >= '${row?.lsn}'`), POLL).toEqual([{ done: true }])
    await before.stop('SIGTERM')
    expect(await ask('pg_promote()')).toEqual([{ done: true }])
    const after = await startService(promoted)
    ends.push(async () => void (await after.stop('SIGKILL')))
    expect(await useAll(uses, after)).toEqual(allOf(uses, () => [200, undefined]))
    await change(promoted, 4)
    expect(await useAll(uses, after)).toEqual(allOf(uses, () => [200, undefined]))
  },
)
