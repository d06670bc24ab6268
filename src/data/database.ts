import { PrismaPg } from '@prisma/adapter-pg'
import { Client, type ClientConfig, type Pool } from 'pg'
import { messageOf } from '../errors/problem.js'
import { openEmbeddedDatabase, type ProcessKind } from './embedded/embedded.js'
import { createReadExecutor, createWriteExecutor } from './postgres/executor.js'
import {
  APPLICATION_NAME,
  type DatabaseSettings,
  openPool,
  openPools,
  type Pools,
  toClientConfig,
  toEmbeddedClientConfig,
} from './postgres/pools.js'
import { StatementNames } from './postgres/statement-names.js'
import { createTransactionRunner } from './postgres/transaction.js'
import { PrismaClient } from './prisma/client/client.js'
import { PrismaRecordFinder } from './prisma/find-records.js'
import type { StatementExecutors } from './sql/statement.js'

/**
 * The open database. Both kinds are reached through the same driver, so there is one code path for everything
 * above.
 */
export interface Database extends StatementExecutors {
  readonly prisma: PrismaClient
  readonly kind: 'embedded' | 'server'
  /** Where it answers, for tools of their own: a connection string, or the folder of the socket. */
  readonly clientConfig: ClientConfig
  /** Whether it answers, within the time for a connection. */
  isReady(): Promise<boolean>
  /** Runs work on one connection of its own, without a limit of time: for migrations. */
  withClient<T>(callback: (client: Client) => Promise<T>): Promise<T>
  /** Ends the connections, and the embedded database if this process runs it. */
  close(): Promise<void>
}

/** The server cannot be used; the message is for the person who runs the service. */
export class DatabaseSetupError extends Error {}

/**
 * The server does not even answer. A name with several addresses has one fault for each, and no words of its
 * own. `code` is that of the cause: by it a fault is told from one of ours.
 */
function toUnreachableError(cause: unknown): DatabaseSetupError {
  const faults: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause]
  const reasons = faults.map(fault => messageOf(fault).replace(/\s+/g, ' ').trim())
  const error = new DatabaseSetupError(
    `The database of DATABASE_URL cannot be reached: ${reasons.join('; ')}`,
    {
      cause,
    },
  )
  return cause instanceof Error && 'code' in cause ? Object.assign(error, { code: cause.code }) : error
}

const MIN_SERVER_VERSION = 15
/** Statements per connection that PostgreSQL keeps parsed. */
const MAX_NAMED_STATEMENTS = 256

/**
 * Opens the database and checks that it can be used. It is not migrated here.
 * @param processKind `service` runs the embedded database itself; `command` goes to a running one first. Without
 * meaning for a server.
 * @throws DatabaseError, or FolderInUse of the embedded database.
 */
export async function openDatabase(settings: DatabaseSettings, processKind: ProcessKind): Promise<Database> {
  const { databaseUrl, poolSize } = settings
  if (databaseUrl !== undefined) return connectToServer(databaseUrl, settings)
  const embedded = await openEmbeddedDatabase(settings.dataDir, processKind, settings.poolWaitMs)
  const clientConfig = toEmbeddedClientConfig(embedded.host)
  return connectWithPools(
    'embedded',
    clientConfig,
    { custom: openPool(clientConfig, settings, poolSize) },
    settings,
    embedded.close,
  )
}

async function connectToServer(databaseUrl: string, settings: DatabaseSettings): Promise<Database> {
  try {
    return await connectWithPools(
      'server',
      toClientConfig(databaseUrl),
      openPools(databaseUrl, settings),
      settings,
      async () => undefined,
    )
  } catch (error) {
    throw error instanceof DatabaseSetupError ? error : toUnreachableError(error)
  }
}

/** `release` ends what stands behind the connections. */
async function connectWithPools(
  kind: Database['kind'],
  clientConfig: ClientConfig,
  pools: Pools,
  settings: DatabaseSettings,
  closeEmbedded: () => Promise<void>,
): Promise<Database> {
  const pool = pools.custom
  const close = async (): Promise<void> => {
    await prisma.$disconnect()
    await Promise.all([pool.end(), pools.generic?.end()])
    await closeEmbedded()
  }
  const statementNameOf = createStatementNamer(kind)
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator: ({ sql }) => statementNameOf(sql) }),
    transactionOptions: toTransactionOptions(settings),
  })
  try {
    await checkServerVersion(pool)
  } catch (error) {
    await close()
    throw error
  }
  return {
    prisma,
    reader: {
      ...createReadExecutor(pools, statementNameOf),
      ...(settings.readEngine === 'prisma' && { finder: new PrismaRecordFinder(prisma) }),
    },
    writer: createWriteExecutor(pools, statementNameOf),
    transaction: createTransactionRunner(pool, statementNameOf, 2 * settings.statementTimeoutMs),
    kind,
    clientConfig,
    isReady: () => isReachable(pool),
    withClient: callback => withClient(clientConfig, callback),
    close,
  }
}

/**
 * The sessions of the embedded database share one backend that forgets names of statements when it is started
 * again: there all go without.
 */
function createStatementNamer(kind: Database['kind']): (text: string) => string {
  if (kind === 'embedded') return () => ''
  const names = new StatementNames(MAX_NAMED_STATEMENTS)
  return text => names.nameOf(text)
}

const toTransactionOptions = ({ poolWaitMs, statementTimeoutMs }: DatabaseSettings) => ({
  maxWait: poolWaitMs,
  timeout: 2 * statementTimeoutMs,
})

async function checkServerVersion(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ number: number; version: string }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  )
  const [server] = rows
  if (!server || server.number < MIN_SERVER_VERSION * 10_000) {
    throw new DatabaseSetupError(
      `The database is PostgreSQL ${server?.version ?? 'of an unknown version'}; the service needs ${MIN_SERVER_VERSION} or newer.`,
    )
  }
}

const isReachable = (pool: Pool): Promise<boolean> =>
  pool.query('select 1').then(
    () => true,
    () => false,
  )

async function withClient<T>(
  clientConfig: ClientConfig,
  callback: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ ...clientConfig, application_name: APPLICATION_NAME })
  // The loss of the connection reaches the caller through its query.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await callback(client)
  } finally {
    await client.end()
  }
}
