import type { Config } from '../../config/config.js'
import type { JsonObject } from '../../domain/json.js'
import { EXPECTED_BODY, EXPECTED_HEADER } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import type { DispatchConfig } from '../dispatch.js'
import { readPreferences } from '../protocol/prefer.js'
import type { ODataRequest } from '../protocol/request.js'
import type { StreamedODataResponse } from '../protocol/response.js'
import { checkAllowedOptions } from '../url/query-options.js'
import { type BatchContext, BatchExecutor } from './batch-executor.js'
import type { BatchFormat, BatchStepResult, ParsedBatch } from './batch-request.js'
import { EMPTY_JSON_BATCH, readJsonBatch } from './json-format.js'
import { mediaTypeOf } from './mime.js'
import { emptyMultipartBatch, readMultipartBatch } from './multipart-format.js'

export type BatchConfig = DispatchConfig & Pick<Config, 'maxBatchBytes' | 'maxBatchRequests'>

/** Dependencies of a batch. */
export interface BatchHandlerContext extends BatchContext {
  readonly config: BatchConfig
  /** Called with the number of requests before the response begins. */
  readonly onParsed: (count: number) => void
}

/** Reads the body of a batch in either format. */
interface BatchBodyReader {
  readonly json: () => Promise<JsonObject>
  readonly bytes: () => Promise<Buffer>
}

/**
 * Answers a batch (Part 1, 11.7) in the format of the request, whatever Accept says, because client programs
 * rely on that. The batch is parsed and checked as a whole before its first request is executed. Then each
 * step is executed and its result sent before the next step, so that only one response is in memory.
 */
export async function handleBatch(
  request: ODataRequest,
  body: BatchBodyReader,
  context: BatchHandlerContext,
): Promise<StreamedODataResponse> {
  checkBatchRequest(request)
  const { steps, format } = await readBatch(request, body)
  const count = steps.reduce((sum, { requests }) => sum + requests.length, 0)
  const maxRequests = context.config.maxBatchRequests
  if (count > maxRequests)
    fail({
      kind: 'BadRequest',
      reason: REASONS.batchTooLarge(maxRequests, count),
    })
  context.onParsed(count)
  const continueOnError = readPreferences(request.headers.prefer).continueOnError ?? false
  return {
    status: 200,
    headers: {
      'Content-Type': format.contentType,
      ...(continueOnError && { 'Preference-Applied': 'continue-on-error=true' }),
    },
    chunks: renderBatchResponse(new BatchExecutor(request, context).execute(steps, continueOnError), format),
  }
}

/** Rejects conditional headers on a batch. They belong to single requests (Part 1, 11.7.1). */
function checkBatchRequest({ options, headers }: ODataRequest): void {
  checkAllowedOptions(options, 'batch')
  for (const header of ['If-Match', 'If-None-Match']) {
    const found = headers[header.toLowerCase()]
    if (found !== undefined)
      fail({ kind: 'BadHeader', header, expected: EXPECTED_HEADER.absentInBatch, found: String(found) })
  }
}

async function readBatch({ headers }: ODataRequest, body: BatchBodyReader): Promise<ParsedBatch> {
  const type = mediaTypeOf(headers['content-type'])
  if (hasNoContent(headers)) return type === 'multipart/mixed' ? emptyMultipartBatch() : EMPTY_JSON_BATCH
  if (type === 'application/json') return readJsonBatch(await body.json())
  if (type !== 'multipart/mixed') return fail({ kind: 'UnsupportedMediaType', expected: EXPECTED_BODY.batch })
  return readMultipartBatch(await body.bytes(), headers['content-type'])
}

/** Returns true for a request without content. It is an empty batch, whatever its Content-Type. */
const hasNoContent = (headers: ODataRequest['headers']): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0

async function* renderBatchResponse(
  results: AsyncIterable<BatchStepResult>,
  { delimiters: [before, between, after], renderStepResult }: BatchFormat,
): AsyncGenerator<string> {
  yield before
  let separator = ''
  for await (const result of results) {
    yield separator + renderStepResult(result)
    separator = between
  }
  yield after
}
