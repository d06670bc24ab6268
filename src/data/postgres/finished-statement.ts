import { createHash } from 'node:crypto'
import type { RequestDescription } from '../../domain/request-scope.js'

/** A statement of a request after it has ended. */
export interface FinishedStatement {
  /** The SQL text, which holds no values. */
  readonly text: string
  readonly ms: number
  /** The part of the time for which it waited for a lock, as far as that was seen. */
  readonly lockWaitMs: number
  /** All waits of the request so far. */
  readonly waitedMs: number
  /** The rows of the result. Empty after an error. */
  readonly rows: readonly object[]
  readonly hasFailed: boolean
  readonly request: RequestDescription
}

/** Called for each statement of a request. */
export type StatementListener = (statement: FinishedStatement) => void

/** Returns the hash of a statement. It is also the name under which a connection prepares the statement. */
export const statementHash = (text: string): string => createHash('sha1').update(text).digest('base64url')
