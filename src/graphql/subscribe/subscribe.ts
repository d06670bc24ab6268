import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import type { GraphQLContext } from '../context.js'
import { toGraphQLError } from '../errors.js'
import { coerceArgumentValues } from '../execute/argument-values.js'
import { coerceVariableValues } from '../execute/coercion.js'
import {
  type CollectedField,
  collectFields,
  fragmentsOf,
  getObjectType,
  type SelectionContext,
  toFieldNode,
} from '../execute/collect-fields.js'
import type { ExecutionRequest, RawExecutionResult } from '../execute/executor.js'
import { RawJson, renderRawObject } from '../execute/raw-json.js'
import {
  PropertyChangeSubscription,
  type SourceStreamFactory,
  type SubscriptionPort,
} from './property-changes.js'

/**
 * A stream of results. Each result is produced on request. `return` ends the stream immediately, also while a
 * result is pending.
 */
export type ResponseStream = AsyncIterableIterator<RawExecutionResult>

/**
 * Starts a subscription. An error that is found before the first result is returned as a result. Later errors
 * end the stream.
 * @throws ProblemError for invalid arguments, a missing permission, or a database failure
 */
export async function subscribe(
  schema: SelectionContext['schema'],
  port: SubscriptionPort,
  execution: ExecutionRequest,
): Promise<ResponseStream | RawExecutionResult> {
  const { document, operation, variables, context } = execution
  const { coerced, errors } = coerceVariableValues(schema, operation, variables)
  if (errors) return { errors }
  const selectionContext: SelectionContext = { schema, fragments: fragmentsOf(document), variables: coerced }
  const rootType = getObjectType(selectionContext, 'Subscription')
  const [collected] = collectFields(selectionContext, rootType, [toFieldNode(operation)])
  const field = collected && rootType.getFields()[collected.name]
  if (!collected || !field) return fail({ kind: 'BadRequest', reason: REASONS.emptySubscription })
  try {
    const args = coerceArgumentValues(selectionContext, collected, field)
    return toResponseStream(
      await new PropertyChangeSubscription({
        port,
        selectionContext: selectionContext,
        context,
        collected,
        args,
      }).createSourceStream(),
      collected,
      context,
    )
  } catch (error) {
    return {
      data: null,
      errors: [toGraphQLError(error, context, [collected.responseName], collected.fieldNodes)],
    }
  }
}

/**
 * Converts source events to results. An internal error, or an error of the filter on a record, is the last
 * result. A stream that `return` ends has no last result: its own end cancels the statement that runs.
 */
function toResponseStream(
  createSourceStream: SourceStreamFactory,
  { responseName, fieldNodes }: CollectedField,
  context: GraphQLContext,
): ResponseStream {
  const controller = new AbortController()
  async function* results(): AsyncGenerator<RawExecutionResult> {
    try {
      for await (const json of createSourceStream(controller.signal))
        yield { data: new RawJson(renderRawObject([[responseName, json]])) }
    } catch (error) {
      if (controller.signal.aborted) return
      yield { data: null, errors: [toGraphQLError(error, context, [responseName], fieldNodes)] }
    }
  }
  const generator = results()
  return {
    next: () => generator.next(),
    return: () => {
      controller.abort()
      context.scope.abort()
      return generator.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
