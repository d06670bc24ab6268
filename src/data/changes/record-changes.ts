import type { Statement, StatementExecutor } from '../sql/statement.js'

/** An event of the change log, as readers of deltas need it. */
export interface RecordChange {
  readonly sequence: string
  readonly resource: string
  readonly key: string
  /**
   * The listing that the record is or belongs to. Null if it belongs to none, or was moved to another one.
   */
  readonly listingKey: string | null
  /** The record was deleted, or has another key. */
  readonly isRemoval: boolean
}

/** A part of the change log that a reader may see. */
export interface ChangeRange {
  readonly resources: readonly string[]
  readonly audiences: readonly string[]
  /** Sequence numbers: events after the first one, up to and including the second one. */
  readonly after: string
  readonly until: string
  readonly limit: number
}

/**
 * One index scan for each resource and audience, limited to the page, so that events of other readers do not
 * slow down a page. An event has a row for each of its audiences, and is returned once.
 */
const SELECT_CHANGES = `select distinct event."EntityEventSequence"::text as sequence, event."EntityEventSequence" as position, event."ResourceName" as resource,
  event."ResourceRecordKey" as key, event."PropertyKey" as "listingKey", event."Removed" as "isRemoval"
from unnest($1::text[]) resource(name), unnest($2::text[]) audience(name), lateral (
  select "EntityEventSequence", "ResourceName", "ResourceRecordKey", "PropertyKey", "Removed" from "EntityEvent"
  where "ResourceName" = (resource.name collate "C") and "Audience" = (audience.name collate "C")
    and "EntityEventSequence" > $3::bigint and "EntityEventSequence" <= $4::bigint
  order by "EntityEventSequence" limit $5
) event order by position limit $5`

/** Reads the first events of a range, in the order of their numbers. */
export function readRecordChanges(
  executor: StatementExecutor,
  { resources, audiences, after, until, limit }: ChangeRange,
): Promise<readonly RecordChange[]> {
  const statement: Statement = { text: SELECT_CHANGES, values: [resources, audiences, after, until, limit] }
  return executor.query<RecordChange>(statement, 'generic')
}
