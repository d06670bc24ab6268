import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.js'
import { fail } from '../errors/problem.js'

type QueryLengthLimit = Pick<Config, 'maxQueryLength'>

/**
 * Rejects a raw query string of more than MAX_QUERY_LENGTH characters, before it is decoded or parsed.
 * @throws ProblemError UrlTooLong
 */
export function checkQueryLength(req: IncomingMessage, limit: QueryLengthLimit): void {
  const url = req.url ?? ''
  const start = url.indexOf('?')
  if (start >= 0) checkQueryStringLength(url.slice(start + 1), limit)
}

/** Rejects a query string of a request in a batch; see `checkQueryLength`. */
export function checkQueryStringLength(rawQuery: string, { maxQueryLength }: QueryLengthLimit): void {
  if (rawQuery.length > maxQueryLength) fail({ kind: 'UrlTooLong', limit: maxQueryLength })
}

/**
 * Rejects a path of more than MAX_HEADER_BYTES characters. Only a request in a batch can have one, since Node
 * refuses it elsewhere.
 * @throws ProblemError UrlTooLong
 */
export function checkPathLength(rawPath: string, { maxHeaderBytes }: Pick<Config, 'maxHeaderBytes'>): void {
  if (rawPath.length > maxHeaderBytes) fail({ kind: 'UrlTooLong', limit: maxHeaderBytes })
}
