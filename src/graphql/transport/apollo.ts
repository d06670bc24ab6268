import {
  ApolloServer,
  type ApolloServerOptionsWithGateway,
  type ApolloServerPlugin,
  type GraphQLRequestContext,
  type GraphQLRequestListener,
} from '@apollo/server'
import { ApolloServerValidationErrorCode } from '@apollo/server/errors'
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled'
import { execute, GraphQLError, type GraphQLFormattedError, type GraphQLSchema } from 'graphql'
import type { Config } from '../../config/config.js'
import { fail } from '../../errors/problem.js'
import type { GraphQLContext } from '../context.js'
import { BAD_REQUEST, toGraphQLError, withoutSuggestions } from '../errors.js'
import type { Executor } from '../execute/executor.js'
import { renderResult } from '../execute/raw-json.js'
import { type CostLimits, createCostCheck } from '../limits/cost.js'
import { createDocumentStore } from '../limits/document-cache.js'
import { MEDIA_TYPES } from './http.js'

/** What stands behind Apollo. */
export interface ApolloParts {
  readonly schema: GraphQLSchema
  readonly executor: Executor
  readonly config: CostLimits & Pick<Config, 'introspection'>
}

/**
 * Apollo Server between our HTTP and our execution: it reads documents, validates them, and keeps persisted
 * queries (30 MiB at most). Nothing of it speaks to others or to people: no reports, no page, no words on the
 * console.
 */
export function createApolloServer({ schema, executor, config }: ApolloParts): ApolloServer<GraphQLContext> {
  return new ApolloServer<GraphQLContext>({
    gateway: createGateway(schema, executor),
    documentStore: createDocumentStore(),
    introspection: config.introspection,
    includeStacktraceInErrorResponses: false,
    allowBatchedHttpRequests: false,
    // A browser cannot send this header from another page without asking first; so clients that read with GET
    // pass too.
    csrfPrevention: { requestHeaders: ['authorization'] },
    stopOnTerminationSignals: false,
    formatError: createErrorFormatter(config),
    stringifyResult: renderResult,
    logger: SILENT_LOGGER,
    plugins: [
      createOperationChecksPlugin(schema, config),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
    ],
  })
}

const noop = (): void => undefined
/** What Apollo has to say of a request is told by its hooks. */
const SILENT_LOGGER = { debug: noop, info: noop, warn: noop, error: noop }

/** The way in for an executor of one's own. What it throws is a fault of ours, told like any other. */
function createGateway(
  schema: GraphQLSchema,
  executor: Executor,
): ApolloServerOptionsWithGateway<GraphQLContext>['gateway'] {
  return {
    load: async () => ({
      async executor({ document, operation, request, ...gateway }) {
        const context = gateway.context as GraphQLContext // that of this server: the type of gateways is older than its parameter
        // Apollo asks for the execution of an operation that it has not found, and wants the error of it.
        if (!operation) return execute({ schema, document, operationName: request.operationName ?? null })
        try {
          const result = await executor({ document, operation, variables: request.variables ?? {}, context })
          return result.errors
            ? {
                ...result,
                errors: result.errors.map(error => toGraphQLError(error, context, error.path, error.nodes)),
              }
            : result
        } catch (error) {
          return { errors: [toGraphQLError(error, context)] }
        }
      },
    }),
    onSchemaLoadOrUpdate(callback) {
      callback({ apiSchema: schema, coreSupergraphSdl: '' })
      return noop
    },
    stop: async () => undefined,
  }
}

/** What is checked when a document is valid, and the status of what is not executed. */
function createOperationChecksPlugin(
  schema: GraphQLSchema,
  limits: CostLimits,
): ApolloServerPlugin<GraphQLContext> {
  const checkCost = createCostCheck(schema, limits)
  const listener: GraphQLRequestListener<GraphQLContext> = {
    async didResolveOperation({ document, operation, request, contextValue }) {
      try {
        if (operation?.operation === 'subscription')
          fail({ kind: 'BadRequest', reason: 'a subscription needs a WebSocket or an event stream' })
        if (operation) checkCost({ document, operation, variables: request.variables ?? {} })
      } catch (error) {
        throw toGraphQLError(error, contextValue)
      }
    },
    async willSendResponse(context) {
      useStatus200ForLegacyJson(context)
      setContentType(context)
    },
  }
  return {
    requestDidStart: async () => listener,
    unexpectedErrorProcessingRequest: async ({ requestContext, error }) =>
      void requestContext.contextValue.report(error),
  }
}

/**
 * A well-formed request whose operation is refused is answered with 200 under the older media type (GraphQL
 * over HTTP, 6.4.1): clients of it take 400 for a broken proxy.
 */
function useStatus200ForLegacyJson({
  request,
  response,
  errors,
}: GraphQLRequestContext<GraphQLContext>): void {
  const isMalformed = errors?.some(({ extensions: { code = BAD_REQUEST } }) => code === BAD_REQUEST)
  if (response.http.status === 400 && !isMalformed && request.http?.headers.get('accept') === MEDIA_TYPES[0])
    response.http.status = 200
}

/** That of the request, which we have chosen: Apollo would choose again. */
function setContentType({ request, response }: GraphQLRequestContext<GraphQLContext>): void {
  const type = request.http?.headers.get('accept')
  if (type) response.http.headers.set('content-type', `${type}; charset=utf-8`)
}

/**
 * Apollo marks what has no code as a fault of the service; but faults of ours have one, so it is the
 * request's.
 */
const createErrorFormatter =
  ({ introspection }: Pick<Config, 'introspection'>) =>
  (formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError => {
    const hasCode =
      !(error instanceof GraphQLError) ||
      error.extensions['code'] !== undefined ||
      error.originalError !== undefined
    const withCode = hasCode
      ? formatted
      : { ...formatted, extensions: { ...formatted.extensions, code: BAD_REQUEST } }
    if (introspection) return withCode
    // Apollo's words are for those who wrote the server.
    return withCode.extensions?.['validationErrorCode'] ===
      ApolloServerValidationErrorCode.INTROSPECTION_DISABLED
      ? {
          ...withCode,
          message: 'Introspection is switched off here; who runs the service can allow it (INTROSPECTION).',
        }
      : withoutSuggestions(withCode)
  }
