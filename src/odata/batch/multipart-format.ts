import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { fail } from '../../errors/problem.js'
import { checkMediaType, toJson, toJsonObject } from '../../http/body.js'
import type { Answer } from '../protocol/response.js'
import { type Message, mediaTypeOf, readBoundary, readMessage, readPart, readParts } from './mime.js'
import type { Batch, BatchFormat, BatchRequest, Outcome, Step } from './request.js'

const CRLF = '\r\n'
const TRANSPARENT = /^(?:binary|8bit|7bit)$/i

/**
 * Reads a multipart batch (Part 1, 11.7.7). Fails with `BadRequest` if any part of it is malformed: then none
 * is executed.
 */
export function readMultipartBatch(bytes: Buffer, contentType: string | undefined): Batch {
  const parts = readParts(bytes.toString('latin1'), readBoundary(contentType))
  return { steps: parts.map(readStep), format: toMultipartFormat() }
}

function readStep(text: string): Step {
  const part = readPart(text)
  const contentType = part.headers['content-type']
  if (mediaTypeOf(contentType) !== 'multipart/mixed') return { atomic: false, requests: [readRequest(part)] }
  const requests = readParts(part.content, readBoundary(contentType)).map(inner =>
    readRequest(readPart(inner)),
  )
  const ids = requests.flatMap(({ id }) => id ?? [])
  if (new Set(ids).size < ids.length) refuse('a Content-ID stands twice in one change set')
  return { atomic: true, requests }
}

function readRequest({ headers: outer, content }: Message): BatchRequest {
  if (mediaTypeOf(outer['content-type']) !== 'application/http')
    refuse('a part is neither application/http nor, outside of a change set, multipart/mixed')
  if (!TRANSPARENT.test(outer['content-transfer-encoding'] ?? 'binary'))
    refuse('a part has a Content-Transfer-Encoding other than binary')
  const [line = '', ...rest] = content.trimStart().split(/\r?\n/)
  const { headers, content: body } = readMessage(rest.join('\n'))
  // Some client programs write it among the headers of the request.
  const id = outer['content-id'] ?? headers['content-id']
  return {
    ...readRequestLine(line),
    headers,
    dependsOn: [],
    ...toBody(headers['content-type'], body),
    ...(id !== undefined && { id }),
  }
}

/** Some client programs leave blanks in the URL as they are, so it goes on up to the version. */
function readRequestLine(line: string): Pick<BatchRequest, 'method' | 'url'> {
  const [, method = '', rest = ''] =
    /^([A-Za-z]+)[ \t]+(\S.*)$/.exec(line) ?? refuse('a request in it does not begin with a method and a URL')
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
      return toJsonObject(toJson(Buffer.from(content, 'latin1')))
    },
    async readText() {
      checkMediaType(contentType, 'text/plain')
      return content
    },
  }
}

/**
 * Client programs want the boundary without quotes and as the last parameter, its name as it is here, and the
 * headers in these cases.
 */
function toMultipartFormat(): BatchFormat {
  const boundary = `batchresponse_${randomUUID()}`
  return {
    contentType: `multipart/mixed; boundary=${boundary}`,
    frame: ['', '', `--${boundary}--${CRLF}`],
    renderOutcome: outcome => renderPart(outcome, boundary),
  }
}

/** Requests that were not executed have no part; a failed change set has one for all (Part 1, 11.7.7.5). */
function renderPart({ step, answers, failed, skipped }: Outcome, boundary: string): string {
  if (skipped) return ''
  if (!step.atomic || failed !== undefined)
    return renderAnswer(step.requests[failed ?? 0]?.id, answers[failed ?? 0], boundary)
  const inner = `changesetresponse_${randomUUID()}`
  const parts = answers.map((answer, i) => renderAnswer(step.requests[i]?.id, answer, inner))
  return [
    `--${boundary}`,
    `Content-Type: multipart/mixed; boundary=${inner}`,
    '',
    `${parts.join('')}--${inner}--`,
    '',
  ].join(CRLF)
}

function renderAnswer(id: string | undefined, answer: Answer | undefined, boundary: string): string {
  if (!answer) return ''
  const { status, headers, body = '' } = answer
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

const refuse = (reason: string): never => fail({ kind: 'BadRequest', reason })
