import { createSecretKey, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { type Database, openDatabase } from '../../src/data/database.js'
import { type Grant, signToken } from '../../src/http/auth/sign-token.js'
import { createSender, FULL_GRANT, type TestApp } from './app.js'
import { copyDataDir, type DatabaseKind } from './database.js'
import { type ServiceProcess, type SpawnOptions, spawnService } from './service-process.js'
import { DATABASE_LIMITS, TEMPLATE_DATABASE } from './setup.js'

/** An environment in which services run one after the other: their database and settings. */
export interface TestEnvironment {
  readonly env: Readonly<Record<string, string>>
  /**
   * Opens a connection without the service. It must be closed before the environment. The embedded database
   * must be running.
   */
  connect(): Promise<Database>
  remove(): Promise<void>
}

const SECRET = 'a secret of the tests, long enough for HS256'
const COMMON_ENV = { JWT_SECRET: SECRET, SAMPLE_DATA: 'off' }

/** A migrated, empty database. `create`: how the database of a server is to be made, instead of as a copy. */
export async function createTestEnvironment(kind: DatabaseKind, create?: string): Promise<TestEnvironment> {
  if (kind === 'embedded') {
    const dataDir = await copyDataDir()
    const connect = () => openDatabase({ ...DATABASE_LIMITS, dataDir }, 'command')
    return {
      env: { ...COMMON_ENV, DATA_DIR: dataDir },
      connect,
      remove: () => rm(dataDir, { recursive: true, force: true }),
    }
  }
  const name = `listing_${randomUUID().replaceAll('-', '')}`
  await executeOnServer(`create database ${name} ${create ?? `template ${TEMPLATE_DATABASE}`}`)
  const databaseUrl = databaseUrlOf(name)
  const connect = () => openDatabase({ ...DATABASE_LIMITS, databaseUrl, dataDir: '' }, 'command')
  // An empty folder, which the service may not need.
  const dataDir = await mkdtemp(join(tmpdir(), 'listing-none-'))
  const remove = async () => {
    await executeOnServer(`drop database ${name} with (force)`)
    await rm(dataDir, { recursive: true, force: true })
  }
  return { env: { ...COMMON_ENV, DATABASE_URL: databaseUrl, DATA_DIR: dataDir }, connect, remove }
}

/** A database of a server, as the tests that stop the server need it. */
export const serverEnvironment = (databaseUrl: string): Pick<TestEnvironment, 'env'> => ({
  env: { ...COMMON_ENV, DATABASE_URL: databaseUrl },
})

function databaseUrlOf(database: string): string {
  const url = new URL(inject('serverUrl') ?? '')
  url.pathname = `/${database}`
  return url.href
}

export async function executeOnServer(sql: string): Promise<void> {
  const client = new Client({ connectionString: inject('serverUrl') ?? '' })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

/** A running service and its clients. */
export interface StartedService extends Pick<TestApp, 'base' | 'send'> {
  readonly process: ServiceProcess
  /** Sends the signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

/** Signs a token for every service that is started here. */
export const signTokenFor = (grant: Grant): string =>
  signToken(grant, createSecretKey(SECRET, 'utf8'), { jwtIssuer: undefined, jwtAudience: undefined })

/** A token with all rights. */
export const FULL_ACCESS_TOKEN = signTokenFor(FULL_GRANT)

/** Starts a service in a place and waits until it listens. */
export async function startService(
  environment: Pick<TestEnvironment, 'env'>,
  env: Readonly<Record<string, string>> = {},
  options: SpawnOptions = {},
): Promise<StartedService> {
  const service = spawnService({ ...environment.env, LOG_LEVEL: 'info', ...env }, options)
  const base = `http://127.0.0.1:${await service.port}`
  const stop = (signal: NodeJS.Signals) => {
    service.child.kill(signal)
    return service.exit
  }
  return { base, send: createSender(base, `Bearer ${FULL_ACCESS_TOKEN}`), process: service, stop }
}
