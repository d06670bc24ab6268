import { readFile } from 'node:fs/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as schemaEngine from '@prisma/schema-engine-wasm/schema_engine_bg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Migration, readMigrations } from '../../src/data/migrate.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// The check of `prisma migrate status`, by Prisma's schema engine, which the command of Prisma would download.
// The command prints "Database schema is up to date!" if there is no diagnosis.

const ENGINE = import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg')
const UP_TO_DATE = {
  hasMigrationsTable: true,
  history: null,
  failedMigrationNames: [],
  editedMigrationNames: [],
}

type Exports = Readonly<Record<string, unknown>>

// Members that the declarations of Node and of the engine lack.
const { WebAssembly: wasm } = globalThis as unknown as {
  WebAssembly: {
    instantiate(bytes: Uint8Array, imports: object): Promise<{ readonly instance: { exports: Exports } }>
  }
}
const { __wbg_set_wasm: setExports } = schemaEngine as unknown as {
  __wbg_set_wasm: (exports: Exports) => void
}

async function loadSchemaEngine(): Promise<void> {
  const bytes = await readFile(new URL('schema_engine_bg.wasm', ENGINE))
  const { instance } = await wasm.instantiate(bytes, { './schema_engine_bg.js': { ...schemaEngine } })
  setExports(instance.exports)
  const start = instance.exports['__wbindgen_start']
  if (typeof start === 'function') start()
}

const toMigrationDirectory = ({ name, sql }: Migration): schemaEngine.MigrationDirectory => ({
  path: name,
  migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
})

// Once for both databases: an engine uses the module that was loaded last.
await loadSchemaEngine()

describe.each(DATABASE_KINDS)('prisma migrate status of the %s database', kind => {
  let database: TestDatabase
  let engine: schemaEngine.SchemaEngine
  let known: readonly Migration[]
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    known = await readMigrations()
    const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(database.clientConfig))
    const schema = await readFile('prisma/schema.prisma', 'utf8')
    const options = { datamodels: [['schema.prisma', schema] as [string, string]] }
    engine = await schemaEngine.SchemaEngine.new(options, () => undefined, adapter)
  })
  afterAll(() => database?.close())

  const diagnose = async (migrations: readonly Migration[]) =>
    engine.diagnoseMigrationHistory({
      migrationsList: {
        baseDir: '/',
        lockfile: {
          path: 'migration_lock.toml',
          content: await readFile('prisma/migrations/migration_lock.toml', 'utf8'),
        },
        shadowDbInitScript: '',
        migrationDirectories: migrations.map(toMigrationDirectory),
      },
      optInToShadowDatabase: false,
      filters: { externalTables: [], externalEnums: [] },
    })

  test('a database that the service migrated is up to date', async () => {
    expect(await diagnose(known)).toEqual(UP_TO_DATE)
  })

  test('a migration that is not applied, and one that was edited, are reported', async () => {
    const next = { name: '99999999999999_next', sql: 'select 1;', checksum: '' }
    expect(await diagnose([...known, next])).toEqual({
      ...UP_TO_DATE,
      history: { diagnostic: 'databaseIsBehind', unappliedMigrationNames: [next.name] },
    })
    const [first, ...others] = known
    const edited = first && { ...first, sql: `${first.sql}\n-- edited` }
    expect(await diagnose(edited ? [edited, ...others] : [])).toEqual({
      ...UP_TO_DATE,
      editedMigrationNames: [first?.name],
    })
  })
})
