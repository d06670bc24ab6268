import { CATALOG, type Entry } from '../../errors/catalog.js'
import { ENTITIES, type Entity, entity, type Navigation } from '../../model/model.js'
import { SEARCHABLE } from '../../query/limits.js'
import { ODATA_PATH } from '../protocol/request.js'
import { PARAMETERS, type ParameterName } from './openapi-parameters.js'
import {
  type Json,
  type JsonObject,
  refTo,
  toCreateSchema,
  toPageSchema,
  toRecordSchema,
} from './openapi-schemas.js'

const OF_RECORD: readonly ParameterName[] = ['select', 'expand', 'compute', 'format']
const OF_PAGE: readonly ParameterName[] = [
  'filter',
  'orderby',
  'top',
  'skip',
  'count',
  'skiptoken',
  'preferPage',
  ...OF_RECORD,
]

/**
 * The OData surface as OpenAPI 3.1: paths, options, records and errors. What OpenAPI cannot say (key as
 * segment, `/$ref`, single values) is left out.
 */
export function toOpenApi(): JsonObject {
  const entities = [...ENTITIES.values()]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Listing Service',
      version: '1',
      description: 'Real-estate listings over OData 4.01. $metadata says more than this document can.',
    },
    servers: [{ url: ODATA_PATH }],
    security: [{ bearer: [] }],
    tags: entities.map(e => ({ name: e.name, description: e.description })),
    paths: Object.assign({}, SERVICE, ...entities.map(toPaths)),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      parameters: PARAMETERS,
      schemas: Object.assign({ Error: ERROR }, ...entities.map(toSchemas)),
      responses: toErrorResponses(),
    },
  }
}

const SERVICE: JsonObject = {
  '/': {
    get: operation('getService', 'What there is to read', {
      200: inJson('The service document', { type: 'object' }),
    }),
  },
  '/$metadata': {
    get: {
      ...operation('getMetadata', 'The model', {
        200: { description: 'CSDL', content: { 'application/xml': {}, 'application/json': {} } },
      }),
      parameters: [refTo('parameters', 'format')],
    },
  },
}

function toPaths(of: Entity): JsonObject {
  const record = `/${of.name}(${of.key.type === 'String' ? `'{${of.key.name}}'` : `{${of.key.name}}`})`
  return {
    [`/${of.name}`]: { get: list(of, `list${of.name}`), ...(of.writable && { post: create(of) }) },
    [`/${of.name}/$count`]: {
      get: {
        ...operation(`count${of.name}`, 'How many', { 200: PLAIN_NUMBER }, of),
        parameters: parameters(['filter']),
      },
    },
    [record]: {
      parameters: [toKeyParameter(of)],
      get: read(of, `get${of.name}`),
      ...(of.writable && toWrites(of)),
    },
    ...Object.fromEntries(
      of.navigations.map(n => [
        `${record}/${n.name}`,
        { parameters: [toKeyParameter(of)], get: follow(of, n) },
      ]),
    ),
  }
}

const optionsOf = (of: Entity): readonly ParameterName[] =>
  SEARCHABLE.has(of.name) ? ['search', ...OF_PAGE] : OF_PAGE
const parameters = (names: readonly ParameterName[]): readonly Json[] =>
  names.map(name => refTo('parameters', name))

function list(of: Entity, id: string): JsonObject {
  return {
    ...operation(
      id,
      `A page of ${of.name}`,
      { 200: inJson('A page', refTo('schemas', `${of.typeName}Page`)) },
      of,
    ),
    parameters: parameters(optionsOf(of)),
  }
}

function read(of: Entity, id: string): JsonObject {
  const responses = {
    200: inJson('The record', refTo('schemas', of.typeName)),
    304: { description: 'The record has the ETag of If-None-Match.' },
  }
  return {
    ...operation(id, `One record of ${of.name}`, responses, of),
    parameters: parameters([...OF_RECORD, 'ifNoneMatch']),
  }
}

function follow(of: Entity, { name, collection, target }: Navigation): JsonObject {
  const id = `get${of.name}${name}`
  return { ...(collection ? list(entity(target), id) : read(entity(target), id)), tags: [of.name] }
}

function create(of: Entity): JsonObject {
  const responses = { 201: inJson('The new draft', refTo('schemas', of.typeName)), 204: NO_BODY }
  const requestBody = { required: true, ...inJson('The draft', refTo('schemas', `${of.typeName}Create`)) }
  return {
    ...operation(`create${of.name}`, 'Create a draft', responses, of),
    parameters: parameters(['preferReturn']),
    requestBody,
  }
}

function toWrites(of: Entity): JsonObject {
  const body = { required: true, ...inJson('The fields', refTo('schemas', of.typeName)) }
  const responses = { 200: inJson('The record as it is now', refTo('schemas', of.typeName)), 204: NO_BODY }
  const write = { parameters: parameters(['ifMatch', 'preferReturn']), requestBody: body }
  return {
    patch: { ...operation(`change${of.name}`, 'Change the fields that are given', responses, of), ...write },
    put: {
      ...operation(`replace${of.name}`, 'Replace all fields that clients write', responses, of),
      ...write,
    },
    delete: {
      ...operation(`delete${of.name}`, 'Remove the record and what belongs to it', { 204: NO_BODY }, of),
      parameters: parameters(['ifMatch']),
    },
  }
}

const toKeyParameter = ({ key }: Entity): JsonObject => ({
  name: key.name,
  in: 'path',
  required: true,
  description: key.description,
  schema: { type: key.type === 'String' ? 'string' : 'integer' },
})

const toSchemas = (of: Entity): JsonObject => ({
  [of.typeName]: toRecordSchema(of),
  [`${of.typeName}Page`]: toPageSchema(of),
  ...(of.writable && { [`${of.typeName}Create`]: toCreateSchema(of) }),
})

const NO_BODY: JsonObject = { description: 'Done; no body.' }
const PLAIN_NUMBER: JsonObject = {
  description: 'A number',
  content: { 'text/plain': { schema: { type: 'integer' } } },
}

const DETAIL: JsonObject = {
  code: { type: 'string' },
  message: { type: 'string' },
  target: { type: 'string' },
}
const ERROR: JsonObject = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        ...DETAIL,
        details: {
          type: 'array',
          items: { type: 'object', properties: DETAIL, required: ['code', 'message'] },
        },
      },
      required: ['code', 'message', 'details'],
    },
  },
  required: ['error'],
}

function inJson(description: string, schema: JsonObject): JsonObject {
  return { description, content: { 'application/json': { schema } } }
}

/** Statuses of errors, each with its codes. */
function toErrorResponses(): JsonObject {
  const entries: readonly Pick<Entry<never>, 'status' | 'code'>[] = Object.values(CATALOG)
  const codesOf = (status: number) =>
    [...new Set(entries.filter(e => e.status === status).map(e => e.code))].sort()
  const statuses = [...new Set(entries.map(e => e.status))].sort()
  return Object.fromEntries(
    statuses.map(status => [
      `Error${status}`,
      inJson(`Codes ${codesOf(status).join(', ')}; see errors.md.`, refTo('schemas', 'Error')),
    ]),
  )
}

/**
 * Every operation can fail in more ways than are worth repeating: those that tell something about it stand
 * here, all others are `default`.
 */
function operation(operationId: string, summary: string, responses: JsonObject, of?: Entity): JsonObject {
  const errors = Object.fromEntries(
    [400, 401, 403, 404].map(status => [status, refTo('responses', `Error${status}`)]),
  )
  return {
    operationId,
    summary,
    ...(of && { tags: [of.name] }),
    responses: { ...responses, ...errors, default: inJson('Any other error', refTo('schemas', 'Error')) },
  }
}
