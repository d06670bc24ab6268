import { type ASTNode, GraphQLError, type GraphQLFormattedError } from 'graphql'
import { type Failure, toFailure } from '../errors/catalog.js'
import { type Problem, problemsOf } from '../errors/problem.js'
import type { GraphQLContext } from './context.js'

/** Codes by HTTP status. Requests with other statuses could not be read and get Apollo's code. */
const CODE_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [400, 'BAD_USER_INPUT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [409, 'CONFLICT'],
  [410, 'GONE'],
  [412, 'PRECONDITION_FAILED'],
  [500, 'INTERNAL_SERVER_ERROR'],
  [501, 'NOT_IMPLEMENTED'],
  [503, 'UNAVAILABLE'],
])

export const BAD_REQUEST = 'BAD_REQUEST'

/** Problems of status 400 that concern the HTTP request instead of the operation. */
const MALFORMED_REQUEST_KINDS: ReadonlySet<Problem['kind']> = new Set<Problem['kind']>([
  'MalformedBody',
  'BadRequest',
  'BadHeader',
  'BadEncoding',
])

/**
 * Converts an error to a GraphQL error with the catalog's message. Its extensions have code, serviceCode,
 * target and details, and for a limit `retryAfter` in seconds. For an error that is not a problem, the client
 * gets only the id of the log entry from `report`. With a path it is a field error. Without one the request
 * failed, and the error has an HTTP status.
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

/** Returns true for an error of graphql-js or of this service that wraps no other error. */
const isSafeToExpose = ({ originalError }: GraphQLError): boolean =>
  originalError === undefined || originalError instanceof GraphQLError

function toExtensions({ status, code, target, details }: Failure, problem: Problem) {
  const { kind } = problem
  const graphqlCode = MALFORMED_REQUEST_KINDS.has(kind)
    ? BAD_REQUEST
    : (CODE_BY_STATUS.get(status) ?? BAD_REQUEST)
  return {
    code: graphqlCode,
    serviceCode: code,
    ...(target !== undefined && { target }),
    ...(problem.kind === 'TooManyRequests' && { retryAfter: problem.retryAfter }),
    details,
  }
}

/** Converts a problem of a request that was not executed to a formatted error with a status. */
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

/** The start of the sentence with a suggestion, in messages of graphql-js and of the catalog. */
const SUGGESTION_PREFIX = 'Did you mean '

/**
 * Removes suggested names from an error. With enough of them a client could reconstruct the schema without
 * introspection. A client can cause a message with many such starts, for which a regular expression would
 * take quadratic time.
 */
export function withoutSuggestions(error: GraphQLFormattedError): GraphQLFormattedError {
  const { message } = error
  const start = message.endsWith('?')
    ? message.indexOf(SUGGESTION_PREFIX, message.lastIndexOf('?', message.length - 2) + 1)
    : -1
  return start < 0 ? error : { ...error, message: message.slice(0, start).trimEnd() }
}
