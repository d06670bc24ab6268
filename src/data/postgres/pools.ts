import { type ClientConfig, Pool, type PoolConfig } from 'pg'
import type { PlanCacheMode } from '../sql/statement.js'
import { endWithin, PoolConnections } from './connection-end.js'

/** The connection pools of one process, by purpose. */
export interface Pools {
  /** Connections of reads and Prisma with custom plans: PostgreSQL plans each statement for its values. */
  readonly custom: Pool
  /** Connections of writes and reads with generic plans, which PostgreSQL reuses. Undefined for a small pool size. */
  readonly generic?: Pool
  /** One connection that is never busy for long, for the readiness check and the lock monitor. */
  readonly control: Pool
}

export interface DatabaseSettings {
  /** Connection string of a PostgreSQL server. Undefined for the embedded database in `dataDir`. */
  readonly databaseUrl?: string | undefined
  readonly dataDir: string
  /** Maximum number of connections. */
  readonly poolSize: number
  /** Maximum wait of a request for a connection, in ms. */
  readonly poolWaitMs: number
  /** Maximum duration of a statement, in ms. */
  readonly statementTimeoutMs: number
  /** The engine that reads plans. Defaults to `sql`. */
  readonly readEngine?: 'sql' | 'prisma'
}

export const APPLICATION_NAME = 'listing-service'

/** Time beyond its limits after which a statement without a response has failed, in ms. */
const RESPONSE_GRACE_MS = 10_000
/** Time beyond the statement timeout in which all connections end when the database is closed, in ms. */
const CLOSE_GRACE_MS = 5000

/** Time limit of a statement on the control connection, and of connecting, in ms. */
const CONTROL_TIMEOUT_MS = 2000

/**
 * Opens the pools of a server. Half of the connections have generic plans, for statements that find records by
 * key or by one index. Other statements use the rest.
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

/**
 * Opens the pools of the embedded database. Requests have one connection, because the database runs one
 * statement at a time.
 */
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

/**
 * Ends the pools after other work of closing. Statements have the time of their timeout to end. Then their
 * connections are closed.
 */
export function endPools(
  { custom, generic, control }: Pools,
  settings: DatabaseSettings,
  closeOthers: () => Promise<void>,
): Promise<void> {
  const pools = [custom, control, ...(generic ? [generic] : [])]
  const end = async () => {
    await closeOthers()
    await Promise.all(pools.map(pool => pool.end()))
  }
  return endWithin(end(), settings.statementTimeoutMs + CLOSE_GRACE_MS, () => {
    for (const pool of pools) POOL_CONNECTIONS.get(pool)?.destroy()
  })
}

const POOL_CONNECTIONS = new WeakMap<Pool, PoolConnections>()

const ignoreError = (): void => undefined

function openPool(clientConfig: ClientConfig, settings: DatabaseSettings, max: number): Pool {
  const pool = new Pool({ ...toPoolConfig(clientConfig, settings), max })
  // A lost connection is replaced at its next use. Without these listeners, its error would end the process.
  pool.on('error', ignoreError)
  pool.on('connect', client => client.on('error', ignoreError))
  POOL_CONNECTIONS.set(pool, new PoolConnections(pool))
  return pool
}

export const toEmbeddedClientConfig = (host: string): ClientConfig => ({
  host,
  port: 5432,
  user: 'postgres',
  database: 'postgres',
})

/** PostgreSQL's names of the plan cache modes. */
const PLAN_CACHE_MODE = {
  custom: 'force_custom_plan',
  generic: 'force_generic_plan',
} as const satisfies Record<PlanCacheMode, string>

/**
 * Adds session settings to the connection string, so that they apply from the first statement: UTC, because
 * timestamps are written as text; the plan cache mode; and no JIT, which takes minutes for the large
 * statements of nested expansions and is interrupted neither by statement_timeout nor by
 * pg_terminate_backend.
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
 * entries, so its first reads take two to ten times as long. The default of pg is ten seconds, so reads would
 * be slow after every pause.
 */
const IDLE_TIMEOUT_MS = 600_000

/**
 * Idle time before a TCP keep-alive, in ms. It is shorter than the minutes after which firewalls and load
 * balancers drop a connection.
 */
const KEEP_ALIVE_DELAY_MS = 60_000

/** TCP keep-alive of a connection, which detects a server that has vanished. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS } as const

const toPoolConfig = (clientConfig: ClientConfig, settings: DatabaseSettings): PoolConfig => ({
  ...clientConfig,
  idleTimeoutMillis: IDLE_TIMEOUT_MS,
  ...KEEP_ALIVE,
  application_name: APPLICATION_NAME,
  connectionTimeoutMillis: settings.poolWaitMs,
  statement_timeout: settings.statementTimeoutMs,
  lock_timeout: settings.poolWaitMs,
  idle_in_transaction_session_timeout: 2 * settings.statementTimeoutMs,
  // The server ends statements itself. This limit is for one that no longer answers.
  query_timeout: settings.statementTimeoutMs + settings.poolWaitMs + RESPONSE_GRACE_MS,
})
