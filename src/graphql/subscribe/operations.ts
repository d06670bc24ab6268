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
import { fail } from '../../errors/problem.js'
import type { GraphQLContext } from '../context.js'
import { BAD_REQUEST, toGraphQLError, withoutSuggestions } from '../errors.js'
import type { Executor, Result } from '../execute/executor.js'
import type { Input } from '../execute/operation.js'
import { type CostLimits, createCostCheck } from '../limits/cost.js'
import { keepDocuments } from '../limits/document-cache.js'
import type { FollowPort } from './property-changes.js'
import { type Results, subscribe } from './subscribe.js'

/** An operation as a client sends it; nothing of it is known to be what it should be. */
export interface OperationSent {
  readonly query?: unknown
  readonly operationName?: unknown
  readonly variables?: unknown
}

/** An operation of a valid document. */
export interface Prepared {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: Input
}

export interface LiveParts {
  readonly schema: GraphQLSchema
  readonly executor: Executor
  readonly port: FollowPort
  /** Refuses documents that would cost too much to validate. */
  readonly screen: (text: string) => void
  readonly config: CostLimits & Pick<Config, 'introspection' | 'maxSubscriptions'>
}

/**
 * Operations whose results may come one after the other, for the transports that can carry them: the same
 * checks as of any request, and how many run at a time.
 */
export class Live {
  readonly #parts: LiveParts
  readonly #checkCost: ReturnType<typeof createCostCheck>
  readonly #running = new Set<Results>()
  readonly #documents = keepDocuments()
  #reserved = 0
  #isClosed = false

  constructor(parts: LiveParts) {
    this.#parts = parts
    this.#checkCost = createCostCheck(parts.schema, parts.config)
  }

  /** Reads an operation, or says what is wrong with it; also with how it was sent, if `read` refuses it. */
  prepare(read: () => OperationSent, context: GraphQLContext): Prepared | readonly GraphQLError[] {
    try {
      return this.#check(read())
    } catch (error) {
      return [toTold(toGraphQLError(error, context))]
    }
  }

  /** The result of an operation, or its results as they come. A fault is a result. */
  async start(
    { document, operation, variables }: Prepared,
    context: GraphQLContext,
  ): Promise<Result | Results> {
    const { schema, port, executor } = this.#parts
    const execution = { document, operation, variables, context }
    try {
      if (operation.operation !== OperationTypeNode.SUBSCRIPTION)
        return toToldResult(await executor(execution))
      const results = await this.#reserve(() => subscribe(schema, port, execution))
      return 'next' in results ? results : toToldResult(results)
    } catch (error) {
      return { errors: [toTold(toGraphQLError(error, context))] }
    }
  }

  /** Ends all results and begins no others. */
  close(): void {
    this.#isClosed = true
    for (const results of this.#running) void results.return?.()
  }

  #check({ query, operationName, variables }: OperationSent): Prepared | readonly GraphQLError[] {
    if (typeof query !== 'string') return fail({ kind: 'BadRequest', reason: 'it holds no query' })
    if (!isOptional(operationName, 'string'))
      return fail({ kind: 'BadRequest', reason: 'its operationName is no text' })
    if (!isOptional(variables, 'object') || Array.isArray(variables))
      return fail({ kind: 'BadRequest', reason: 'its variables are no object' })
    const document = this.#documents.get(query) ?? this.#read(query)
    if (!('definitions' in document)) return document
    const operation = getOperationAST(document, operationName)
    if (!operation)
      return [
        coded(
          new GraphQLError('The document has no operation of that name, or several and none was named.'),
          'OPERATION_RESOLUTION_FAILURE',
        ),
      ]
    const prepared = { document, operation, variables: { ...variables } }
    this.#checkCost(prepared)
    return prepared
  }

  /**
   * A valid document, kept by its text: clients send the same few, and what is made of a document is kept
   * with it.
   */
  #read(query: string): DocumentNode | readonly GraphQLError[] {
    const { schema, screen, config } = this.#parts
    screen(query)
    const document = read(query)
    if (document instanceof GraphQLError) return [document]
    const rules = config.introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule]
    const errors = validate(schema, document, rules)
    if (errors.length > 0)
      return errors.map(e => coded(config.introspection ? e : silenced(e), 'GRAPHQL_VALIDATION_FAILED'))
    this.#documents.set(query, document)
    return document
  }

  /** A place for results, from before they begin until they have ended. */
  async #reserve(begin: () => Promise<Result | Results>): Promise<Result | Results> {
    if (this.#isClosed || this.#running.size + this.#reserved >= this.#parts.config.maxSubscriptions)
      fail({ kind: 'Unavailable', reason: 'busy' })
    this.#reserved += 1
    try {
      const begun = await begin()
      if (!('next' in begun)) return begun
      if (this.#isClosed) await begun.return?.()
      return this.#keep(begun)
    } finally {
      this.#reserved -= 1
    }
  }

  #keep(results: Results): Results {
    const give = (result: IteratorResult<Result>) => {
      if (result.done) this.#running.delete(kept)
      return result
    }
    const kept: Results = {
      next: () => results.next().then(give),
      return: async () => {
        this.#running.delete(kept)
        return (await results.return?.()) ?? { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => kept,
    }
    this.#running.add(kept)
    return kept
  }
}

const isOptional = <K extends 'string' | 'object'>(
  value: unknown,
  kind: K,
): value is (K extends 'string' ? string : object) | null | undefined =>
  value === undefined || value === null || typeof value === kind

function read(query: string): DocumentNode | GraphQLError {
  try {
    return parse(query)
  } catch (error) {
    if (error instanceof GraphQLError) return coded(error, 'GRAPHQL_PARSE_FAILED')
    throw error
  }
}

function coded(error: GraphQLError, code: string): GraphQLError {
  const { message, nodes, source, positions } = error
  return new GraphQLError(message, {
    ...(nodes && { nodes }),
    ...(source && { source }),
    ...(positions && { positions }),
    extensions: { code },
  })
}

const silenced = (error: GraphQLError): GraphQLError =>
  new GraphQLError(withoutSuggestions(error.toJSON()).message, { ...(error.nodes && { nodes: error.nodes }) })

/** Here no HTTP status goes with an error. What graphql-js says without a code is said of the request. */
export function toTold(error: GraphQLError): GraphQLError {
  const { http: _, code = BAD_REQUEST, ...extensions } = error.extensions
  const { message, nodes, path } = error
  return new GraphQLError(message, {
    ...(nodes && { nodes }),
    ...(path && { path }),
    extensions: { code, ...extensions },
  })
}

const toToldResult = ({ errors, ...result }: Result): Result => ({
  ...result,
  ...(errors && { errors: errors.map(toTold) }),
})
