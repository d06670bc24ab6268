import { type ASTNode, GraphQLError, type GraphQLFormattedError } from 'graphql'
import { type Failure, toFailure } from '../errors/catalog.js'
import { type Problem, problemsOf } from '../errors/problem.js'
import type { GraphQLContext } from './context.js'

/**
 * Codes by HTTP status (decisions 9). What is not named is a request that could not be read as one: Apollo's
 * own code for it.
 */
const CODE_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [400, 'BAD_USER_INPUT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [409, 'CONFLICT'],
  [412, 'PRECONDITION_FAILED'],
  [500, 'INTERNAL_SERVER_ERROR'],
  [501, 'NOT_IMPLEMENTED'],
  [503, 'UNAVAILABLE'],
])

export const BAD_REQUEST = 'BAD_REQUEST'

/** Problems of status 400 that are faults of the HTTP request, not of what was asked with it. */
const MALFORMED_REQUEST_KINDS: ReadonlySet<Problem['kind']> = new Set<Problem['kind']>([
  'MalformedBody',
  'BadRequest',
  'BadHeader',
  'BadEncoding',
])

/**
 * An error of the answer in the words of the catalogue, with code, serviceCode, target and details in its
 * extensions. Of anything but a problem, a client is told only the id under which `report` has logged it.
 * With a path it is the error of a field; without one the request has failed, and Apollo is given its status.
 */
export function toGraphQLError(
  error: unknown,
  { report }: Pick<GraphQLContext, 'report'>,
  path?: readonly (string | number)[],
  nodes?: readonly ASTNode[],
): GraphQLError {
  if (error instanceof GraphQLError && isSafeToExpose(error)) return error
  const cause = error instanceof GraphQLError ? error.originalError : error
  const problems = problemsOf(cause, report)
  const failure = toFailure(problems)
  return new GraphQLError(failure.message, {
    ...(path ? { path } : {}),
    ...(nodes ? { nodes } : {}),
    extensions: { ...toExtensions(failure, problems[0]), ...(!path && { http: { status: failure.status } }) },
  })
}

/** Said by graphql-js or by ourselves: nothing else stands behind it. */
const isSafeToExpose = ({ originalError }: GraphQLError): boolean =>
  originalError === undefined || originalError instanceof GraphQLError

function toExtensions({ status, code, target, details }: Failure, { kind }: Problem) {
  const graphqlCode = MALFORMED_REQUEST_KINDS.has(kind)
    ? BAD_REQUEST
    : (CODE_BY_STATUS.get(status) ?? BAD_REQUEST)
  return { code: graphqlCode, serviceCode: code, ...(target !== undefined && { target }), details }
}

/** The same for a request that never came to be executed, as a value of its own. */
export function toRequestError(problem: Problem): {
  readonly status: number
  readonly error: GraphQLFormattedError
} {
  const failure = toFailure([problem])
  return {
    status: failure.status,
    error: { message: failure.message, extensions: toExtensions(failure, problem) },
  }
}

/** How a last sentence begins that names what is near: that of graphql-js, and of our catalogue too. */
const SUGGESTION_PREFIX = 'Did you mean '

/**
 * An error without the names that it suggests: from enough of those the schema could be rebuilt by whoever
 * may not ask for it. Not by a pattern: a message can hold a text of the client, and one that is full of such
 * beginnings would take quadratic time.
 */
export function withoutSuggestions(error: GraphQLFormattedError): GraphQLFormattedError {
  const { message } = error
  const start = message.endsWith('?')
    ? message.indexOf(SUGGESTION_PREFIX, message.lastIndexOf('?', message.length - 2) + 1)
    : -1
  return start < 0 ? error : { ...error, message: message.slice(0, start).trimEnd() }
}
