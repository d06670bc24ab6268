import type { Client } from 'pg'
import type { Database } from '../database.js'

/** The numbers of dropped events. */
export interface PruneResult {
  /** Events that precede the last event of their record. */
  readonly compacted: number
  /** Events of deleted records. */
  readonly deletions: number
}

/** Maximum number of records and of rows in one transaction. */
const RECORDS_PER_BATCH = 1000
const ROWS_PER_BATCH = 10_000
/** Advisory lock of the command: only one prunes a database at a time. */
const PRUNE_LOCK_ID = 72707370

/**
 * Drops events older than the cutoff: those that precede the last event of their record, and those of deleted
 * records. Dropping the latter also invalidates the positions before them.
 */
export async function pruneLog(database: Database, cutoff: Date): Promise<PruneResult> {
  return database.withClient(async client => {
    await client.query('select pg_advisory_lock($1)', [PRUNE_LOCK_ID])
    try {
      await client.query(MARK_LOG)
      return {
        compacted: await dropInBatches(client, COMPACT_LOG, [cutoff, RECORDS_PER_BATCH], ['', '']),
        deletions: await dropInBatches(client, PRUNE_LOG, [cutoff, ROWS_PER_BATCH], ['0']),
      }
    } finally {
      await client.query('select pg_advisory_unlock($1)', [PRUNE_LOCK_ID])
    }
  })
}

/** The position after a batch. Its first member is null after the last batch. */
type BatchPosition = readonly (string | null)[]

/**
 * Readers of a feed may not have received an event for a long time. The mark keeps their end of the log above
 * its floor.
 */
const MARK_LOG = `select "admin".mark_log('feeds') where "admin".has_feeds()`
const COMPACT_LOG = 'select array[resource, key] as position, dropped::text from compact_log($1, $2, $3, $4)'
const PRUNE_LOG = 'select array[sequence::text] as position, dropped::text from prune_log($1, $2, $3)'

/** Runs batches from a position, each in its own transaction. Returns the number of dropped events. */
async function dropInBatches(
  client: Pick<Client, 'query'>,
  statement: string,
  parameters: readonly unknown[],
  start: BatchPosition,
): Promise<number> {
  let count = 0
  let position = start
  while (position[0] !== null) {
    const { rows } = await client.query<{ readonly position: BatchPosition; readonly dropped: string }>(
      statement,
      [...parameters, ...position],
    )
    position = rows[0]?.position ?? [null]
    count += Number(rows[0]?.dropped ?? 0)
  }
  return count
}

/**
 * Uses the clock of the database, so that a command whose clock is ahead does not drop recent entries. `$1`
 * is the number after which the batch begins, `$2` its size, `$3` the retention in days. Entries of one batch
 * are deleted by their keys.
 */
const PRUNE_AUDIT = `with batch as (
  select "AuditId", "EntryTimestamp" from "admin"."AuditEntry" where "AuditId" > $1 order by "AuditId" limit $2
), dropped as (
  delete from "admin"."AuditEntry" e using batch b where e."AuditId" = b."AuditId" and e."EntryTimestamp" < clock_timestamp() - make_interval(days => $3) returning e."AuditId"
)
select (select max("AuditId")::text from batch) as position, (select count(*)::int from dropped) as dropped`

/**
 * Drops entries of the audit log that are older than a number of days, oldest first, each batch in its own
 * transaction. Returns their number. Entries are in the order of time, so the first batch without an old
 * entry is the last.
 */
export async function pruneAudit(database: Pick<Database, 'withClient'>, days: number): Promise<number> {
  return database.withClient(async client => {
    let count = 0
    for (let position = String(-(2n ** 63n)); ; ) {
      const { rows } = await client.query<{ readonly position: string | null; readonly dropped: number }>(
        PRUNE_AUDIT,
        [position, RECORDS_PER_BATCH, days],
      )
      const [batch] = rows
      if (!batch?.position || batch.dropped === 0) return count
      position = batch.position
      count += batch.dropped
    }
  })
}
