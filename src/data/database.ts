import { PrismaPg } from '@prisma/adapter-pg'
import { Client, type ClientConfig, type Pool } from 'pg'
import { messageOf } from '../errors/problem.js'
import { openEmbedded, type Role } from './embedded/embedded.js'
import { toReader, toWriter } from './postgres/executor.js'
import {
  APPLICATION,
  type DatabaseSettings,
  openPool,
  openPools,
  type Pools,
  toEmbeddedTarget,
  toTarget,
} from './postgres/pools.js'
import { StatementNames } from './postgres/statement-names.js'
import { toTransactions } from './postgres/transaction.js'
import { PrismaClient } from './prisma/client/client.js'
import type { Executors } from './sql/statement.js'

/**
 * The open database. Both kinds are reached through the same driver, so there is one code path for everything
 * above.
 */
export interface Database extends Executors {
  readonly prisma: PrismaClient
  readonly kind: 'embedded' | 'server'
  /** Where it answers, for tools of their own: a connection string, or the folder of the socket. */
  readonly target: ClientConfig
  /** Whether it answers, within the time for a connection. */
  isReady(): Promise<boolean>
  /** Runs work on one connection of its own, without a limit of time: for migrations. */
  withClient<T>(work: (client: Client) => Promise<T>): Promise<T>
  /** Ends the connections, and the embedded database if this process runs it. */
  close(): Promise<void>
}

/** The server cannot be used; the message is for the person who runs the service. */
export class DatabaseError extends Error {}

/**
 * The server does not even answer. A name with several addresses has one fault for each, and no words of its
 * own. `code` is that of the cause: by it a fault is told from one of ours.
 */
function toUnreachable(cause: unknown): DatabaseError {
  const faults: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause]
  const reasons = faults.map(fault => messageOf(fault).replace(/\s+/g, ' ').trim())
  const error = new DatabaseError(`The database of DATABASE_URL cannot be reached: ${reasons.join('; ')}`, {
    cause,
  })
  return cause instanceof Error && 'code' in cause ? Object.assign(error, { code: cause.code }) : error
}

const OLDEST_VERSION = 15
/** Statements per connection that PostgreSQL keeps parsed. */
const NAMED_STATEMENTS = 256

/**
 * Opens the database and checks that it can be used. It is not migrated here.
 * @param role `service` runs the embedded database itself; `command` goes to a running one first. Without
 * meaning for a server.
 * @throws DatabaseError, or FolderInUse of the embedded database.
 */
export async function openDatabase(settings: DatabaseSettings, role: Role): Promise<Database> {
  const { databaseUrl, poolSize } = settings
  if (databaseUrl !== undefined) return connectToServer(databaseUrl, settings)
  const embedded = await openEmbedded(settings.dataDir, role, settings.poolWaitMs)
  const target = toEmbeddedTarget(embedded.host)
  return connectTo(
    'embedded',
    target,
    { 'each time': openPool(target, settings, poolSize) },
    settings,
    embedded.close,
  )
}

async function connectToServer(databaseUrl: string, settings: DatabaseSettings): Promise<Database> {
  try {
    return await connectTo(
      'server',
      toTarget(databaseUrl),
      openPools(databaseUrl, settings),
      settings,
      async () => undefined,
    )
  } catch (error) {
    throw error instanceof DatabaseError ? error : toUnreachable(error)
  }
}

/** `release` ends what stands behind the connections. */
async function connectTo(
  kind: Database['kind'],
  target: ClientConfig,
  pools: Pools,
  settings: DatabaseSettings,
  release: () => Promise<void>,
): Promise<Database> {
  const pool = pools['each time']
  const close = async (): Promise<void> => {
    await prisma.$disconnect()
    await Promise.all([pool.end(), pools.once?.end()])
    await release()
  }
  const nameOf = toStatementNames(kind)
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator: ({ sql }) => nameOf(sql) }),
    transactionOptions: toTransactionOptions(settings),
  })
  try {
    await checkVersion(pool)
  } catch (error) {
    await close()
    throw error
  }
  return {
    prisma,
    reader: toReader(pools, nameOf),
    writer: toWriter(pools, nameOf),
    transaction: toTransactions(pool, nameOf, 2 * settings.statementTimeoutMs),
    kind,
    target,
    isReady: () => isAnswering(pool),
    withClient: work => withClient(target, work),
    close,
  }
}

/**
 * The sessions of the embedded database share one backend that forgets names of statements when it is started
 * again: there all go without.
 */
function toStatementNames(kind: Database['kind']): (text: string) => string {
  if (kind === 'embedded') return () => ''
  const names = new StatementNames(NAMED_STATEMENTS)
  return text => names.nameOf(text)
}

const toTransactionOptions = ({ poolWaitMs, statementTimeoutMs }: DatabaseSettings) => ({
  maxWait: poolWaitMs,
  timeout: 2 * statementTimeoutMs,
})

async function checkVersion(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ number: number; version: string }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  )
  const [found] = rows
  if (!found || found.number < OLDEST_VERSION * 10_000) {
    throw new DatabaseError(
      `The database is PostgreSQL ${found?.version ?? 'of an unknown version'}; the service needs ${OLDEST_VERSION} or newer.`,
    )
  }
}

const isAnswering = (pool: Pool): Promise<boolean> =>
  pool.query('select 1').then(
    () => true,
    () => false,
  )

async function withClient<T>(target: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...target, application_name: APPLICATION })
  // The loss of the connection reaches the caller through its query.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
