import { isObject, type JsonObject, type JsonValue } from '../../domain/json.js'
import { fail } from '../../errors/problem.js'
import { checkMediaType, toJsonObject } from '../../http/body.js'
import type { Answer } from '../protocol/response.js'
import { mediaTypeOf } from './mime.js'
import type { Batch, BatchFormat, BatchRequest, Step } from './request.js'

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PATCH', 'PUT', 'DELETE'])
/** What no header can hold (RFC 9110, 5.5). */
const CONTROL = /\p{Cc}/u

/** A request and the group that it names. */
interface Member {
  readonly request: BatchRequest & { readonly id: string }
  readonly group?: string
}

/**
 * Reads a JSON batch (OData JSON 4.01, 19). Fails with `BadRequest` if any request of it is malformed: then
 * none is executed.
 */
export function readJsonBatch({ requests }: JsonObject): Batch {
  if (!Array.isArray(requests)) return refuse("a batch is an object with a list 'requests'")
  const members = requests.map(readMember)
  checkNames(members)
  return { steps: toSteps(members), format: JSON_FORMAT }
}

function readMember(value: JsonValue): Member {
  if (!isObject(value)) return refuse('a request of a batch is an object')
  if (value['if'] !== undefined) fail({ kind: 'NotImplemented', feature: "'if' of a request in a batch" })
  const [id, method, url] = [
    readText(value, 'id'),
    readText(value, 'method').toUpperCase(),
    readText(value, 'url'),
  ]
  if (!METHODS.has(method)) refuse(`'method' of request '${id}' is none that a batch can hold`)
  const headers = readHeaders(value['headers'] ?? null, id)
  const dependsOn = readNames(value['dependsOn'] ?? [], id)
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
    ...(value['atomicityGroup'] !== undefined && { group: readText(value, 'atomicityGroup') }),
  }
}

/** As HTTP would bring it: each byte one character. Some client programs leave blanks as they are. */
const toRawUrl = (url: string): string => Buffer.from(url).toString('latin1').replaceAll(' ', '%20')

function readText(of: JsonObject, name: string): string {
  const text = of[name]
  return typeof text === 'string' && text !== ''
    ? text
    : refuse(`'${name}' of a request is a text that is not empty`)
}

function readNames(value: JsonValue, id: string): readonly string[] {
  const texts = Array.isArray(value) ? value.filter(item => typeof item === 'string') : undefined
  return Array.isArray(value) && texts?.length === value.length
    ? texts
    : refuse(`'dependsOn' of request '${id}' is a list of texts`)
}

function readHeaders(value: JsonValue, id: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null)
  if (value !== null && !isObject(value)) refuse(`'headers' of request '${id}' is an object`)
  for (const [name, text] of Object.entries(value ?? {})) {
    if (typeof text !== 'string' || CONTROL.test(text))
      return refuse(`'headers' of request '${id}' holds texts only`)
    headers[name.toLowerCase()] = text.trim()
  }
  return headers
}

/** JSON stands there as it is, plain text as a text. */
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
      return typeof body === 'string' ? Buffer.from(body).toString('latin1') : refuse('its body is no text')
    },
  }
}

/**
 * Names of requests and groups are different, members of a group stand together, and nothing depends on what
 * comes later: so there are no circles.
 */
function checkNames(members: readonly Member[]): void {
  const known = new Set<string>()
  let current: string | undefined
  for (const { request, group } of members) {
    if (group !== current && group !== undefined && known.has(group))
      refuse(`the requests of the group '${group}' do not stand together, or its name is taken`)
    if (group !== undefined) known.add(group)
    if (known.has(request.id)) refuse(`the id '${request.id}' is taken`)
    const missing = request.dependsOn.find(name => !known.has(name) || name === group)
    if (missing !== undefined)
      refuse(`request '${request.id}' depends on '${missing}', which is nothing before it`)
    known.add(request.id)
    current = group
  }
}

function toSteps(members: readonly Member[]): readonly Step[] {
  const steps: (Step & { readonly requests: BatchRequest[] })[] = []
  for (const { request, group } of members) {
    const last = steps.at(-1)
    if (group !== undefined && last?.group === group) last.requests.push(request)
    else
      steps.push({ atomic: group !== undefined, requests: [request], ...(group !== undefined && { group }) })
  }
  return steps
}

const JSON_FORMAT: BatchFormat = {
  contentType: 'application/json',
  frame: ['{"responses":[', ',', ']}'],
  renderOutcome: ({ step, answers }) => answers.map((answer, i) => renderAnswer(answer, step, i)).join(','),
}

function renderAnswer({ status, headers, body }: Answer, { group, requests }: Step, index: number): string {
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const head = {
    id: requests[index]?.id,
    ...(group !== undefined && { atomicityGroup: group }),
    status,
    headers: lower,
  }
  const text = JSON.stringify(head)
  return body === undefined
    ? text
    : `${text.slice(0, -1)},"body":${renderBody(body, mediaTypeOf(headers['Content-Type']))}}`
}

/** JSON as it is, other text as a text, anything else in base64url (OData JSON 4.01, 19.2). */
function renderBody(body: string, type: string): string {
  if (type === 'application/json') return body
  return JSON.stringify(type.startsWith('text/') ? body : Buffer.from(body).toString('base64url'))
}

const refuse = (reason: string): never => fail({ kind: 'BadRequest', reason })
