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
import { REASONS } from '../../errors/reasons.js'
import type { GraphQLContext } from '../context.js'
import { BAD_REQUEST, toGraphQLError, withoutSuggestions } from '../errors.js'
import type { Executor } from '../execute/executor.js'
import { describeOperation } from '../execute/operation-label.js'
import { renderResult } from '../execute/raw-json.js'
import { type CostLimits, createCostCheck } from '../limits/cost.js'
import type { DocumentCache } from '../limits/document-cache.js'
import { MEDIA_TYPES } from './http.js'

/** Dependencies of the Apollo Server. */
export interface ApolloServerDependencies {
  readonly schema: GraphQLSchema
  readonly executor: Executor
  readonly documents: DocumentCache
  readonly config: CostLimits & Pick<Config, 'introspection'>
}

/**
 * Creates the Apollo Server that parses and validates documents and caches persisted queries (30 MiB at
 * most). HTTP and execution are our own. Reporting, the landing page and console output are disabled.
 */
export function createApolloServer({
  schema,
  executor,
  documents,
  config,
}: ApolloServerDependencies): ApolloServer<GraphQLContext> {
  return new ApolloServer<GraphQLContext>({
    gateway: createGateway(schema, executor),
    documentStore: documents.toApolloStore(),
    introspection: config.introspection,
    includeStacktraceInErrorResponses: false,
    allowBatchedHttpRequests: false,
    // A browser sends this header to another origin only after a preflight request. Requiring it also
    // protects clients that use GET.
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
/** Disables Apollo's log. Its hooks report the same events. */
const SILENT_LOGGER = { debug: noop, info: noop, warn: noop, error: noop }

/** Passes operations to our executor. Errors that it throws are formatted like all others. */
function createGateway(
  schema: GraphQLSchema,
  executor: Executor,
): ApolloServerOptionsWithGateway<GraphQLContext>['gateway'] {
  return {
    load: async () => ({
      async executor({ document, operation, request, ...gateway }) {
        // The type of a gateway does not have the context type of its server.
        const context = gateway.context as GraphQLContext
        // For an unknown operation name Apollo expects the error of graphql-js.
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

/** Checks the cost of valid documents and sets the status of refused operations. */
function createOperationChecksPlugin(
  schema: GraphQLSchema,
  limits: CostLimits,
): ApolloServerPlugin<GraphQLContext> {
  const checkCost = createCostCheck(schema, limits)
  const listener: GraphQLRequestListener<GraphQLContext> = {
    async didResolveOperation({ document, operation, request, contextValue }) {
      if (operation) describeOperation(contextValue.scope, operation)
      try {
        if (operation?.operation === 'subscription' && schema.getSubscriptionType())
          fail({ kind: 'BadRequest', reason: REASONS.subscriptionNeedsStream })
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
  const measuringListener = {
    ...listener,
    parsingDidStart: measureParsing,
    validationDidStart: measureParsing,
  }
  return {
    requestDidStart: async ({ contextValue }) => (contextValue.scope.stages ? measuringListener : listener),
    unexpectedErrorProcessingRequest: async ({ requestContext, error }) =>
      void requestContext.contextValue.report(error),
  }
}

/** Measures parsing or validation as the stage `parse`. */
async function measureParsing({ contextValue }: { readonly contextValue: GraphQLContext }) {
  const startedAt = performance.now()
  return async () => contextValue.scope.stages?.onStage('parse', startedAt, performance.now())
}

/**
 * Answers a well-formed request whose operation is refused with 200 under the older media type (GraphQL over
 * HTTP, 6.4.1). Clients that use this type treat 400 as a fault of a proxy.
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

/** Sets the negotiated media type of the request. Apollo would negotiate again. */
function setContentType({ request, response }: GraphQLRequestContext<GraphQLContext>): void {
  const type = request.http?.headers.get('accept')
  if (type) response.http.headers.set('content-type', `${type}; charset=utf-8`)
}

/**
 * Creates the error formatter. Apollo marks errors without a code as internal errors. Our internal errors
 * have a code, so an error without one is a fault of the request.
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
    // Apollo's message addresses the developer of the server.
    return withCode.extensions?.['validationErrorCode'] ===
      ApolloServerValidationErrorCode.INTROSPECTION_DISABLED
      ? {
          ...withCode,
          message: 'Introspection is disabled. The operator can enable it with the setting INTROSPECTION.',
        }
      : withoutSuggestions(withCode)
  }
