import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../src/data/database.js'
import { loadRecords } from '../../src/data/import/load-records.js'
import { generateSampleBatches } from '../../src/sample/market.js'
import { type Cluster, startCluster } from '../support/postgres.js'
import { DATABASE_LIMITS } from '../support/setup.js'
import { Ledger } from './ledger.js'
import { ServiceGroup } from './services.js'
import type { Storm } from './storm.js'

const SHARED_LISTINGS = 60
const COMMON_ENV = { NODE_ENV: 'production', POOL_SIZE: '6', MAX_COST: '1000000' }

/** A storm before its start, with the functions that crash its processes. */
export interface StormSetting {
  readonly storm: Storm
  /** Ends the database server without a checkpoint and starts it again. Undefined for the embedded database. */
  readonly crashServer: (() => Promise<void>) | undefined
  /** Kills a process of the service and starts it again. */
  killService(): Promise<void>
  end(): void
  close(): Promise<void>
}

interface DatabasePlace {
  readonly env: Readonly<Record<string, string>>
  readonly cluster: Cluster | undefined
  open(): Promise<Database>
  remove(): Promise<void>
}

async function createPlace(kind: Database['kind']): Promise<DatabasePlace | undefined> {
  const dataDir = await mkdtemp(join(tmpdir(), 'listing-storm-'))
  const removeFolder = () => rm(dataDir, { recursive: true, force: true })
  if (kind === 'embedded')
    return {
      env: { DATA_DIR: dataDir },
      cluster: undefined,
      open: () => openDatabase({ ...DATABASE_LIMITS, dataDir }, 'command'),
      remove: removeFolder,
    }
  const cluster = await startCluster()
  if (!cluster) return undefined
  const databaseUrl = cluster.url('postgres')
  return {
    env: { DATABASE_URL: databaseUrl, DATA_DIR: dataDir },
    cluster,
    open: () => openDatabase({ ...DATABASE_LIMITS, databaseUrl, dataDir: '' }, 'command'),
    remove: async () => {
      await cluster.stop()
      await removeFolder()
    },
  }
}

/** Loads the market. The first listing is visible to everybody until the end. */
async function fillMarket(
  database: Database,
): Promise<Pick<Storm, 'sharedKeys' | 'agent' | 'otherMemberKey'>> {
  await loadRecords(database, generateSampleBatches({ listings: SHARED_LISTINGS }), { areNew: true })
  await database.prisma.property.update({
    where: { ListingKey: MARKER_KEY },
    data: { InternetEntireListingDisplayYN: true },
  })
  const listings = await database.prisma.property.findMany({ select: { ListingKey: true } })
  const [agent, other] = await database.prisma.member.findMany({ take: 2, orderBy: { MemberKey: 'asc' } })
  if (!agent || !other) throw new Error('The sample market has no two members')
  return {
    sharedKeys: listings.map(({ ListingKey }) => ListingKey).filter(key => key !== MARKER_KEY),
    agent: { memberKey: agent.MemberKey, officeKey: agent.OfficeKey ?? '' },
    otherMemberKey: other.MemberKey,
  }
}

/** Listing that is changed once, after all other writes. */
export const MARKER_KEY = 'L000000001'

/** Only one of two may use the embedded database at a time: a command that opens it, and a restart. */
class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }
}

/** Starts the services. Returns undefined if PostgreSQL is not installed. */
export async function startSetting(kind: Database['kind']): Promise<StormSetting | undefined> {
  const place = await createPlace(kind)
  if (!place) return undefined
  const services = await ServiceGroup.start(kind === 'server' ? 2 : 1, { ...COMMON_ENV, ...place.env })
  const { cluster } = place
  const database = await place.open()
  const market = await fillMarket(database)
  await database.close()
  const mutex = new Mutex()
  let isEnded = false
  const storm: Storm = {
    kind,
    services,
    ledger: new Ledger(),
    faults: services.faults,
    ...market,
    connect: () => (kind === 'server' ? place.open() : mutex.run(place.open)),
    isOver: () => isEnded,
  }
  return {
    storm,
    crashServer: cluster && (() => cluster.crash().then(cluster.restart)),
    killService: () => mutex.run(() => services.killOne()),
    end: () => {
      isEnded = true
    },
    close: async () => {
      await services.stop()
      await place.remove()
    },
  }
}
