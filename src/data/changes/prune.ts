import type { Database } from '../database.js'

/** Numbers of events that were dropped. */
export interface PruneResult {
  /** Events before the last one of their record. */
  readonly compacted: number
  /** Events of records that are gone. */
  readonly deletions: number
}

/** Records and rows of one transaction. */
const RECORDS_PER_BATCH = 1000
const ROWS_PER_BATCH = 10_000
/** One command at a time prunes a database. */
const PRUNE_LOCK_ID = 72707370

/**
 * Drops the events older than the cutoff that readers of the log can do without: those before the last event of
 * their record, and those of records that are gone. After the latter, positions before them are gone too.
 */
export async function pruneLog(database: Database, cutoff: Date): Promise<PruneResult> {
  return database.withClient(async client => {
    await client.query('select pg_advisory_lock($1)', [PRUNE_LOCK_ID])
    try {
      let compacted = 0
      for (
        let after: { resource: string | null; key: string } = { resource: '', key: '' };
        after.resource !== null;
      ) {
        const { rows } = await client.query<{ resource: string | null; key: string; dropped: string }>(
          'select resource, key, dropped::text from compact_log($1, $2, $3, $4)',
          [cutoff, RECORDS_PER_BATCH, after.resource, after.key],
        )
        after = rows[0] ?? { resource: null, key: '' }
        compacted += Number(rows[0]?.dropped ?? 0)
      }
      let deletions = 0
      for (let after: string | null = '0'; after !== null; ) {
        const { rows }: { rows: readonly { sequence: string | null; dropped: string }[] } =
          await client.query('select sequence::text, dropped::text from prune_log($1, $2, $3)', [
            cutoff,
            ROWS_PER_BATCH,
            after,
          ])
        after = rows[0]?.sequence ?? null
        deletions += Number(rows[0]?.dropped ?? 0)
      }
      return { compacted, deletions }
    } finally {
      await client.query('select pg_advisory_unlock($1)', [PRUNE_LOCK_ID])
    }
  })
}
