import type { Database } from './database.js'
import type { Migration } from './migrate.js'

/** The state of the database for a probe. */
export interface Readiness {
  /** The database answers, and every migration of the code is applied. */
  readonly isReady: boolean
  /** The lead of the clock of changes over the machine's, in ms; negative if it is the slower one. */
  readonly clockAheadMs: number
}

interface ReadinessRow {
  readonly applied: readonly string[]
  /** Time of the last change, or that of the database if it is later, in ms since 1970. */
  readonly clock: number
}

/**
 * The clock of changes never goes back: after a change that was made while the clock was ahead, all later
 * changes have times in the future too.
 */
const SELECT_READINESS = `select array(select migration_name from "_prisma_migrations" where finished_at is not null and rolled_back_at is null) as applied,
  greatest(extract(epoch from clock_timestamp()) * 1000, (select last_value from change_clock))::float8 as clock`

const NOT_READY: Readiness = { isReady: false, clockAheadMs: 0 }

/**
 * Creates the check for /health/ready. It waits for no request: it has a connection of its own, and while
 * the embedded database works for somebody else it repeats its last answer, since a busy service is ready.
 */
export function createReadinessCheck(
  database: Database,
  migrations: readonly Migration[],
): () => Promise<Readiness> {
  let last: Readiness | undefined
  return async () => {
    if (!last || !database.isBusy()) {
      const found = await readReadiness(database, migrations)
      // The database can have become busy in the meantime.
      if (found.isReady || !last || !database.isBusy()) last = found
    }
    return last
  }
}

async function readReadiness(database: Database, migrations: readonly Migration[]): Promise<Readiness> {
  const [row] = await database
    .queryControl<ReadinessRow>({ text: SELECT_READINESS, values: [] })
    .catch(() => [])
  if (!row) return NOT_READY
  const applied = new Set(row.applied)
  return {
    isReady: migrations.every(({ name }) => applied.has(name)),
    clockAheadMs: Math.round(row.clock - Date.now()),
  }
}
