import { Client, type ClientConfig, type Pool, type QueryResultRow } from 'pg'
import { messageOf } from '../errors/problem.js'
import type { BlockingSessionListener } from './blocking-session.js'
import { openEmbeddedDatabase, type ProcessKind } from './embedded/embedded.js'
import { endClient } from './postgres/connection-end.js'
import { toProblemOnError } from './postgres/errors.js'
import {
  createExecutorFactory,
  createServiceExecutors,
  type ExecutorFactory,
  type FairPools,
} from './postgres/executor.js'
import { FairPool } from './postgres/fair-pool.js'
import type { StatementListener } from './postgres/finished-statement.js'
import { LockMonitor } from './postgres/lock-monitor.js'
import type { PoolStatistics } from './postgres/pool-statistics.js'
import {
  APPLICATION_NAME,
  type DatabaseSettings,
  endPools,
  KEEP_ALIVE,
  openEmbeddedPools,
  openServerPools,
  type Pools,
  toClientConfig,
  toEmbeddedClientConfig,
} from './postgres/pools.js'
import { StatementNames } from './postgres/statement-names.js'
import { PrismaClient } from './prisma/client/client.js'
import { createDriverAdapter } from './prisma/driver-adapter.js'
import { PrismaRecordFinder } from './prisma/find-records.js'
import type { Statement, StatementExecutors } from './sql/statement.js'

/** An open database. Both kinds use the same driver, so callers need not distinguish them. */
export interface Database extends StatementExecutors {
  readonly prisma: PrismaClient
  readonly kind: 'embedded' | 'server'
  /** The address for other tools: a connection string, or the folder of the socket. */
  readonly clientConfig: ClientConfig
  /** Creates executors that share connections fairly among clients, and stop when the request is aborted. */
  readonly executorsFor: ExecutorFactory
  /** Runs a short statement without waiting for requests. */
  queryControl<T>(statement: Statement): Promise<readonly T[]>
  /** Returns the use of each pool of connections for requests. */
  poolStatistics(): readonly (PoolStatistics & { readonly pool: keyof FairPools })[]
  /** Returns true while new statements must wait because the embedded database is running one. */
  isBusy(): boolean
  /** Runs work on its own connection without a time limit, as for migrations. */
  withClient<T>(callback: (client: Client) => Promise<T>): Promise<T>
  /** Closes the connections, and stops the embedded database if this process runs it. */
  close(): Promise<void>
}

/** Listeners to events of the database. */
export interface DatabaseListeners {
  /** Called when a session blocks requests, such as an open transaction in psql. */
  readonly onBlocked?: BlockingSessionListener
  /** Called for each statement of a request. */
  readonly onStatement?: StatementListener
}

/** Returns the name of the database in PostgreSQL, as the driver reads it from the address. */
export const databaseNameOf = ({ clientConfig }: Pick<Database, 'clientConfig'>): string | undefined =>
  new Client(clientConfig).database

/** Thrown if the server cannot be used. The message is for the operator. */
export class DatabaseSetupError extends Error {}

/**
 * Returns the error for a server that does not answer. A name with several addresses has one error for each
 * and no message of its own. `code` is that of the cause, which distinguishes it from an internal error.
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
/** Maximum time to open a connection for a command or a migration, in ms. */
const CONNECT_TIMEOUT_MS = 15_000
/** Maximum number of prepared statements of a connection. */
const MAX_NAMED_STATEMENTS = 256

/**
 * Opens the database and checks that it can be used. Does not migrate it. @param processKind `service` runs
 * the embedded database; `command` first tries to connect to a running one. Ignored for a server.
 * @throws DatabaseSetupError, or FolderInUseError of the embedded database.
 */
export async function openDatabase(
  settings: DatabaseSettings,
  processKind: ProcessKind,
  { onBlocked = () => undefined, onStatement }: DatabaseListeners = {},
): Promise<Database> {
  const { databaseUrl } = settings
  if (databaseUrl !== undefined) return connectToServer(databaseUrl, settings, onBlocked, onStatement)
  const embedded = await openEmbeddedDatabase(settings.dataDir, processKind, settings.poolWaitMs, onBlocked)
  const clientConfig = toEmbeddedClientConfig(embedded.host)
  const pools = openEmbeddedPools(clientConfig, settings)
  return connectWithPools({
    kind: 'embedded',
    clientConfig,
    pools,
    settings,
    lockMonitor: undefined,
    onStatement,
    isBusy: embedded.isBusy,
    closeEmbedded: embedded.close,
  })
}

async function connectToServer(
  databaseUrl: string,
  settings: DatabaseSettings,
  onBlocked: BlockingSessionListener,
  onStatement: StatementListener | undefined,
): Promise<Database> {
  try {
    const pools = openServerPools(databaseUrl, settings)
    const lockMonitor = new LockMonitor({
      query: statement => queryPool(pools.control, statement),
      maxWaitMs: settings.poolWaitMs,
      onBlocked,
    })
    return await connectWithPools({
      kind: 'server',
      clientConfig: toClientConfig(databaseUrl),
      pools,
      settings,
      lockMonitor,
      onStatement,
      isBusy: () => false,
      closeEmbedded: async () => undefined,
    })
  } catch (error) {
    throw error instanceof DatabaseSetupError ? error : toUnreachableError(error)
  }
}

/** The parts of an open database that depend on its kind. */
interface DatabaseResources extends Pick<Database, 'kind' | 'clientConfig' | 'isBusy'> {
  readonly pools: Pools
  readonly settings: DatabaseSettings
  readonly lockMonitor: LockMonitor | undefined
  readonly onStatement: StatementListener | undefined
  /** Stops the embedded database if this process runs it. */
  readonly closeEmbedded: () => Promise<void>
}

async function connectWithPools(parts: DatabaseResources): Promise<Database> {
  const { kind, clientConfig, pools, settings, isBusy } = parts
  const statementNameOf = createStatementNamer(kind)
  const fairPools = toFairPools(parts, statementNameOf)
  const prisma = new PrismaClient({
    adapter: createDriverAdapter(fairPools.custom, statementNameOf),
    transactionOptions: toTransactionOptions(settings),
  })
  const close = async (): Promise<void> => {
    await endPools(pools, settings, () => prisma.$disconnect())
    await parts.closeEmbedded()
  }
  try {
    await checkServerVersion(pools.control)
  } catch (error) {
    await close()
    throw error
  }
  const finder = settings.readEngine === 'prisma' ? new PrismaRecordFinder(prisma) : undefined
  const executorsFor = createExecutorFactory({
    pools: fairPools,
    transactionTimeoutMs: 2 * settings.statementTimeoutMs,
    finder,
  })
  return {
    ...createServiceExecutors(executorsFor, finder),
    executorsFor,
    prisma,
    kind,
    clientConfig,
    queryControl: statement => toProblemOnError(() => queryPool(pools.control, statement)),
    poolStatistics: () =>
      (['custom', 'generic'] as const).flatMap(pool => {
        const found = fairPools[pool]
        return found ? [{ pool, ...found.statistics }] : []
      }),
    isBusy,
    withClient: callback => withClient(clientConfig, callback),
    close,
  }
}

function toFairPools(
  { clientConfig, pools, settings, lockMonitor, onStatement }: DatabaseResources,
  statementNameOf: (text: string) => string,
): FairPools {
  const toFairPool = (pool: Pool) =>
    new FairPool({
      pool,
      size: pool.options.max,
      clientConfig,
      maxWaitMs: settings.poolWaitMs,
      statementNameOf,
      lockMonitor,
      onStatement,
    })
  return {
    custom: toFairPool(pools.custom),
    ...(pools.generic && { generic: toFairPool(pools.generic) }),
  }
}

/**
 * The sessions of the embedded database share one backend, which loses the names of statements when it
 * restarts. Its statements therefore have no names.
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

async function queryPool<T>(pool: Pool, { text, values }: Statement): Promise<readonly T[]> {
  const { rows } = await pool.query<T & QueryResultRow>(text, [...values])
  return rows
}

async function withClient<T>(
  clientConfig: ClientConfig,
  callback: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    ...clientConfig,
    ...KEEP_ALIVE,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  // The query of the caller reports the loss of the connection.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await callback(client)
  } finally {
    await endClient(client)
  }
}
