import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { SETTINGS } from '../../src/config/settings.js'
import { openDatabase } from '../../src/data/database.js'
import { migrate } from '../../src/data/migrate.js'
import { type Cluster, startCluster } from './postgres.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated, empty DATA_DIR, to be copied. */
    readonly embeddedTemplate: string
    /**
     * The connection string of a server with a migrated, empty database `listing_template`; null without
     * PostgreSQL.
     */
    readonly serverUrl: string | null
  }
}

export const DATABASE_LIMITS = { poolSize: 4, poolWaitMs: 10_000, statementTimeoutMs: 30_000 } as const
export const TEMPLATE_DATABASE = 'listing_template'

async function createTemplateDatabase(cluster: Cluster): Promise<void> {
  const client = new Client({ connectionString: cluster.url('postgres') })
  await client.connect()
  await client.query(`create database ${TEMPLATE_DATABASE}`)
  await client.end()
  await migrateDatabase(cluster.url(TEMPLATE_DATABASE))
}

async function migrateDatabase(databaseUrl: string | undefined, dataDir = ''): Promise<void> {
  const database = await openDatabase({ ...DATABASE_LIMITS, databaseUrl, dataDir }, 'command')
  await migrate(database)
  await database.close()
}

/** The folder for all files of the tests. It is deleted at the end of the run, also after Ctrl-C. */
export function createRunFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'listing-test-'))
  // The user that runs PostgreSQL needs access to its subfolders.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = folder
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
  return folder
}

/**
 * Removes the settings of the service from an environment, and excludes a settings file: tests must use no database
 * of the operator.
 */
export function removeSettings(env: Record<string, string | undefined>): void {
  for (const { name } of Object.values(SETTINGS)) delete env[name]
  env['NODE_ENV'] = 'test'
  env['ENV_FILE'] = 'none'
}

/**
 * Creates one migrated database of each kind before the tests, and deletes them afterwards.
 * TEST_DATABASES=embedded or server omits the other kind in tests that run on both.
 */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  removeSettings(process.env)
  const embeddedTemplate = join(createRunFolder(), 'template')
  const cluster = process.env['TEST_DATABASES'] === 'embedded' ? undefined : await startCluster()
  const teardown = async (): Promise<void> => cluster?.stop()
  try {
    await Promise.all([
      migrateDatabase(undefined, embeddedTemplate),
      cluster && createTemplateDatabase(cluster),
    ])
  } catch (error) {
    await teardown()
    throw error
  }
  provide('embeddedTemplate', embeddedTemplate)
  provide('serverUrl', cluster?.url('postgres') ?? null)
  return teardown
}
