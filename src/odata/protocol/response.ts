import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { toFailure } from '../../errors/catalog.js'
import { problemsOf } from '../../errors/problem.js'
import { failureHeaders, renderErrorBody } from '../../http/errors.js'
import { toETag } from '../../http/etag.js'
import type { JsonFormat } from './negotiate.js'
import type { ODataVersion } from './version.js'

/**
 * What a request is answered with, as a value: so a part of a batch can be answered like a request of its
 * own.
 */
export interface ODataResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Absent: an answer without content (204, 304). */
  readonly body?: string
}

/** An answer whose body is made while it is sent, so that no more than a piece of it is in memory. */
export interface StreamedODataResponse extends Omit<ODataResponse, 'body'> {
  readonly chunks: AsyncIterable<string>
}

export const noContent = (headers: ODataResponse['headers'] = {}): ODataResponse => ({ status: 204, headers })

export const jsonResponse = (
  { contentType }: JsonFormat,
  body: string,
  headers: ODataResponse['headers'] = {},
  status = 200,
): ODataResponse => ({
  status,
  headers: { 'Content-Type': contentType, ...headers },
  body,
})

/** Without a charset, plain text would be ASCII to many readers. */
export const textResponse = (body: string, headers: ODataResponse['headers'] = {}): ODataResponse => ({
  status: 200,
  headers: { 'Content-Type': 'text/plain;charset=utf-8', ...headers },
  body,
})

/** Entries of the log have no version, and so no tag. */
export const etagHeader = (version: string | null): ODataResponse['headers'] =>
  version === null ? {} : { ETag: toETag(version) }

/** What the answer to a read depends on beside its URL. */
const VARY = 'Accept, Prefer, OData-MaxVersion, Authorization'

/**
 * Sends an answer, in this version of the protocol unless its headers name another. What a token may see
 * stays with its owner, and is asked for again each time (with If-None-Match, if the client likes).
 */
export async function sendResponse(
  res: ServerResponse,
  response: ODataResponse | StreamedODataResponse,
  version: ODataVersion,
): Promise<void> {
  res.statusCode = response.status
  res.setHeader('Cache-Control', 'private, no-cache')
  // Other values may stand there already: CORS has its own.
  res.appendHeader('Vary', VARY)
  res.setHeader('OData-Version', version)
  for (const name in response.headers) res.setHeader(name, response.headers[name] ?? '')
  // Node leaves the content away for HEAD and keeps its length.
  if (!('chunks' in response)) res.end(response.body)
  else await pipeline(Readable.from(response.chunks), res).catch(ignorePrematureClose)
}

/**
 * A client that goes away in the middle of its answer is no fault of the service; what it asked for and has
 * not got is not done.
 */
function ignorePrematureClose(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
}

/**
 * The answer to a request that failed. Of anything but a problem, a client is told only the id under which
 * `report` has logged it, and nothing of what stands behind one.
 */
export function toODataErrorResponse(error: unknown, report: (error: unknown) => string): ODataResponse {
  const problems = problemsOf(error, report)
  const failure = toFailure(problems)
  return {
    status: failure.status,
    headers: { 'Content-Type': 'application/json', ...failureHeaders(problems[0]) },
    body: renderErrorBody(failure),
  }
}
