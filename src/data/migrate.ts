import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Client } from 'pg'
import { type Database, DatabaseSetupError } from './database.js'

/** A folder of prisma/migrations. */
export interface Migration {
  readonly name: string
  readonly sql: string
  /** SHA-256 of the file in hexadecimal, as Prisma stores it. */
  readonly checksum: string
}

interface AppliedMigrationRow {
  readonly name: string
  readonly checksum: string
  readonly finished: boolean
}

const MIGRATIONS_FOLDER = new URL('../../prisma/migrations/', import.meta.url)

/** Number of the lock of `prisma migrate deploy`. Both programs exclude each other. */
const MIGRATION_LOCK_ID = 72707369

/**
 * The table of Prisma, with all its columns, so that `prisma migrate deploy` can continue from this state.
 */
const CREATE_MIGRATIONS_TABLE = `create table if not exists "_prisma_migrations" (
  "id" varchar(36) primary key not null, "checksum" varchar(64) not null, "finished_at" timestamptz, "migration_name" varchar(255) not null,
  "logs" text, "rolled_back_at" timestamptz, "started_at" timestamptz not null default now(), "applied_steps_count" integer not null default 0)`

const SELECT_APPLIED_MIGRATIONS = `select migration_name as name, checksum, finished_at is not null as finished from "_prisma_migrations" where rolled_back_at is null`

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
 * @param onApply called before a migration is applied, with its number (from 1) and the total count
 * @returns the names of the migrations that were applied
 * @throws DatabaseError that names a migration which failed, was changed after it was applied, or is unknown
 * to the code
 */
export async function migrate(
  database: Database,
  migrations?: readonly Migration[],
  onApply: (index: number, count: number) => void = () => undefined,
): Promise<{ readonly applied: readonly string[] }> {
  const known = migrations ?? (await readMigrations())
  return database.withClient(async client => {
    const applied: string[] = []
    for (
      let name = await applyNextMigration(client, known, onApply);
      name !== undefined;
      name = await applyNextMigration(client, known, onApply)
    )
      applied.push(name)
    return { applied }
  })
}

/** The transaction holds the lock. The applied migrations are read after it was acquired. */
async function applyNextMigration(
  client: Client,
  known: readonly Migration[],
  onApply: (index: number, count: number) => void,
): Promise<string | undefined> {
  // The role's default may be stricter. A snapshot from before the lock would not contain the migrations that
  // other processes have committed meanwhile.
  await client.query('begin isolation level read committed')
  try {
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK_ID})`)
    await client.query(CREATE_MIGRATIONS_TABLE)
    const next = findNextMigration(
      known,
      (await client.query<AppliedMigrationRow>(SELECT_APPLIED_MIGRATIONS)).rows,
    )
    if (next) {
      onApply(known.indexOf(next) + 1, known.length)
      await applyMigration(client, next)
    }
    await client.query('commit')
    return next?.name
  } catch (error) {
    // If the connection is broken, the server has already rolled back.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

function findNextMigration(
  known: readonly Migration[],
  applied: readonly AppliedMigrationRow[],
): Migration | undefined {
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
  return known.find(({ name }) => !applied.some(row => row.name === name))
}

async function applyMigration(client: Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query(sql).catch(error => {
    throw new DatabaseSetupError(
      `The migration ${name} failed, and was rolled back: ${describeSqlError(error, sql)}`,
      { cause: error },
    )
  })
  await client.query(
    `insert into "_prisma_migrations" (id, checksum, migration_name, finished_at, applied_steps_count) values ($1, $2, $3, clock_timestamp(), 1)`,
    [randomUUID(), checksum, name],
  )
}

/**
 * Describes an error of a migration with its line. PostgreSQL reports the position as a character of the
 * whole text, from 1.
 */
function describeSqlError(error: Error & { readonly position?: string }, sql: string): string {
  const line = error.position && sql.slice(0, Number(error.position)).split('\n').length
  return line ? `${error.message} (line ${line} of migration.sql)` : error.message
}
