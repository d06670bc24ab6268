import { type ClientConfig, Pool, type PoolConfig } from 'pg'
import type { PlanCacheMode } from '../sql/statement.js'

/** The connections of one process, by what they are for. */
export interface Pools {
  /** Connections on which PostgreSQL plans each statement for its values: those of requests, and of Prisma. */
  readonly custom: Pool
  /** Connections of requests on which PostgreSQL plans a statement once. Where there are few, there are none. */
  readonly generic?: Pool
  /** One connection that is never busy for long: for readiness, and to look at the other sessions. */
  readonly control: Pool
}

export interface DatabaseSettings {
  /** A connection string of a PostgreSQL server; unset: the embedded database in `dataDir`. */
  readonly databaseUrl?: string | undefined
  readonly dataDir: string
  /** Connections at most. */
  readonly poolSize: number
  /** Maximum wait of a request for a connection, in ms. */
  readonly poolWaitMs: number
  /** Maximum duration of a statement, in ms. */
  readonly statementTimeoutMs: number
  /** Reads plans. Absent: the SQL engine. */
  readonly readEngine?: 'sql' | 'prisma'
}

export const APPLICATION_NAME = 'listing-service'

/** Time limit of a statement on the control connection, and of connecting, in ms. */
const CONTROL_TIMEOUT_MS = 2000

/**
 * Half of the connections plan once: most of what is read and written in one statement. Transactions need the
 * others.
 */
export function openServerPools(databaseUrl: string, settings: DatabaseSettings): Pools {
  const genericPoolSize = Math.floor(settings.poolSize / 2)
  const openWithMode = (planCacheMode: PlanCacheMode, max: number) =>
    openPool(toClientConfig(databaseUrl, planCacheMode), settings, max)
  return {
    custom: openWithMode('custom', settings.poolSize - genericPoolSize),
    ...(genericPoolSize > 0 && { generic: openWithMode('generic', genericPoolSize) }),
    control: openControlPool(toClientConfig(databaseUrl), settings),
  }
}

/** One connection for requests: the embedded database runs one statement at a time. */
export const openEmbeddedPools = (clientConfig: ClientConfig, settings: DatabaseSettings): Pools => ({
  custom: openPool(clientConfig, settings, 1),
  control: openControlPool(clientConfig, settings),
})

const openControlPool = (clientConfig: ClientConfig, settings: DatabaseSettings): Pool =>
  openPool(
    clientConfig,
    { ...settings, poolWaitMs: CONTROL_TIMEOUT_MS, statementTimeoutMs: CONTROL_TIMEOUT_MS },
    1,
  )

export const endPools = async ({ custom, generic, control }: Pools): Promise<void> => {
  await Promise.all([custom, generic, control].map(pool => pool?.end()))
}

const ignoreError = (): void => undefined

function openPool(clientConfig: ClientConfig, settings: DatabaseSettings, max: number): Pool {
  const pool = new Pool({ ...toPoolConfig(clientConfig, settings), max })
  // A lost connection is replaced at its next use. Without these listeners its loss would end the process.
  pool.on('error', ignoreError)
  pool.on('connect', client => client.on('error', ignoreError))
  return pool
}

export const toEmbeddedClientConfig = (host: string): ClientConfig => ({
  host,
  port: 5432,
  user: 'postgres',
  database: 'postgres',
})

/** PostgreSQL's names for both kinds of planning. */
const PLAN_CACHE_MODE = {
  custom: 'force_custom_plan',
  generic: 'force_generic_plan',
} as const satisfies Record<PlanCacheMode, string>

/**
 * Session settings go with the connection string, so that they hold from the first statement on: UTC, since
 * timestamps are written from text; how statements are planned; and no compilation (JIT), which for the large
 * statements of nested expansions takes minutes, and which neither statement_timeout nor pg_terminate_backend
 * interrupts.
 */
export function toClientConfig(databaseUrl: string, planCacheMode: PlanCacheMode = 'custom'): ClientConfig {
  const url = new URL(databaseUrl)
  const options = [
    url.searchParams.get('options'),
    '-c timezone=UTC',
    `-c plan_cache_mode=${PLAN_CACHE_MODE[planCacheMode]}`,
    '-c jit=off',
  ]
  url.searchParams.set('options', options.filter(Boolean).join(' '))
  return { connectionString: url.href }
}

/**
 * Time after which an idle connection is closed. A new connection has no cached statements, plans or catalog
 * entries, so its first reads take two to ten times as long. The default of pg is ten seconds, after which
 * every pause would slow a service down.
 */
const IDLE_TIMEOUT_MS = 600_000

/**
 * Idle time before a TCP keep-alive, in ms. It is shorter than the minutes after which firewalls and load
 * balancers drop a connection.
 */
const KEEP_ALIVE_DELAY_MS = 60_000

const toPoolConfig = (clientConfig: ClientConfig, settings: DatabaseSettings): PoolConfig => ({
  ...clientConfig,
  idleTimeoutMillis: IDLE_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
  application_name: APPLICATION_NAME,
  connectionTimeoutMillis: settings.poolWaitMs,
  statement_timeout: settings.statementTimeoutMs,
  lock_timeout: settings.poolWaitMs,
  idle_in_transaction_session_timeout: 2 * settings.statementTimeoutMs,
})
