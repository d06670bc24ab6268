import { SCOPES } from '../../domain/actor.js'
import type { Entity } from '../../model/model.js'
import { LISTING_SERVICE, type ODataService } from '../protocol/request.js'
import { operationsOf } from './csdl-operations.js'
import { toFunctionPaths, toTypeSchemas } from './openapi-functions.js'
import {
  countOperation,
  createOperation,
  listOperation,
  navigationOperation,
  readOperation,
  toOperation,
  toParameterRefs,
  toWriteOperations,
} from './openapi-operations.js'
import { OPENAPI_PARAMETERS } from './openapi-parameters.js'
import { ERROR_SCHEMA, jsonContent, OPENAPI_HEADERS, toErrorResponses } from './openapi-responses.js'
import {
  BATCH_SCHEMAS,
  type OpenApiObject,
  toComponentRef,
  toPageSchema,
  toRecordSchema,
  toWriteSchema,
} from './openapi-schemas.js'

const SERVER_DESCRIPTION = 'The service root of OData.'
const LISTING_INFO = {
  title: 'Listing Service',
  version: '1',
  description: 'Real-estate listings over OData 4.01. $metadata is the complete description.',
}
const ADMIN_INFO = {
  title: 'Administration of the Listing Service',
  version: '1',
  description: 'Clients, feeds, webhooks, usage and the audit log over OData 4.01.',
}
const ADMIN_SECURITY_DESCRIPTION = 'A JSON Web Token with the scope admin.'
const SECURITY_DESCRIPTION = 'A JSON Web Token with the scope listings:read, and listings:write for writes.'

/**
 * Describes the OData adapter in OpenAPI 3.1: paths, options, records and errors. URL forms that OpenAPI
 * cannot describe (keys as segments, `/$ref`, single values) are omitted.
 * @param address the URL of the service: the service root without its path.
 */
export function toOpenApi(address = '', service: ODataService = LISTING_SERVICE): OpenApiObject {
  const entities = [...service.model.entities.values()]
  const { complexTypes, functions } = operationsOf(service.model)
  return {
    openapi: '3.1.0',
    info: service.scope ? ADMIN_INFO : LISTING_INFO,
    servers: [{ url: `${address}${service.path}`, description: SERVER_DESCRIPTION }],
    security: [{ bearer: [] }, { oauth2: [] }, { basic: [] }],
    tags: entities.map(e => ({ name: e.name, description: e.description })),
    paths: Object.assign({}, SERVICE_ROOT_PATHS, toFunctionPaths(functions), ...entities.map(toPathItems)),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: service.scope ? ADMIN_SECURITY_DESCRIPTION : SECURITY_DESCRIPTION,
        },
        ...toClientSchemes(address),
      },
      parameters: OPENAPI_PARAMETERS,
      headers: OPENAPI_HEADERS,
      schemas: Object.assign(
        { Error: ERROR_SCHEMA, ...BATCH_SCHEMAS, ...toTypeSchemas(complexTypes) },
        ...entities.map(toSchemas),
      ),
      responses: toErrorResponses(),
    },
  }
}

/** Returns the security schemes of registered clients (docs/partners.md). */
const toClientSchemes = (address: string): OpenApiObject => ({
  oauth2: {
    type: 'oauth2',
    description: 'Access tokens of the service, for its clients. Issued where PUBLIC_URL is set.',
    flows: {
      clientCredentials: {
        tokenUrl: `${address}/oauth/token`,
        scopes: Object.fromEntries(SCOPES.map(scope => [scope, `The scope ${scope}`])),
      },
    },
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'Id and secret of a client, for tools that do not support tokens. Accepted where BASIC_AUTH is on.',
  },
})

const SERVICE_ROOT_PATHS: OpenApiObject = {
  '/': {
    get: {
      ...toOperation(
        'service',
        {
          id: 'getService',
          summary: 'The service document',
          description: 'The names and URLs of the entity sets.',
        },
        { 200: jsonContent('The service document.', { type: 'object' }) },
      ),
      parameters: toParameterRefs(['format']),
    },
  },
  '/$metadata': {
    get: {
      ...toOperation(
        'service',
        {
          id: 'getMetadata',
          summary: 'The model',
          description: 'The entity model, as CSDL XML or CSDL JSON.',
        },
        { 200: { description: 'The model.', content: { 'application/xml': {}, 'application/json': {} } } },
      ),
      parameters: toParameterRefs(['format']),
    },
  },
  '/$batch': {
    post: {
      ...toOperation(
        'batch',
        {
          id: 'batch',
          summary: 'Several requests in one',
          description:
            'Executes requests in their order. Requests of one atomicityGroup are one transaction.',
        },
        {
          200: jsonContent(
            'The responses, one for each request.',
            toComponentRef('schemas', 'BatchResponse'),
          ),
        },
      ),
      parameters: toParameterRefs(['preferContinue']),
      requestBody: jsonContent('The requests.', toComponentRef('schemas', 'BatchRequest')),
    },
  },
}

function toPathItems(of: Entity): OpenApiObject {
  const record = `/${of.name}(${of.key.type === 'String' ? `'{${of.key.name}}'` : `{${of.key.name}}`})`
  const parameters = [toKeyParameter(of)]
  return {
    [`/${of.name}`]: { get: listOperation(of), ...(of.writable && { post: createOperation(of) }) },
    [`/${of.name}/$count`]: { get: countOperation(of) },
    [record]: { parameters, get: readOperation(of), ...(of.writable && toWriteOperations(of)) },
    ...Object.fromEntries(
      of.navigations.map(n => [`${record}/${n.name}`, { parameters, get: navigationOperation(of, n) }]),
    ),
  }
}

const toKeyParameter = ({ key }: Entity): OpenApiObject => ({
  name: key.name,
  in: 'path',
  required: true,
  description: key.description,
  schema: key.type === 'String' ? { type: 'string', minLength: 1 } : { type: 'integer' },
})

const toSchemas = (of: Entity): OpenApiObject => ({
  [of.typeName]: toRecordSchema(of),
  [`${of.typeName}Page`]: toPageSchema(of),
  ...(of.writable && { [`${of.typeName}Create`]: toWriteSchema(of, 'create') }),
  ...(of.writable &&
    !of.immutable && {
      [`${of.typeName}Replace`]: toWriteSchema(of, 'replace'),
      [`${of.typeName}Update`]: toWriteSchema(of, 'update'),
    }),
})
