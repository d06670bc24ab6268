import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { GraphQLSchema } from 'graphql'
import type { Config } from '../../config/config.js'
import { requireScope, type TokenScope } from '../../domain/actor.js'
import { RESOURCES } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { authenticateRequest, type RequestVerifier } from '../../http/auth/authenticate-request.js'
import { toLoggedName } from '../../http/log.js'
import { openRequestScope } from '../../http/request-scope.js'
import { ADMIN_MODEL, type EntityModel, LISTING_MODEL } from '../../model/model.js'
import { createExecutor, type Executor } from '../execute/executor.js'
import type { ServicePort } from '../execute/root-field.js'
import type { CostLimits } from '../limits/cost.js'
import { DocumentCache } from '../limits/document-cache.js'
import { createDocumentLimitsCheck, type DocumentLimits } from '../limits/document-limits.js'
import { createSchemaModel } from '../schema/schema-model.js'
import { createSchema, renderSdl } from '../schema/sdl.js'
import { createApolloServer } from './apollo.js'
import {
  type ContextDependencies,
  checkMethod,
  createContext,
  documentTextOf,
  type GraphQLHttpResponse,
  readApolloRequest,
  toHttpResponse,
  toRequestHandlers,
} from './http.js'

/** A GraphQL service: the entities that it shows, at its path. */
export interface GraphQLService {
  readonly path: string
  readonly model: EntityModel
  /** The scope that every request needs, besides those of its fields. */
  readonly scope?: TokenScope
  /** Cache-Control of responses, if it is not the usual one. */
  readonly cacheControl?: string
}

/** Path of the service of the listings. */
export const GRAPHQL_PATH = '/graphql'
/** Path of the schema in SDL, below that of the service. */
export const SDL_PATH = '/schema.graphql'

export const LISTING_GRAPHQL: GraphQLService = { path: GRAPHQL_PATH, model: LISTING_MODEL }
/** Responses can have secrets, which a cache must not store. */
export const ADMIN_GRAPHQL: GraphQLService = {
  path: '/admin/graphql',
  model: ADMIN_MODEL,
  scope: 'admin',
  cacheControl: 'no-store',
}

/** Executes operations of all transports. */
export interface GraphQLEngine {
  readonly sdl: string
  readonly schema: GraphQLSchema
  readonly executor: Executor
  readonly documents: DocumentCache
  /** Refuses documents that would cost too much to validate. */
  readonly checkDocumentLimits: (text: string) => void
  readonly model: ServicePort['model']
  readonly limits: ServicePort['limits']
}

/** Dependencies of a GraphQL engine. */
export interface GraphQLEngineDependencies
  extends Pick<ServicePort, 'reading' | 'writing' | 'administration' | 'deltas' | 'digests' | 'plans'> {
  readonly service: GraphQLService
  readonly config: DocumentLimits & Pick<Config, 'maxList'>
  /** Executes operations field by field with graphql-js, as a reference for tests. */
  readonly usesGraphQLJs?: boolean
}

/**
 * Creates the schema, the executor and the document limits. All transports share one engine, and therefore
 * one document cache.
 */
export function createGraphQLEngine({
  service,
  reading,
  writing,
  administration,
  plans,
  deltas,
  digests,
  config,
  usesGraphQLJs = false,
}: GraphQLEngineDependencies): GraphQLEngine {
  const model = createSchemaModel(service.model)
  const sdl = renderSdl(model)
  const schema = createSchema(sdl)
  const documents = new DocumentCache(plans, schema)
  const limits = { maxDepth: config.maxDepth, maxNodes: config.maxNodes, maxListItems: config.maxList }
  return {
    sdl,
    schema,
    executor: createExecutor({
      schema,
      port: { model, reading, writing, administration, deltas, digests, plans, limits },
      usesGraphQLJs,
    }),
    documents,
    checkDocumentLimits: createDocumentLimitsCheck(config, documents),
    model,
    limits,
  }
}

/** Dependencies of the GraphQL adapter. */
export interface GraphQLHandlerDependencies extends GraphQLEngineDependencies, ContextDependencies {
  readonly config: GraphQLEngineDependencies['config'] &
    CostLimits &
    Pick<Config, 'introspection' | 'maxQueryLength' | 'maxBodyBytes' | 'trustProxy'>
  readonly verifier: RequestVerifier
  readonly engine?: GraphQLEngine
}

/** Answers every request below the path of a service: operations, and the schema as text. */
export function serveGraphQL({
  config,
  verifier,
  report,
  serviceRoot,
  engine,
  service,
  ...parts
}: GraphQLHandlerDependencies): [RequestHandler, ErrorRequestHandler] {
  const { sdl, schema, executor, documents, checkDocumentLimits } =
    engine ?? createGraphQLEngine({ ...parts, service, config })
  const apollo = createApolloServer({ schema, executor, documents, config })
  apollo.startInBackgroundHandlingStartupErrorsByLoggingAndFailingAllRequests()

  /** Authenticates first, so that a request without a token learns nothing about the service. */
  async function respond(req: Request, res: Response): Promise<GraphQLHttpResponse> {
    const token = await authenticateRequest(req, verifier, config)
    if (service.scope) requireScope(token.actor, service.scope)
    if (req.path === SDL_PATH && config.introspection) return toSdlResponse(req, sdl)
    if (req.path !== '/') fail({ kind: 'NotFound', what: RESOURCES.resource(`${service.path}${req.path}`) })
    const apolloRequest = await readApolloRequest(req, config)
    const scope = openRequestScope(res, token)
    const context = createContext({ report, serviceRoot }, token.actor, scope, req)
    const { operationName } = (apolloRequest.body ?? {}) as { readonly operationName?: unknown } // not checked yet
    // The name of the operation replaces it.
    if (typeof operationName === 'string') scope.description.operation = toLoggedName(operationName)
    const documentText = documentTextOf(apolloRequest)
    if (documentText !== undefined) checkDocumentLimits(documentText)
    return toHttpResponse(
      await apollo.executeHTTPGraphQLRequest({
        httpGraphQLRequest: apolloRequest,
        context: async () => context,
      }),
    )
  }

  return toRequestHandlers(respond, report, service.cacheControl)
}

function toSdlResponse(req: Request, sdl: string): GraphQLHttpResponse {
  checkMethod(req, ['GET', 'HEAD'])
  return { status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: sdl }
}
