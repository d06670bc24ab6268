import type { Client } from 'pg'
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

/** The position at which a function of the log continues. Its first member is null at the end. */
type BatchPosition = readonly (string | null)[]

/** Readers through feeds may have got no event for long. Their end of the log must not fall below its floor. */
const MARK_LOG = `select "admin".mark_log('feeds') where "admin".has_feeds()`
const COMPACT_LOG = 'select array[resource, key] as position, dropped::text from compact_log($1, $2, $3, $4)'
const PRUNE_LOG = 'select array[sequence::text] as position, dropped::text from prune_log($1, $2, $3)'

/** Runs batches from a position on, each in its own transaction. Returns the number of dropped events. */
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
 * The clock is that of the database, so a command whose clock is ahead drops no young entry. `$1` the number after which
 * the batch begins, `$2` its size, `$3` days. Entries of one batch are deleted by their keys.
 */
const PRUNE_AUDIT = `with batch as (
  select "AuditId", "EntryTimestamp" from "admin"."AuditEntry" where "AuditId" > $1 order by "AuditId" limit $2
), dropped as (
  delete from "admin"."AuditEntry" e using batch b where e."AuditId" = b."AuditId" and e."EntryTimestamp" < clock_timestamp() - make_interval(days => $3) returning e."AuditId"
)
select (select max("AuditId")::text from batch) as position, (select count(*)::int from dropped) as dropped`

/**
 * Drops entries of the audit log that are older than a number of days, the oldest first, each batch in a transaction of
 * its own. Returns their number. Entries have the order of time, so the first batch without an old one is the last.
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
