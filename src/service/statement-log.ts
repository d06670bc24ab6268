import { type FinishedStatement, statementHash } from '../data/postgres/finished-statement.js'
import { countRecordsOf } from '../data/sql/page-statement.js'
import type { RequestDescription } from '../domain/request-scope.js'

/** A slow statement, as the log shows it. */
export interface SlowQuery extends RequestDescription {
  readonly ms: number
  /** Time that the statement waited for locks of other transactions. */
  readonly lockWaitMs: number
  /** Total wait of its request for connections and locks at the end of the statement. */
  readonly waitedMs: number
  readonly rows: number
  readonly failed?: true
  readonly hash: string
  readonly statement: string
}

const MAX_SHAPE_LENGTH = 2000

/** Texts between quotes, with doubled quotes inside. */
const STRING_LITERAL = /'(?:[^']|'')*'/g
const LIMIT = /\b(limit|offset) \d+/g

/**
 * Returns a statement without its literals. Values of requests are always parameters, but names that clients
 * give to computed values are literals.
 */
export const toShape = (text: string): string =>
  text.replace(STRING_LITERAL, '?').replace(LIMIT, '$1 ?').slice(0, MAX_SHAPE_LENGTH)

/** Creates the listener that passes slow statements on. */
export const createSlowQueryListener =
  (slowQueryMs: number, onSlowQuery: (query: SlowQuery) => void): ((statement: FinishedStatement) => void) =>
  ({ text, ms, lockWaitMs, waitedMs, rows, hasFailed, request }) => {
    if (ms < slowQueryMs) return
    const { id, client, subject, feed, operation, address, trace_id } = request
    onSlowQuery({
      id,
      client,
      subject,
      feed,
      operation,
      address,
      ...(trace_id !== undefined && { trace_id }),
      ms: Math.round(ms),
      lockWaitMs: Math.round(lockWaitMs),
      waitedMs: Math.round(waitedMs),
      rows: countRecordsOf(rows),
      ...(hasFailed && { failed: true }),
      hash: statementHash(text),
      statement: toShape(text),
    })
  }
