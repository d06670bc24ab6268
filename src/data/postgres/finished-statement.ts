import { createHash } from 'node:crypto'
import type { RequestDescription } from '../../domain/request-scope.js'

/** A completed statement of a request. */
export interface FinishedStatement {
  /** The SQL text, without values. */
  readonly text: string
  readonly ms: number
  /**
   * The part of the duration that was spent waiting for locks, as far as the lock monitor has observed it.
   */
  readonly lockWaitMs: number
  /** Total wait of the request so far. */
  readonly waitedMs: number
  /** The rows of the result. Empty after an error. */
  readonly rows: readonly object[]
  readonly hasFailed: boolean
  readonly request: RequestDescription
}

/** Called for each statement of a request. */
export type StatementListener = (statement: FinishedStatement) => void

/** Returns the hash of a statement, which is also the name of the prepared statement. */
export const statementHash = (text: string): string => createHash('sha1').update(text).digest('base64url')
