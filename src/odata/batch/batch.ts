import type { Config } from '../../config/config.js'
import type { JsonObject } from '../../domain/json.js'
import { fail } from '../../errors/problem.js'
import type { DispatchSettings } from '../dispatch.js'
import { readPreferences } from '../protocol/prefer.js'
import type { ODataRequest } from '../protocol/request.js'
import type { StreamedAnswer } from '../protocol/response.js'
import { checkOptions } from '../url/options.js'
import { readJsonBatch } from './json.js'
import { mediaTypeOf } from './mime.js'
import { readMultipartBatch } from './multipart-format.js'
import type { Batch, BatchFormat, Outcome } from './request.js'
import { type BatchParts, BatchRun } from './run.js'

export type BatchSettings = DispatchSettings & Pick<Config, 'maxBatchBytes' | 'maxBatchRequests'>

/** The content of the envelope, in the two forms that it may have. */
interface BatchBody {
  readonly json: () => Promise<JsonObject>
  readonly bytes: () => Promise<Buffer>
}

/**
 * Answers a batch (Part 1, 11.7), in the format in which it was sent, whatever Accept says: client programs
 * rely on it. It is read and checked as a whole before anything is executed; then one step is executed and
 * sent after the other, so that no more than one answer is in memory.
 */
export async function serveBatch(
  request: ODataRequest,
  body: BatchBody,
  parts: BatchParts & { readonly config: BatchSettings },
): Promise<StreamedAnswer> {
  checkEnvelope(request)
  const { steps, format } = await readBatch(request, body)
  const count = steps.reduce((sum, { requests }) => sum + requests.length, 0)
  const most = parts.config.maxBatchRequests
  if (count > most)
    fail({ kind: 'BadRequest', reason: `a batch holds at most ${most} requests, this one has ${count}` })
  const goOn = readPreferences(request.headers.prefer).continueOnError ?? false
  return {
    status: 200,
    headers: {
      'Content-Type': format.contentType,
      ...(goOn && { 'Preference-Applied': 'continue-on-error=true' }),
    },
    pieces: render(new BatchRun(request, parts).execute(steps, goOn), format),
  }
}

/** Conditions are for single requests (Part 1, 11.7.1). */
function checkEnvelope({ options, headers }: ODataRequest): void {
  checkOptions(options, 'batch')
  for (const header of ['If-Match', 'If-None-Match']) {
    const found = headers[header.toLowerCase()]
    if (found !== undefined) fail({ kind: 'BadHeader', header, found: String(found) })
  }
}

async function readBatch({ headers }: ODataRequest, body: BatchBody): Promise<Batch> {
  const type = mediaTypeOf(headers['content-type'])
  if (type === 'application/json') return readJsonBatch(await body.json())
  if (type !== 'multipart/mixed')
    return fail({ kind: 'UnsupportedMediaType', expected: 'application/json or multipart/mixed' })
  return readMultipartBatch(await body.bytes(), headers['content-type'])
}

async function* render(
  outcomes: AsyncIterable<Outcome>,
  { frame: [before, between, after], renderOutcome }: BatchFormat,
): AsyncGenerator<string> {
  yield before
  let separator = ''
  for await (const outcome of outcomes) {
    yield separator + renderOutcome(outcome)
    separator = between
  }
  yield after
}
