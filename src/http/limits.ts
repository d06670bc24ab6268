import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.js'
import { fail } from '../errors/problem.js'

type QueryLengthLimit = Pick<Config, 'maxQueryLength'>

/**
 * Refuses a query string of more than MAX_QUERY_LENGTH characters, as it was sent. Before anything is decoded
 * or parsed.
 * @throws ProblemError UrlTooLong
 */
export function checkQueryLength(req: IncomingMessage, limit: QueryLengthLimit): void {
  const url = req.url ?? ''
  const start = url.indexOf('?')
  if (start >= 0) checkQueryStringLength(url.slice(start + 1), limit)
}

/** The same for a query string that is cut off already: that of a request in a batch. */
export function checkQueryStringLength(rawQuery: string, { maxQueryLength }: QueryLengthLimit): void {
  if (rawQuery.length > maxQueryLength) fail({ kind: 'UrlTooLong', limit: maxQueryLength })
}
