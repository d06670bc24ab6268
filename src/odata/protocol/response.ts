import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { toFailure } from '../../errors/catalog.js'
import { problemsOf } from '../../errors/problem.js'
import { failureHeaders, renderErrorBody } from '../../http/errors.js'
import { toETag } from '../../http/etag.js'
import { abortResponse } from '../../http/pipeline.js'
import type { JsonFormat } from './negotiate.js'
import type { ODataVersion } from './version.js'

/** The response to a request as a value, so that a request of a batch is answered like any other. */
export interface ODataResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for a response without content (204, 304). */
  readonly body?: string
}

/** A response whose body is generated while it is sent, so that only a part of it is in memory. */
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

/** Plain text without a charset would be ASCII to many clients. */
export const textResponse = (body: string, headers: ODataResponse['headers'] = {}): ODataResponse => ({
  status: 200,
  headers: { 'Content-Type': 'text/plain;charset=utf-8', ...headers },
  body,
})

/** Returns the ETag header. Entries of the log have no version and no ETag. */
export const etagHeader = (version: string | null): ODataResponse['headers'] =>
  version === null ? {} : { ETag: toETag(version) }

/** Headers that a read depends on besides its URL. */
const VARY = 'Accept, Prefer, OData-MaxVersion, Authorization'

/**
 * Sends a response. The OData-Version header is `version`, unless the response has another. Responses depend
 * on the token, so shared caches must not store them and private caches must revalidate.
 */
export async function sendResponse(
  res: ServerResponse,
  response: ODataResponse | StreamedODataResponse,
  version: ODataVersion,
): Promise<void> {
  res.statusCode = response.status
  res.setHeader('Cache-Control', 'private, no-cache')
  // CORS may have set Vary before.
  res.appendHeader('Vary', VARY)
  res.setHeader('OData-Version', version)
  for (const name in response.headers) res.setHeader(name, response.headers[name] ?? '')
  // Node omits the content for HEAD and keeps its length.
  if (!('chunks' in response)) res.end(response.body)
  else if (res.req.method === 'HEAD') res.end()
  else await sendChunks(res, response.chunks)
}

/**
 * Sends a body while it is generated. It is not converted to a stream: a pipeline between two streams adds more
 * listeners to the response than Node allows without a warning.
 */
async function sendChunks(res: ServerResponse, chunks: AsyncIterable<string>): Promise<void> {
  await pipeline(endWithClient(res, chunks), res).catch(ignorePrematureClose)
}

/**
 * Ends when the client has disconnected, which also makes the generation fail. Any other failure aborts the
 * response.
 */
async function* endWithClient(res: ServerResponse, chunks: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* chunks
  } catch (error) {
    if (res.destroyed) return
    abortResponse(res)
    throw error
  }
}

/** A client that disconnects during its response causes no error. The rest of its request is not executed. */
function ignorePrematureClose(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
}

/**
 * Converts an error to a response. For an error that is not a problem, the client gets only the id of the log
 * entry from `report`, and never the cause of a problem.
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
