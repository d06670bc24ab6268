import type { Statement, StatementExecutor } from '../sql/statement.js'

const LATEST_SEQUENCE: Statement = {
  text: 'select coalesce(max("EntityEventSequence"), 0)::text as sequence from "EntityEvent"',
  values: [],
}

/** Returns the sequence number of the newest event, `0` for an empty log. */
export async function readLatestSequence(executor: StatementExecutor): Promise<string> {
  const [row] = await executor.query<{ readonly sequence: string }>(LATEST_SEQUENCE)
  return row?.sequence ?? '0'
}
