import { STATUS_CODES } from 'node:http'
import { CATALOG, type CatalogEntry } from '../../errors/catalog.js'
import { type OpenApiObject, toComponentRef } from './openapi-schemas.js'

/** Statuses with which any operation can fail. */
const COMMON_ERRORS = [400, 401, 403, 406, 412, 414, 429, 431, 500, 503] as const

/** The other statuses with which each kind of operation can fail. */
const ERRORS_BY_OPERATION = {
  service: [],
  list: [404, 410, 501],
  read: [404, 501],
  create: [409, 413, 415, 501],
  update: [404, 409, 413, 415, 501],
  remove: [404, 409],
  batch: [413, 415, 501],
  call: [404],
  query: [404, 413, 415],
} as const satisfies Readonly<Record<string, readonly number[]>>

export type OperationKind = keyof typeof ERRORS_BY_OPERATION

/** Returns the errors of an operation by their statuses, as references to the components. */
export const toErrorRefs = (kind: OperationKind): OpenApiObject =>
  Object.fromEntries(
    [...COMMON_ERRORS, ...ERRORS_BY_OPERATION[kind]].map(status => [
      status,
      toComponentRef('responses', `Error${status}`),
    ]),
  )

/** Returns a response or a request body with JSON. */
export function jsonContent(
  description: string,
  schema: OpenApiObject,
  headers: readonly ResponseHeaderName[] = [],
): OpenApiObject {
  return { description, ...headerRefs(headers), content: { 'application/json': { schema } } }
}

/** Returns the response to a read of a collection: a page as JSON, or all records in the formats of exports. */
export const collectionContent = (page: OpenApiObject): OpenApiObject => ({
  description: 'A page of records, or all of them as lines of JSON or as CSV.',
  ...headerRefs(['Preference-Applied', 'Last-Event-Sequence']),
  content: {
    'application/json': { schema: page },
    'application/x-ndjson': { schema: { type: 'string' } },
    'text/csv': { schema: { type: 'string' } },
  },
})

/** Returns a response without content. */
export const noContentResponse = (
  description: string,
  headers: readonly ResponseHeaderName[] = [],
): OpenApiObject => ({ description, ...headerRefs(headers) })

const headerRefs = (names: readonly ResponseHeaderName[]): OpenApiObject =>
  names.length === 0
    ? {}
    : { headers: Object.fromEntries(names.map(name => [name, toComponentRef('headers', name)])) }

const header = (description: string, type = 'string'): OpenApiObject => ({ description, schema: { type } })

/** Headers of responses, by their names. */
export const OPENAPI_HEADERS = {
  ETag: header('The version of the record, for If-Match and If-None-Match.'),
  Location: header('The URL of the record.'),
  'OData-EntityId': header('The URL of the record, also on a response without content.'),
  'Last-Event-Sequence': header('The newest event before the first record was read, on exports.', 'integer'),
  'Preference-Applied': header('The preferences of the request that were applied.'),
  'WWW-Authenticate': header('The reason why the token was refused (RFC 6750).'),
  'Retry-After': header('Seconds until the request may be repeated.', 'integer'),
  'Content-Language': header('The language of the message: en.'),
} as const

export type ResponseHeaderName = keyof typeof OPENAPI_HEADERS

const ERROR_HEADERS: Readonly<Record<number, readonly ResponseHeaderName[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** Returns the errors as components: one response for each status, with the codes that it can have. */
export function toErrorResponses(): OpenApiObject {
  const entries: readonly Pick<CatalogEntry<never>, 'status' | 'code'>[] = Object.values(CATALOG)
  const statuses = [...new Set(entries.map(e => e.status))].sort()
  return Object.fromEntries(
    statuses.map(status => [
      `Error${status}`,
      jsonContent(
        `${STATUS_CODES[status]}. Codes: ${codesOf(status, entries).join(', ')} (schema/errors.md).`,
        toComponentRef('schemas', 'Error'),
        ['Content-Language', ...(ERROR_HEADERS[status] ?? [])],
      ),
    ]),
  )
}

const codesOf = (status: number, entries: readonly Pick<CatalogEntry<never>, 'status' | 'code'>[]) =>
  [
    ...new Set([
      ...entries.filter(e => e.status === status).map(e => e.code),
      ...(status === 400 ? ['1111'] : []),
    ]),
  ].sort()

const DETAIL: OpenApiObject = {
  code: { type: 'string', minLength: 1, description: 'Stable code of the error, independent of language.' },
  message: { type: 'string', minLength: 1, description: 'The error in English, for people.' },
  target: { type: 'string', description: 'The field, query option or header at fault.' },
}

/** The body of every error (OData JSON 4.01, 21.1). */
export const ERROR_SCHEMA: OpenApiObject = {
  type: 'object',
  description: 'The body of every error.',
  properties: {
    error: {
      type: 'object',
      description: 'The faults of the request.',
      properties: {
        ...DETAIL,
        details: {
          type: 'array',
          description: 'All faults of a body, or other errors of the request.',
          items: { type: 'object', properties: DETAIL, required: ['code', 'message'] },
        },
      },
      required: ['code', 'message', 'details'],
    },
  },
  required: ['error'],
}
