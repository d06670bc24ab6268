import type { StatementExecutor } from '../sql/statement.js'

/** The identity and the range of the change log. */
export interface LogState {
  readonly id: string
  /** A reader misses no event if the number of its last one is at least the floor minus one. */
  readonly floor: bigint
  /** No event has a higher number. */
  readonly last: bigint
}

/** The floor of the readers of a feed, whose id is the parameter. */
const FLOOR_OF_FEED = `greatest("Floor", (select "LogFloor" + 1 from "admin"."Feed" where "FeedId" = $1))`
const selectEnd = (floor: string) =>
  `select "LogId" as id, ${floor}::text as floor, greatest("Floor" - 1, (select coalesce(max("EntityEventSequence"), 0) from "EntityEvent"))::text as end from "ChangeLog"`
const selectState = (floor: string) =>
  `select "LogId" as id, ${floor}::text as floor, last_value::text as last from "ChangeLog", entity_event_sequence`
const SELECT_END = selectEnd('"Floor"')
const SELECT_END_OF_FEED = selectEnd(FLOOR_OF_FEED)
const SELECT_STATE = selectState('"Floor"')
const SELECT_STATE_OF_FEED = selectState(FLOOR_OF_FEED)

/**
 * Reads the position of a reader that has all committed events. Events that are not committed yet have higher
 * numbers. If the last events have been dropped, the floor is the end. The log of the readers of a feed can
 * begin later.
 */
export async function readLogEnd(
  executor: StatementExecutor,
  feed?: number,
): Promise<Pick<LogState, 'id' | 'floor'> & { readonly end: string }> {
  const [row] = await executor.query<{ readonly id: string; readonly floor: string; readonly end: string }>(
    feed === undefined ? { text: SELECT_END, values: [] } : { text: SELECT_END_OF_FEED, values: [feed] },
    'generic',
  )
  if (!row) throw new Error('The table ChangeLog has no row')
  return { id: row.id, floor: BigInt(row.floor), end: row.end }
}

/** Reads the state of the log, or of its part for the readers of a feed, which can begin later. */
export async function readLogState(executor: StatementExecutor, feed?: number): Promise<LogState> {
  const [row] = await executor.query<{ readonly id: string; readonly floor: string; readonly last: string }>(
    feed === undefined ? { text: SELECT_STATE, values: [] } : { text: SELECT_STATE_OF_FEED, values: [feed] },
    'generic',
  )
  if (!row) throw new Error('The table ChangeLog has no row')
  return { id: row.id, floor: BigInt(row.floor), last: BigInt(row.last) }
}
