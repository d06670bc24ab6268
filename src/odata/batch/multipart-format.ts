import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Phrase } from '../../errors/phrase.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { checkMediaType, parseJsonBytes, toJsonObject } from '../../http/body.js'
import type { ODataResponse } from '../protocol/response.js'
import type { BatchFormat, BatchRequest, BatchStep, BatchStepResult, ParsedBatch } from './batch-request.js'
import {
  type MimeMessage,
  mediaTypeOf,
  readBoundary,
  readMimeMessage,
  readMimePart,
  splitMultipart,
} from './mime.js'

const CRLF = '\r\n'
const IDENTITY_TRANSFER_ENCODINGS = /^(?:binary|8bit|7bit)$/i

/**
 * Parses a multipart batch (Part 1, 11.7.7). No request is executed if a part is malformed.
 * @throws ProblemError BadRequest
 */
export function readMultipartBatch(bytes: Buffer, contentType: string | undefined): ParsedBatch {
  const parts = splitMultipart(bytes.toString('latin1'), readBoundary(contentType))
  return { steps: parts.map(readBatchStep), format: createMultipartFormat() }
}

export const emptyMultipartBatch = (): ParsedBatch => ({ steps: [], format: createMultipartFormat() })

function readBatchStep(text: string): BatchStep {
  const part = readMimePart(text)
  const contentType = part.headers['content-type']
  if (mediaTypeOf(contentType) !== 'multipart/mixed')
    return { atomic: false, requests: [readApplicationHttp(part)] }
  const requests = splitMultipart(part.content, readBoundary(contentType)).map(inner =>
    readApplicationHttp(readMimePart(inner)),
  )
  const ids = requests.flatMap(({ id }) => id ?? [])
  if (new Set(ids).size < ids.length) failMalformedBatch(REASONS.mimeContentIdRepeated)
  return { atomic: true, requests }
}

function readApplicationHttp({ headers: outer, content }: MimeMessage): BatchRequest {
  if (mediaTypeOf(outer['content-type']) !== 'application/http') failMalformedBatch(REASONS.mimePartType)
  if (!IDENTITY_TRANSFER_ENCODINGS.test(outer['content-transfer-encoding'] ?? 'binary'))
    failMalformedBatch(REASONS.mimePartEncoding)
  const [line, rest] = splitFirstLine(content.trimStart())
  const { headers, content: body } = readMimeMessage(rest)
  // Some client programs send it as a header of the inner request.
  const id = outer['content-id'] ?? headers['content-id']
  return {
    ...readRequestLine(line),
    headers,
    dependsOn: [],
    ...toBody(headers['content-type'], body),
    ...(id !== undefined && { id }),
  }
}

function splitFirstLine(text: string): readonly [line: string, rest: string] {
  const end = text.indexOf('\n')
  return end < 0 ? [text, ''] : [text.slice(0, end).replace(/\r$/, ''), text.slice(end + 1)]
}

/**
 * Parses a request line. Some client programs do not encode spaces in the URL, so the URL extends to the HTTP
 * version.
 */
function readRequestLine(line: string): Pick<BatchRequest, 'method' | 'url'> {
  const [, method = '', rest = ''] =
    /^([A-Za-z]+)[ \t]+(\S.*)$/.exec(line) ?? failMalformedBatch(REASONS.mimeNoRequestLine)
  const version = /HTTP\/\d(?:\.\d)?$/i.exec(rest.trimEnd())
  const url = version ? rest.slice(0, version.index) : rest
  return { method: method.toUpperCase(), url: url.trim().replaceAll(' ', '%20') }
}

function toBody(
  contentType: string | undefined,
  content: string,
): Pick<BatchRequest, 'readBody' | 'readText'> {
  return {
    async readBody() {
      checkMediaType(contentType, 'application/json')
      return toJsonObject(parseJsonBytes(Buffer.from(content, 'latin1')))
    },
    async readText() {
      checkMediaType(contentType, 'text/plain')
      return content
    },
  }
}

/**
 * Creates the multipart format. Client programs require an unquoted boundary as the last parameter, this
 * spelling of its name, and this case of the headers.
 */
function createMultipartFormat(): BatchFormat {
  const boundary = `batchresponse_${randomUUID()}`
  return {
    contentType: `multipart/mixed; boundary=${boundary}`,
    delimiters: ['', '', `--${boundary}--${CRLF}`],
    renderStepResult: outcome => renderResultPart(outcome, boundary),
  }
}

/**
 * Renders the part of a step. Requests that were not executed have no part. A failed change set has one part
 * for all its requests (Part 1, 11.7.7.5).
 */
function renderResultPart(
  { step, responses, failedIndex, skipped }: BatchStepResult,
  boundary: string,
): string {
  if (skipped) return ''
  if (!step.atomic || failedIndex !== undefined)
    return renderResponsePart(step.requests[failedIndex ?? 0]?.id, responses[failedIndex ?? 0], boundary)
  const inner = `changesetresponse_${randomUUID()}`
  const parts = responses.map((answer, i) => renderResponsePart(step.requests[i]?.id, answer, inner))
  return [
    `--${boundary}`,
    `Content-Type: multipart/mixed; boundary=${inner}`,
    '',
    `${parts.join('')}--${inner}--`,
    '',
  ].join(CRLF)
}

function renderResponsePart(
  id: string | undefined,
  response: ODataResponse | undefined,
  boundary: string,
): string {
  if (!response) return ''
  const { status, headers, body = '' } = response
  return [
    `--${boundary}`,
    'Content-Type: application/http',
    'Content-Transfer-Encoding: binary',
    ...(id === undefined ? [] : [`Content-ID: ${id}`]),
    '',
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
    '',
  ].join(CRLF)
}

const failMalformedBatch = (reason: Phrase): never => fail({ kind: 'BadRequest', reason })
