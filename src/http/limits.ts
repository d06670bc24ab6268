import type { IncomingMessage } from 'node:http'
import type { Config } from '../config.js'
import { fail } from '../errors/problem.js'

/**
 * Refuses a query string of more than MAX_QUERY_LENGTH characters, as it was sent. Before anything is decoded or parsed.
 * @throws ProblemError UrlTooLong
 */
export function checkQueryLength(req: IncomingMessage, { maxQueryLength }: Pick<Config, 'maxQueryLength'>): void {
  const url = req.url ?? ''
  const start = url.indexOf('?')
  if (start >= 0 && url.length - start - 1 > maxQueryLength) fail({ kind: 'UrlTooLong', limit: maxQueryLength })
}
