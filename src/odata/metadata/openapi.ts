import { CATALOG, type CatalogEntry } from '../../errors/catalog.js'
import { ENTITIES, type Entity, getEntity, type Navigation } from '../../model/model.js'
import { SEARCHABLE_ENTITIES } from '../../query/limits.js'
import { ODATA_PATH } from '../protocol/request.js'
import { OPENAPI_PARAMETERS, type OpenApiParameterName } from './openapi-parameters.js'
import {
  type OpenApiObject,
  type OpenApiValue,
  toComponentRef,
  toCreateSchema,
  toPageSchema,
  toRecordSchema,
} from './openapi-schemas.js'

const RECORD_PARAMETERS: readonly OpenApiParameterName[] = ['select', 'expand', 'compute', 'format']
const PAGE_PARAMETERS: readonly OpenApiParameterName[] = [
  'filter',
  'orderby',
  'top',
  'skip',
  'count',
  'skiptoken',
  'preferPage',
  ...RECORD_PARAMETERS,
]

/**
 * The OData surface as OpenAPI 3.1: paths, options, records and errors. What OpenAPI cannot say (key as
 * segment, `/$ref`, single values) is left out.
 */
export function toOpenApi(): OpenApiObject {
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
    paths: Object.assign({}, SERVICE_ROOT_PATHS, ...entities.map(toPathItems)),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      parameters: OPENAPI_PARAMETERS,
      schemas: Object.assign({ Error: ERROR_SCHEMA }, ...entities.map(toSchemas)),
      responses: toErrorResponses(),
    },
  }
}

const SERVICE_ROOT_PATHS: OpenApiObject = {
  '/': {
    get: toOperation('getService', 'What there is to read', {
      200: jsonContent('The service document', { type: 'object' }),
    }),
  },
  '/$metadata': {
    get: {
      ...toOperation('getMetadata', 'The model', {
        200: { description: 'CSDL', content: { 'application/xml': {}, 'application/json': {} } },
      }),
      parameters: [toComponentRef('parameters', 'format')],
    },
  },
}

function toPathItems(of: Entity): OpenApiObject {
  const record = `/${of.name}(${of.key.type === 'String' ? `'{${of.key.name}}'` : `{${of.key.name}}`})`
  return {
    [`/${of.name}`]: {
      get: listOperation(of, `list${of.name}`),
      ...(of.writable && { post: createOperation(of) }),
    },
    [`/${of.name}/$count`]: {
      get: {
        ...toOperation(`count${of.name}`, 'How many', { 200: PLAIN_NUMBER }, of),
        parameters: toParameterRefs(['filter']),
      },
    },
    [record]: {
      parameters: [toKeyParameter(of)],
      get: readOperation(of, `get${of.name}`),
      ...(of.writable && toWriteOperations(of)),
    },
    ...Object.fromEntries(
      of.navigations.map(n => [
        `${record}/${n.name}`,
        { parameters: [toKeyParameter(of)], get: navigationOperation(of, n) },
      ]),
    ),
  }
}

const pageParametersOf = (of: Entity): readonly OpenApiParameterName[] =>
  SEARCHABLE_ENTITIES.has(of.name) ? ['search', ...PAGE_PARAMETERS] : PAGE_PARAMETERS
const toParameterRefs = (names: readonly OpenApiParameterName[]): readonly OpenApiValue[] =>
  names.map(name => toComponentRef('parameters', name))

function listOperation(of: Entity, id: string): OpenApiObject {
  return {
    ...toOperation(
      id,
      `A page of ${of.name}`,
      { 200: jsonContent('A page', toComponentRef('schemas', `${of.typeName}Page`)) },
      of,
    ),
    parameters: toParameterRefs(pageParametersOf(of)),
  }
}

function readOperation(of: Entity, id: string): OpenApiObject {
  const responses = {
    200: jsonContent('The record', toComponentRef('schemas', of.typeName)),
    304: { description: 'The record has the ETag of If-None-Match.' },
  }
  return {
    ...toOperation(id, `One record of ${of.name}`, responses, of),
    parameters: toParameterRefs([...RECORD_PARAMETERS, 'ifNoneMatch']),
  }
}

function navigationOperation(of: Entity, { name, collection, target }: Navigation): OpenApiObject {
  const id = `get${of.name}${name}`
  return {
    ...(collection ? listOperation(getEntity(target), id) : readOperation(getEntity(target), id)),
    tags: [of.name],
  }
}

function createOperation(of: Entity): OpenApiObject {
  const responses = {
    201: jsonContent('The new draft', toComponentRef('schemas', of.typeName)),
    204: NO_BODY,
  }
  const requestBody = {
    required: true,
    ...jsonContent('The draft', toComponentRef('schemas', `${of.typeName}Create`)),
  }
  return {
    ...toOperation(`create${of.name}`, 'Create a draft', responses, of),
    parameters: toParameterRefs(['preferReturn']),
    requestBody,
  }
}

function toWriteOperations(of: Entity): OpenApiObject {
  const body = { required: true, ...jsonContent('The fields', toComponentRef('schemas', of.typeName)) }
  const responses = {
    200: jsonContent('The record as it is now', toComponentRef('schemas', of.typeName)),
    204: NO_BODY,
  }
  const write = { parameters: toParameterRefs(['ifMatch', 'preferReturn']), requestBody: body }
  return {
    patch: {
      ...toOperation(`change${of.name}`, 'Change the fields that are given', responses, of),
      ...write,
    },
    put: {
      ...toOperation(`replace${of.name}`, 'Replace all fields that clients write', responses, of),
      ...write,
    },
    delete: {
      ...toOperation(`delete${of.name}`, 'Remove the record and what belongs to it', { 204: NO_BODY }, of),
      parameters: toParameterRefs(['ifMatch']),
    },
  }
}

const toKeyParameter = ({ key }: Entity): OpenApiObject => ({
  name: key.name,
  in: 'path',
  required: true,
  description: key.description,
  schema: { type: key.type === 'String' ? 'string' : 'integer' },
})

const toSchemas = (of: Entity): OpenApiObject => ({
  [of.typeName]: toRecordSchema(of),
  [`${of.typeName}Page`]: toPageSchema(of),
  ...(of.writable && { [`${of.typeName}Create`]: toCreateSchema(of) }),
})

const NO_BODY: OpenApiObject = { description: 'Done; no body.' }
const PLAIN_NUMBER: OpenApiObject = {
  description: 'A number',
  content: { 'text/plain': { schema: { type: 'integer' } } },
}

const DETAIL: OpenApiObject = {
  code: { type: 'string' },
  message: { type: 'string' },
  target: { type: 'string' },
}
const ERROR_SCHEMA: OpenApiObject = {
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

function jsonContent(description: string, schema: OpenApiObject): OpenApiObject {
  return { description, content: { 'application/json': { schema } } }
}

/** Statuses of errors, each with its codes. */
function toErrorResponses(): OpenApiObject {
  const entries: readonly Pick<CatalogEntry<never>, 'status' | 'code'>[] = Object.values(CATALOG)
  const codesOf = (status: number) =>
    [...new Set(entries.filter(e => e.status === status).map(e => e.code))].sort()
  const statuses = [...new Set(entries.map(e => e.status))].sort()
  return Object.fromEntries(
    statuses.map(status => [
      `Error${status}`,
      jsonContent(`Codes ${codesOf(status).join(', ')}; see errors.md.`, toComponentRef('schemas', 'Error')),
    ]),
  )
}

/**
 * Every operation can fail in more ways than are worth repeating: those that tell something about it stand
 * here, all others are `default`.
 */
function toOperation(
  operationId: string,
  summary: string,
  responses: OpenApiObject,
  of?: Entity,
): OpenApiObject {
  const errors = Object.fromEntries(
    [400, 401, 403, 404].map(status => [status, toComponentRef('responses', `Error${status}`)]),
  )
  return {
    operationId,
    summary,
    ...(of && { tags: [of.name] }),
    responses: {
      ...responses,
      ...errors,
      default: jsonContent('Any other error', toComponentRef('schemas', 'Error')),
    },
  }
}
