import { fail } from '../../errors/problem.js'
import type { GraphQLContext } from '../context.js'
import { toGraphQLError } from '../errors.js'
import { readArguments } from '../execute/argument-values.js'
import { readVariables } from '../execute/coercion.js'
import type { Execution, Result } from '../execute/executor.js'
import {
  type Asked,
  asField,
  type Operation,
  objectType,
  readFields,
  readFragments,
} from '../execute/operation.js'
import { JsonText, renderObject } from '../execute/raw-json.js'
import { Changes, type FollowPort, type Run } from './property-changes.js'

/**
 * Results as they come. They are made when they are asked for; `return` ends them at once, also while one is
 * waited for.
 */
export type Results = AsyncIterableIterator<Result>

/**
 * Begins a subscription. Whatever is wrong with it is an answer here, before the first result: only what
 * happens later ends the results.
 * @throws ProblemError of arguments, permission or the database
 */
export async function subscribe(
  schema: Operation['schema'],
  port: FollowPort,
  execution: Execution,
): Promise<Results | Result> {
  const { document, operation, variables, context } = execution
  const { coerced, errors } = readVariables(schema, operation, variables)
  if (errors) return { errors }
  const parts: Operation = { schema, fragments: readFragments(document), variables: coerced }
  const root = objectType(parts, 'Subscription')
  const [asked] = readFields(parts, root, [asField(operation)])
  const field = asked && root.getFields()[asked.name]
  if (!asked || !field) return fail({ kind: 'BadRequest', reason: 'the subscription asks for nothing' })
  try {
    const args = readArguments(parts, asked, field)
    return toResults(
      await new Changes({ port, operation: parts, context, asked, args }).begin(),
      asked,
      context,
    )
  } catch (error) {
    return { data: null, errors: [toGraphQLError(error, context, [asked.key], asked.nodes)] }
  }
}

/** A fault of ours, or of the filter on a record, is the last result. */
function toResults(run: Run, { key, nodes }: Asked, context: GraphQLContext): Results {
  const controller = new AbortController()
  async function* results(): AsyncGenerator<Result> {
    try {
      for await (const json of run(controller.signal))
        yield { data: new JsonText(renderObject([[key, json]])) }
    } catch (error) {
      yield { data: null, errors: [toGraphQLError(error, context, [key], nodes)] }
    }
  }
  const inner = results()
  return {
    next: () => inner.next(),
    return: () => {
      controller.abort()
      return inner.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
