import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { type Database, openDatabase } from '../../src/data/database.js'
import type { DatabaseSettings } from '../../src/data/postgres/pools.js'
import { DATABASE_LIMITS, TEMPLATE_DATABASE } from './setup.js'

export type DatabaseKind = Database['kind']

/** The tested kinds of databases. `server` requires PostgreSQL on the machine. */
export const DATABASE_KINDS: readonly DatabaseKind[] =
  inject('serverUrl') === null
    ? ['embedded']
    : process.env['TEST_DATABASES'] === 'server'
      ? ['server']
      : ['embedded', 'server']

/** `TEST_READ_ENGINE=prisma` reads by Prisma what it can express, in every test. */
const READ_ENGINE = process.env['TEST_READ_ENGINE'] === 'prisma' ? { readEngine: 'prisma' as const } : {}

/** A separate migrated, empty database, which is deleted when it closes. */
export interface TestDatabase extends Database {
  readonly settings: DatabaseSettings
}

/** Opens a migrated, empty database. */
export const openTestDatabase = (
  kind: DatabaseKind,
  limits: Partial<DatabaseSettings> = {},
): Promise<TestDatabase> => (kind === 'embedded' ? openEmbeddedCopy(limits) : openServerCopy(limits))

/** A copy of the migrated DATA_DIR, for tests that open it themselves. */
export async function copyDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'listing-data-'))
  await cp(inject('embeddedTemplate'), dataDir, { recursive: true })
  return dataDir
}

async function openEmbeddedCopy(limits: Partial<DatabaseSettings>): Promise<TestDatabase> {
  const settings = { ...DATABASE_LIMITS, ...READ_ENGINE, dataDir: await copyDataDir(), ...limits }
  return withRemoval(settings, await openDatabase(settings, 'service'), () =>
    rm(settings.dataDir, { recursive: true, force: true }),
  )
}

async function openServerCopy(limits: Partial<DatabaseSettings>): Promise<TestDatabase> {
  const serverUrl = inject('serverUrl')
  if (serverUrl === null) throw new Error('There is no PostgreSQL on this machine')
  const name = `listing_${randomUUID().replaceAll('-', '')}`
  await executeSql(serverUrl, `create database ${name} template ${TEMPLATE_DATABASE}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const settings = { ...DATABASE_LIMITS, ...READ_ENGINE, dataDir: '', databaseUrl: url.href, ...limits }
  return withRemoval(settings, await openDatabase(settings, 'service'), () =>
    executeSql(serverUrl, `drop database ${name} with (force)`),
  )
}

function withRemoval(
  settings: DatabaseSettings,
  database: Database,
  remove: () => Promise<void>,
): TestDatabase {
  const close = async (): Promise<void> => {
    await database.close()
    await remove()
  }
  return { ...database, settings, close }
}

async function executeSql(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}
