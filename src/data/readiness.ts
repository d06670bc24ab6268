import { messageOf } from '../errors/problem.js'
import type { Database } from './database.js'
import type { Migration } from './migrate.js'

/** The state of the database for a health probe. */
export interface Readiness {
  /** True if the database answers and every migration of the code is applied. */
  readonly isReady: boolean
  /** The reasons for not being ready, for the operator. */
  readonly reasons: readonly string[]
  /** Milliseconds by which the change clock is ahead of the machine's clock. Negative if it lags. */
  readonly clockAheadMs: number
}

interface ReadinessRow {
  readonly applied: readonly string[]
  /** Time of the last change or of the database, whichever is later, in ms since 1970. */
  readonly clock: number
}

/**
 * The change clock never goes back. After a change that was made while the clock was ahead, all later changes
 * also have times in the future.
 */
const SELECT_READINESS = `select array(select migration_name from "_prisma_migrations" where finished_at is not null and rolled_back_at is null) as applied,
  greatest(extract(epoch from clock_timestamp()) * 1000, (select last_value from change_clock))::float8 as clock`

/**
 * Creates the check of /health/ready. It uses its own connection and waits for no request. While the embedded
 * database is busy, the last result is repeated, because a busy service is ready.
 */
export function createReadinessCheck(
  database: Database,
  migrations: readonly Migration[],
): () => Promise<Readiness> {
  let last: Readiness | undefined
  return async () => {
    if (!last || !database.isBusy()) {
      const found = await readReadiness(database, migrations)
      // The database may have become busy during the check.
      if (found.isReady || !last || !database.isBusy()) last = found
    }
    return last
  }
}

async function readReadiness(database: Database, migrations: readonly Migration[]): Promise<Readiness> {
  try {
    const [row] = await database.queryControl<ReadinessRow>({ text: SELECT_READINESS, values: [] })
    const applied = new Set(row?.applied)
    const missing = migrations.filter(({ name }) => !applied.has(name)).map(({ name }) => name)
    return {
      isReady: missing.length === 0,
      reasons: missing.length === 0 ? [] : [`These migrations are not applied: ${missing.join(', ')}.`],
      clockAheadMs: row ? Math.round(row.clock - Date.now()) : 0,
    }
  } catch (error) {
    return {
      isReady: false,
      reasons: [`The database does not answer: ${messageOf(error)}.`],
      clockAheadMs: 0,
    }
  }
}
