import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Client } from 'pg'
import { type FieldRecord, toFieldRecords } from '../model/field-record.js'
import { ENTITIES } from '../model/model.js'
import { type Database, DatabaseSetupError } from './database.js'

/** A folder of prisma/migrations. */
export interface Migration {
  readonly name: string
  readonly sql: string
  /** SHA-256 of the file in hexadecimal, as Prisma stores it. */
  readonly checksum: string
}

/** Receives the progress of a migration. */
export interface MigrationListener {
  /** Called before a migration is applied, with its number (from 1) and the total count. */
  onApply?(index: number, count: number): void
  /** Called with a message for each stored value that was replaced. */
  onWarning?(message: string): void
}

/** The parts of a notice of pg that are used. */
interface Notice {
  readonly severity?: string | undefined
  readonly message?: string | undefined
}

interface Histories {
  readonly known: readonly Migration[]
  readonly superseded: readonly Migration[]
}

interface AppliedMigrationRow {
  readonly name: string
  readonly checksum: string
  readonly finished: boolean
}

const MIGRATIONS_FOLDER = new URL('../../prisma/migrations/', import.meta.url)

/**
 * The migrations that SQUASHED replaced. In a database with some of them, the rest is applied, and then those
 * of SQUASHED are recorded as applied.
 */
const SUPERSEDED_FOLDER = new URL('../../prisma/superseded/', import.meta.url)

/** The migrations that create the same objects as those of SUPERSEDED_FOLDER. */
const SQUASHED: readonly string[] = [
  '20261129080000_tables',
  '20261129080100_functions',
  '20261129080200_change_log',
  '20261129080300_documents_and_search',
  '20261129080400_indexes',
]

/** Advisory lock of `prisma migrate deploy`, so that the two programs exclude each other. */
const MIGRATION_LOCK_ID = 72707369

/**
 * The table of Prisma, with all its columns, so that `prisma migrate deploy` can continue from this state.
 */
const CREATE_MIGRATIONS_TABLE = `create table if not exists "_prisma_migrations" (
  "id" varchar(36) primary key not null, "checksum" varchar(64) not null, "finished_at" timestamptz, "migration_name" varchar(255) not null,
  "logs" text, "rolled_back_at" timestamptz, "started_at" timestamptz not null default now(), "applied_steps_count" integer not null default 0)`

const INSERT_APPLIED_MIGRATION = `insert into "_prisma_migrations" (id, checksum, migration_name, finished_at, applied_steps_count) values ($1, $2, $3, clock_timestamp(), 1)`

const SELECT_APPLIED_MIGRATIONS = `select migration_name as name, checksum, finished_at is not null as finished from "_prisma_migrations" where rolled_back_at is null`

/** Returns the migrations that were in use before they were squashed, in their order. */
export const readSupersededMigrations = (): Promise<readonly Migration[]> => readMigrations(SUPERSEDED_FOLDER)

/** Returns the migrations of the project in order. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<readonly Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter(entry => entry.isDirectory()).map(entry => entry.name)
  return Promise.all(
    names.sort().map(async name => {
      const sql = await readFile(new URL(`${name}/migration.sql`, folder), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/**
 * Applies pending migrations. Each migration and its row in Prisma's table are one transaction. Several
 * processes may migrate at the same time.
 * @returns the names of the migrations that were applied
 * @throws DatabaseError that names a migration which failed, was changed after it was applied, or is unknown
 * to the code
 */
export async function migrate(
  database: Database,
  migrations?: readonly Migration[],
  listener: MigrationListener = {},
): Promise<{ readonly applied: readonly string[] }> {
  const histories = {
    known: migrations ?? (await readMigrations()),
    superseded: await readSupersededMigrations(),
  }
  return database.withClient(async client => {
    const applied: string[] = []
    const reportNotice = ({ severity, message = '' }: Notice) => {
      if (severity === 'WARNING') listener.onWarning?.(message)
    }
    client.on('notice', reportNotice)
    try {
      for (
        let name = await applyNextMigration(client, histories, listener);
        name !== undefined;
        name = await applyNextMigration(client, histories, listener)
      )
        applied.push(name)
      return { applied }
    } finally {
      client.off('notice', reportNotice)
    }
  })
}

/** The transaction holds the lock. The applied migrations are read after it was acquired. */
async function applyNextMigration(
  client: Client,
  histories: Histories,
  listener: MigrationListener,
): Promise<string | undefined> {
  // The role's default may be stricter. A snapshot from before the lock would not contain the migrations that
  // other processes have committed meanwhile.
  await client.query('begin isolation level read committed')
  try {
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK_ID})`)
    await client.query(CREATE_MIGRATIONS_TABLE)
    const next = await findNextMigration(client, histories)
    if (next) {
      const migrations = histories.superseded.includes(next) ? histories.superseded : histories.known
      listener.onApply?.(migrations.indexOf(next) + 1, migrations.length)
      await applyMigration(client, next)
    } else {
      await checkValues(client)
      await saveFieldRecords(client)
    }
    await client.query('commit')
    return next?.name
  } catch (error) {
    // If the connection is broken, the server has already rolled back.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Adds missing constraints of new columns by a function of the migration value_checks. */
async function checkValues(client: Client): Promise<void> {
  const { rows } = await client.query<{ readonly exists: boolean }>(
    `select to_regprocedure('check_values(text[])') is not null as exists`,
  )
  if (rows[0]?.exists) await client.query('select check_values($1)', [[...ENTITIES.keys()]])
}

const FIELD_COLUMNS: readonly (keyof FieldRecord)[] = [
  'ResourceName', 'FieldName', 'DisplayName', 'Definition', 'Type', 'LookupName', 'CollectionYN', 'ExpandableYN', 'NullableYN', 'Length', 'Precision', 'Scale',
  'ReadableYN', 'OrderableYN', 'UpdatableYN', 'SearchableYN', 'ReadableBy',
] // biome-ignore format: in the order of the table
const fieldColumnsOf = (row: string): string => FIELD_COLUMNS.map(column => `${row}."${column}"`).join(', ')
const FIELD_COLUMN_LIST = FIELD_COLUMNS.map(column => `"${column}"`).join(', ')

/** Writes only the rows that differ from the model. */
const UPSERT_FIELDS = `insert into "Field" ("FieldKey", ${FIELD_COLUMN_LIST}, "ModificationTimestamp")
  select r."FieldKey", ${fieldColumnsOf('r')}, date_trunc('milliseconds', clock_timestamp()) from json_populate_recordset(null::"Field", $1::json) r
  where not exists (select from "Field" f where f."FieldKey" = r."FieldKey" and (${fieldColumnsOf('f')}) is not distinct from (${fieldColumnsOf('r')}))
  on conflict ("FieldKey") do update set (${FIELD_COLUMN_LIST}, "ModificationTimestamp") = (${fieldColumnsOf('excluded')}, excluded."ModificationTimestamp")`
const DELETE_FIELDS = `delete from "Field" where "FieldKey" <> all ($1::text[])`

/** Updates the table Field from the model, if the table exists. */
async function saveFieldRecords(client: Client): Promise<void> {
  const { rows } = await client.query<{ readonly exists: boolean }>(
    `select to_regclass('"Field"') is not null as exists`,
  )
  if (!rows[0]?.exists) return
  const records = toFieldRecords()
  await client.query(UPSERT_FIELDS, [JSON.stringify(records)])
  await client.query(DELETE_FIELDS, [records.map(r => r.FieldKey)])
}

/** Returns the next migration to apply. Superseded migrations that are all applied are replaced first. */
async function findNextMigration(client: Client, histories: Histories): Promise<Migration | undefined> {
  const { known, superseded } = histories
  const { rows } = await client.query<AppliedMigrationRow>(SELECT_APPLIED_MIGRATIONS)
  checkAppliedMigrations([...superseded, ...known], rows)
  const applied = new Set(rows.map(row => row.name))
  if (!superseded.some(m => applied.has(m.name))) return known.find(m => !applied.has(m.name))
  const missing = superseded.find(m => !applied.has(m.name))
  if (missing) return missing
  await recordSquashedMigrations(client, histories)
  return known.find(m => !applied.has(m.name) && !SQUASHED.includes(m.name))
}

/** Throws if the database cannot continue from the applied migrations. */
function checkAppliedMigrations(known: readonly Migration[], applied: readonly AppliedMigrationRow[]): void {
  for (const { name, checksum, finished } of applied) {
    const migration = known.find(m => m.name === name)
    if (!migration)
      throw new DatabaseSetupError(
        `The database is newer than this version of the service: it has the migration ${name}, which is unknown here.`,
      )
    if (!finished)
      throw new DatabaseSetupError(
        `The migration ${name} failed in another program (prisma migrate). Resolve it there first.`,
      )
    if (migration.checksum !== checksum)
      throw new DatabaseSetupError(
        `The migration ${name} was changed after it was applied. Restore its file.`,
      )
  }
}

/** Replaces the rows of the superseded migrations by those of the migrations that create the same objects. */
async function recordSquashedMigrations(client: Client, { known, superseded }: Histories): Promise<void> {
  await client.query(`delete from "_prisma_migrations" where migration_name = any($1)`, [
    superseded.map(m => m.name),
  ])
  for (const migration of known.filter(m => SQUASHED.includes(m.name)))
    await client.query(INSERT_APPLIED_MIGRATION, toInsertValues(migration))
}

async function applyMigration(client: Client, migration: Migration): Promise<void> {
  const { name, sql } = migration
  await client.query(sql).catch(error => {
    throw new DatabaseSetupError(
      `The migration ${name} failed, and was rolled back: ${describeSqlError(error, sql)}`,
      { cause: error },
    )
  })
  await client.query(INSERT_APPLIED_MIGRATION, toInsertValues(migration))
}

const toInsertValues = ({ name, checksum }: Migration) => [randomUUID(), checksum, name]

/**
 * Describes an error of a migration with its line. PostgreSQL reports the position as a character of the
 * whole text, from 1.
 */
function describeSqlError(error: Error & { readonly position?: string }, sql: string): string {
  const line = error.position && sql.slice(0, Number(error.position)).split('\n').length
  return line ? `${error.message} (line ${line} of migration.sql)` : error.message
}
