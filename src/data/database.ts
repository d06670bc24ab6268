import { PrismaPg } from '@prisma/adapter-pg'
import { Client, type ClientConfig, Pool, type PoolConfig } from 'pg'
import { messageOf } from '../errors/problem.js'
import { openEmbedded, type Role } from './embedded/embedded.js'
import { type Pools, toReader, toWriter } from './postgres/executor.js'
import { StatementNames } from './postgres/statement-names.js'
import { type Transactions, toTransactions } from './postgres/transaction.js'
import { PrismaClient } from './prisma/client/client.js'
import type { Connection, Planning } from './sql/statement.js'

export interface DatabaseSettings {
  /** A connection string of a PostgreSQL server; unset: the embedded database in `dataDir`. */
  readonly databaseUrl?: string | undefined
  readonly dataDir: string
  /** Connections at most. */
  readonly poolSize: number
  /** How long a request waits for a connection, in ms. */
  readonly poolWaitMs: number
  /** How long one statement may take, in ms. */
  readonly statementTimeoutMs: number
}

/**
 * The open database. Both kinds are reached through the same driver, so there is one code path for everything
 * above.
 */
export interface Database {
  readonly prisma: PrismaClient
  /** The same connections for statements that stand alone, without Prisma between. */
  readonly reader: Connection
  readonly writer: Connection
  /** Several statements as one. */
  readonly transaction: Transactions
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

const APPLICATION = 'listing-service'
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

/**
 * Half of the connections plan once: most of what is read and written in one statement. Transactions need the
 * others.
 */
function openPools(databaseUrl: string, settings: DatabaseSettings): Pools {
  const half = Math.floor(settings.poolSize / 2)
  const open = (planning: Planning, max: number) => openPool(toTarget(databaseUrl, planning), settings, max)
  return {
    'each time': open('each time', settings.poolSize - half),
    ...(half > 0 && { once: open('once', half) }),
  }
}

function openPool(target: ClientConfig, settings: DatabaseSettings, max: number): Pool {
  const pool = new Pool({ ...toPoolConfig(target, settings), max })
  // A connection that is lost while nobody uses it is replaced at the next use; without a listener the
  // process would end.
  pool.on('error', () => undefined)
  return pool
}

const toEmbeddedTarget = (host: string): ClientConfig => ({
  host,
  port: 5432,
  user: 'postgres',
  database: 'postgres',
})

/** PostgreSQL's names for both kinds of planning. */
const PLAN_CACHE_MODE = {
  'each time': 'force_custom_plan',
  once: 'force_generic_plan',
} as const satisfies Record<Planning, string>

/**
 * Session settings go with the connection string, so that they hold from the first statement on: UTC, since
 * timestamps are written from text; how statements are planned; and no compilation (JIT), which for the large
 * statements of nested expansions takes minutes, and which neither statement_timeout nor pg_terminate_backend
 * interrupts.
 */
function toTarget(databaseUrl: string, planning: Planning = 'each time'): ClientConfig {
  const url = new URL(databaseUrl)
  const options = [
    url.searchParams.get('options'),
    '-c timezone=UTC',
    `-c plan_cache_mode=${PLAN_CACHE_MODE[planning]}`,
    '-c jit=off',
  ]
  url.searchParams.set('options', options.filter(Boolean).join(' '))
  return { connectionString: url.href }
}

/**
 * How long a connection that nobody uses is kept. A new one knows no statement, no plan and nothing of the
 * catalog: its first reads take two to ten times as long, and pg would end connections after ten seconds, so
 * that a service with pauses would always read like that.
 */
const IDLE_MS = 600_000
/**
 * How long nothing is said before the network is asked whether the connection is still there: less than the
 * minutes after which firewalls and balancers forget it.
 */
const KEEP_ALIVE_MS = 60_000

const toPoolConfig = (target: ClientConfig, settings: DatabaseSettings): PoolConfig => ({
  ...target,
  idleTimeoutMillis: IDLE_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  application_name: APPLICATION,
  connectionTimeoutMillis: settings.poolWaitMs,
  statement_timeout: settings.statementTimeoutMs,
  lock_timeout: settings.poolWaitMs,
  idle_in_transaction_session_timeout: 2 * settings.statementTimeoutMs,
})

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
