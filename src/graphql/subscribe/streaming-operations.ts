import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  specifiedRules,
  validate,
} from 'graphql'
import type { Config } from '../../config/config.js'
import type { RequestScope } from '../../domain/request-scope.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { toLoggedName } from '../../http/log.js'
import type { GraphQLContext } from '../context.js'
import { BAD_REQUEST, toGraphQLError, withoutSuggestions } from '../errors.js'
import type { InputValues } from '../execute/collect-fields.js'
import type { ExecutionRequest, Executor, RawExecutionResult } from '../execute/executor.js'
import { describeOperation } from '../execute/operation-label.js'
import { type CostLimits, createCostCheck } from '../limits/cost.js'
import type { DocumentCache } from '../limits/document-cache.js'
import type { SubscriptionPort } from './property-changes.js'
import { type ResponseStream, subscribe } from './subscribe.js'

/** An operation as a client sends it. No member is checked yet. */
export interface RequestParams {
  readonly query?: unknown
  readonly operationName?: unknown
  readonly variables?: unknown
}

/** An operation of a valid document. */
export interface ExecutableOperation {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: InputValues
}

export interface StreamingOperationsDependencies {
  readonly schema: GraphQLSchema
  readonly executor: Executor
  readonly documents: DocumentCache
  readonly port: SubscriptionPort
  /** Refuses documents that would cost too much to validate. */
  readonly checkDocumentLimits: (text: string) => void
  readonly config: CostLimits & Pick<Config, 'introspection' | 'maxSubscriptions'>
}

/**
 * Operations that can return several results, for the transports that can carry them. Applies the same checks
 * as to any request and limits the number of concurrent operations.
 */
export class StreamingOperations {
  readonly #dependencies: StreamingOperationsDependencies
  readonly #checkCost: ReturnType<typeof createCostCheck>
  readonly #activeStreams = new Set<ResponseStream>()
  /** The requests whose streams are being opened. */
  readonly #openingScopes = new Set<RequestScope>()
  #isClosed = false

  constructor(dependencies: StreamingOperationsDependencies) {
    this.#dependencies = dependencies
    this.#checkCost = createCostCheck(dependencies.schema, dependencies.config)
  }

  /** Reads and validates an operation. Returns the errors if it is invalid or if `read` rejects it. */
  prepare(
    readParams: () => RequestParams,
    context: GraphQLContext,
  ): ExecutableOperation | readonly GraphQLError[] {
    try {
      return this.#validateRequest(readParams(), context)
    } catch (error) {
      return [withoutHttpStatus(toGraphQLError(error, context))]
    }
  }

  /** Executes an operation and returns its result, or a stream of results. An error is a result too. */
  async execute(
    { document, operation, variables }: ExecutableOperation,
    context: GraphQLContext,
  ): Promise<RawExecutionResult | ResponseStream> {
    const execution = { document, operation, variables, context }
    try {
      if (operation.operation !== OperationTypeNode.SUBSCRIPTION)
        return toResultWithoutHttpStatus(await this.#dependencies.executor(execution))
      const stream = await this.#openStream(execution)
      return 'next' in stream ? stream : toResultWithoutHttpStatus(stream)
    } catch (error) {
      return { errors: [withoutHttpStatus(toGraphQLError(error, context))] }
    }
  }

  /** Ends all streams, also those that are being opened. New ones end immediately. */
  close(): void {
    this.#isClosed = true
    for (const scope of this.#openingScopes) scope.abort()
    for (const stream of this.#activeStreams) void stream.return?.()
  }

  #validateRequest(
    { query, operationName, variables }: RequestParams,
    { scope }: GraphQLContext,
  ): ExecutableOperation | readonly GraphQLError[] {
    if (typeof query !== 'string') return fail({ kind: 'BadRequest', reason: REASONS.noQuery })
    if (!isOptional(operationName, 'string'))
      return fail({ kind: 'BadRequest', reason: REASONS.operationNameNotString })
    if (!isOptional(variables, 'object') || Array.isArray(variables))
      return fail({ kind: 'BadRequest', reason: REASONS.variablesNotObject })
    // The name of the operation replaces the requested one.
    if (typeof operationName === 'string') scope.description.operation = toLoggedName(operationName)
    const document =
      this.#dependencies.documents.get(query) ?? scope.measure('parse', () => this.#parseAndValidate(query))
    if (!('definitions' in document)) return document
    const operation = getOperationAST(document, operationName)
    if (!operation)
      return [
        withCode(
          new GraphQLError('The document has no operation of that name, or several and none was named.'),
          'OPERATION_RESOLUTION_FAILURE',
        ),
      ]
    describeOperation(scope, operation)
    const prepared = { document, operation, variables: { ...variables } }
    this.#checkCost(prepared)
    return prepared
  }

  /**
   * Returns the valid document for a text. Documents are cached by text because clients send the same few,
   * and derived data is cached with the document.
   */
  #parseAndValidate(query: string): DocumentNode | readonly GraphQLError[] {
    const { schema, documents, checkDocumentLimits, config } = this.#dependencies
    checkDocumentLimits(query)
    const document = parseDocument(query)
    if (document instanceof GraphQLError) return [document]
    const rules = config.introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule]
    const errors = validate(schema, document, rules)
    if (errors.length > 0)
      return errors.map(e =>
        withCode(config.introspection ? e : toErrorWithoutSuggestions(e), 'GRAPHQL_VALIDATION_FAILED'),
      )
    documents.set(query, document)
    return document
  }

  /**
   * Opens a stream and reserves a slot for it, from before it opens until it has ended. When the service
   * stops, the result is an ended stream, not an error: the client is to connect again.
   */
  async #openStream(execution: ExecutionRequest): Promise<RawExecutionResult | ResponseStream> {
    const { schema, port, config } = this.#dependencies
    const { scope } = execution.context
    if (this.#isClosed) return endedStream()
    if (this.#activeStreams.size + this.#openingScopes.size >= config.maxSubscriptions)
      fail({ kind: 'Unavailable', reason: 'busy' })
    this.#openingScopes.add(scope)
    try {
      const result = await subscribe(schema, port, execution)
      if (!this.#isClosed) return 'next' in result ? this.#trackStream(result) : result
      if ('next' in result) await result.return?.()
      return endedStream()
    } finally {
      this.#openingScopes.delete(scope)
    }
  }

  #trackStream(stream: ResponseStream): ResponseStream {
    const untrackWhenDone = (result: IteratorResult<RawExecutionResult>) => {
      if (result.done) this.#activeStreams.delete(tracked)
      return result
    }
    const tracked: ResponseStream = {
      next: () => stream.next().then(untrackWhenDone),
      return: async () => {
        this.#activeStreams.delete(tracked)
        return (await stream.return?.()) ?? { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => tracked,
    }
    this.#activeStreams.add(tracked)
    return tracked
  }
}

/** A stream without a result. */
function endedStream(): ResponseStream {
  const stream: ResponseStream = {
    next: async () => ({ done: true, value: undefined }),
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}

const isOptional = <K extends 'string' | 'object'>(
  value: unknown,
  kind: K,
): value is (K extends 'string' ? string : object) | null | undefined =>
  value === undefined || value === null || typeof value === kind

function parseDocument(query: string): DocumentNode | GraphQLError {
  try {
    return parse(query)
  } catch (error) {
    if (error instanceof GraphQLError) return withCode(error, 'GRAPHQL_PARSE_FAILED')
    throw error
  }
}

function withCode(error: GraphQLError, code: string): GraphQLError {
  const { message, nodes, source, positions } = error
  return new GraphQLError(message, {
    ...(nodes && { nodes }),
    ...(source && { source }),
    ...(positions && { positions }),
    extensions: { ...error.extensions, code },
  })
}

const toErrorWithoutSuggestions = (error: GraphQLError): GraphQLError =>
  new GraphQLError(withoutSuggestions(error.toJSON()).message, {
    ...(error.nodes && { nodes: error.nodes }),
    extensions: error.extensions,
  })

/**
 * Removes the HTTP status from an error, because these transports have none. An error of graphql-js without a
 * code gets `BAD_REQUEST`.
 */
export function withoutHttpStatus(error: GraphQLError): GraphQLError {
  const { http: _, code = BAD_REQUEST, ...extensions } = error.extensions
  const { message, nodes, path } = error
  return new GraphQLError(message, {
    ...(nodes && { nodes }),
    ...(path && { path }),
    extensions: { code, ...extensions },
  })
}

const toResultWithoutHttpStatus = ({ errors, ...result }: RawExecutionResult): RawExecutionResult => ({
  ...result,
  ...(errors && { errors: errors.map(withoutHttpStatus) }),
})
