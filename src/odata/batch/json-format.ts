import { isObject, type JsonObject, type JsonValue } from '../../domain/json.js'
import { FEATURES } from '../../errors/features.js'
import type { Phrase } from '../../errors/phrase.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { checkMediaType, toJsonObject } from '../../http/body.js'
import type { ODataResponse } from '../protocol/response.js'
import type { BatchFormat, BatchRequest, BatchStep, ParsedBatch } from './batch-request.js'
import { mediaTypeOf } from './mime.js'

const BATCH_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'POST',
  'PATCH',
  'PUT',
  'DELETE',
])
/** Characters that a header cannot contain (RFC 9110, 5.5). */
const CONTROL = /\p{Cc}/u

/** A request, and the name of its group. */
interface JsonBatchItem {
  readonly request: BatchRequest & { readonly id: string }
  readonly atomicityGroup?: string
}

/**
 * Parses a JSON batch (OData JSON 4.01, 19). No request is executed if one is malformed.
 * @throws ProblemError BadRequest
 */
export function readJsonBatch({ requests }: JsonObject): ParsedBatch {
  if (!Array.isArray(requests)) return failMalformedBatch(REASONS.batchNotObject)
  const members = requests.map(readBatchItem)
  checkReferences(members)
  return { steps: toSteps(members), format: JSON_BATCH_FORMAT }
}

function readBatchItem(value: JsonValue): JsonBatchItem {
  if (!isObject(value)) return failMalformedBatch(REASONS.batchRequestNotObject)
  if (value['if'] !== undefined) fail({ kind: 'NotImplemented', feature: FEATURES.batchIf })
  const [id, method, url] = [
    readString(value, 'id'),
    readString(value, 'method').toUpperCase(),
    readString(value, 'url'),
  ]
  if (!BATCH_METHODS.has(method)) failMalformedBatch(REASONS.batchMethodInvalid(id))
  const headers = readHeaders(value['headers'] ?? null, id)
  const dependsOn = readDependsOn(value['dependsOn'] ?? [], id)
  const request = {
    id,
    method,
    url: toRawUrl(url),
    headers,
    dependsOn,
    ...toBody(headers['content-type'], value['body'] ?? null),
  }
  return {
    request,
    ...(value['atomicityGroup'] !== undefined && { atomicityGroup: readString(value, 'atomicityGroup') }),
  }
}

/**
 * Encodes a URL as HTTP would deliver it, with one character for each byte. Some client programs do not
 * encode spaces.
 */
const toRawUrl = (url: string): string => Buffer.from(url).toString('latin1').replaceAll(' ', '%20')

function readString(of: JsonObject, name: string): string {
  const text = of[name]
  return typeof text === 'string' && text !== '' ? text : failMalformedBatch(REASONS.batchMemberEmpty(name))
}

function readDependsOn(value: JsonValue, id: string): readonly string[] {
  const texts = Array.isArray(value) ? value.filter(item => typeof item === 'string') : undefined
  return Array.isArray(value) && texts?.length === value.length
    ? texts
    : failMalformedBatch(REASONS.batchDependenciesInvalid(id))
}

function readHeaders(value: JsonValue, id: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null)
  if (value !== null && !isObject(value)) failMalformedBatch(REASONS.batchHeadersNotObject(id))
  for (const [name, text] of Object.entries(value ?? {})) {
    if (typeof text !== 'string' || CONTROL.test(text))
      return failMalformedBatch(REASONS.batchHeaderNotString(id))
    if (name.toLowerCase() in headers) return failMalformedBatch(REASONS.batchHeaderRepeated(id, name))
    headers[name.toLowerCase()] = text.trim()
  }
  return headers
}

/** Converts a body. JSON is embedded as it is, plain text is a string. */
function toBody(
  contentType = 'application/json',
  body: JsonValue,
): Pick<BatchRequest, 'readBody' | 'readText'> {
  return {
    async readBody() {
      checkMediaType(contentType, 'application/json')
      return toJsonObject(body)
    },
    async readText() {
      checkMediaType(contentType, 'text/plain')
      return typeof body === 'string'
        ? Buffer.from(body).toString('latin1')
        : failMalformedBatch(REASONS.batchBodyNotString)
    },
  }
}

/**
 * Checks that the ids of requests and groups are unique, that the members of a group are adjacent, and that
 * requests depend only on earlier ones, which also excludes cycles.
 */
function checkReferences(items: readonly JsonBatchItem[]): void {
  const known = new Set<string>()
  let current: string | undefined
  for (const { request, atomicityGroup } of items) {
    if (atomicityGroup !== current && atomicityGroup !== undefined && known.has(atomicityGroup))
      failMalformedBatch(REASONS.batchGroupSplit(atomicityGroup))
    if (atomicityGroup !== undefined) known.add(atomicityGroup)
    if (known.has(request.id)) failMalformedBatch(REASONS.batchIdRepeated(request.id))
    const missing = request.dependsOn.find(name => !known.has(name) || name === atomicityGroup)
    if (missing !== undefined) failMalformedBatch(REASONS.batchDependencyUnknown(request.id, missing))
    known.add(request.id)
    current = atomicityGroup
  }
}

function toSteps(items: readonly JsonBatchItem[]): readonly BatchStep[] {
  const steps: (BatchStep & { readonly requests: BatchRequest[] })[] = []
  for (const { request, atomicityGroup } of items) {
    const last = steps.at(-1)
    if (atomicityGroup !== undefined && last?.atomicityGroup === atomicityGroup) last.requests.push(request)
    else
      steps.push({
        atomic: atomicityGroup !== undefined,
        requests: [request],
        ...(atomicityGroup !== undefined && { atomicityGroup }),
      })
  }
  return steps
}

const JSON_BATCH_FORMAT: BatchFormat = {
  contentType: 'application/json',
  delimiters: ['{"responses":[', ',', ']}'],
  renderStepResult: ({ step, responses }) =>
    responses.map((answer, i) => renderResponse(answer, step, i)).join(','),
}

export const EMPTY_JSON_BATCH: ParsedBatch = { steps: [], format: JSON_BATCH_FORMAT }

function renderResponse(
  { status, headers, body }: ODataResponse,
  { atomicityGroup, requests }: BatchStep,
  index: number,
): string {
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const head = {
    id: requests[index]?.id,
    ...(atomicityGroup !== undefined && { atomicityGroup: atomicityGroup }),
    status,
    headers: lower,
  }
  const text = JSON.stringify(head)
  return body === undefined
    ? text
    : `${text.slice(0, -1)},"body":${renderBody(body, mediaTypeOf(headers['Content-Type']))}}`
}

/**
 * Renders a body: JSON as it is, other text as a string, anything else in base64url (OData JSON 4.01, 19.2).
 */
function renderBody(body: string, type: string): string {
  if (type === 'application/json') return body
  return JSON.stringify(type.startsWith('text/') ? body : Buffer.from(body).toString('base64url'))
}

const failMalformedBatch = (reason: Phrase): never => fail({ kind: 'BadRequest', reason })
