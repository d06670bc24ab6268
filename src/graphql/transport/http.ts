import type { IncomingMessage, ServerResponse } from 'node:http'
import { HeaderMap, type HTTPGraphQLRequest, type HTTPGraphQLResponse } from '@apollo/server'
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { Config } from '../../config/config.js'
import type { Actor } from '../../domain/actor.js'
import type { RequestScope } from '../../domain/request-scope.js'
import { fail, type Problem, problemsOf } from '../../errors/problem.js'
import { checkMediaType, readBody } from '../../http/body.js'
import { failureHeaders } from '../../http/errors.js'
import { negotiateMediaType } from '../../http/negotiate.js'
import { checkQueryLength } from '../../http/url-limits.js'
import type { GraphQLContext } from '../context.js'
import { toRequestError } from '../errors.js'
import type { RequestParams } from '../subscribe/streaming-operations.js'
import { parseVariables, parseVariablesBytes } from './parse-variables.js'

/** An HTTP response of the GraphQL adapter. */
export interface GraphQLHttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Logs an internal error and returns the id of its log entry. */
export type ErrorReporter = (error: unknown, req: IncomingMessage) => string

/** Dependencies of the context of a request. */
export interface ContextDependencies {
  readonly report: ErrorReporter
  /** Returns the OData service root, with the host that the client used. */
  readonly serviceRoot: (req: IncomingMessage) => string
}

export const createContext = (
  { report, serviceRoot }: ContextDependencies,
  actor: Actor,
  scope: RequestScope,
  req: IncomingMessage,
): GraphQLContext => ({
  actor,
  scope,
  report: error => report(error, req),
  serviceRoot: () => serviceRoot(req),
})

/** The two media types of GraphQL over HTTP (6.4.1, 6.4.2). The older one is the default. */
export const MEDIA_TYPES = ['application/json', 'application/graphql-response+json'] as const

/** JSON levels of a request outside its variable values. */
const ENVELOPE_DEPTH = 8

/**
 * Returns the maximum JSON depth of a request. One level of a filter in a variable takes two JSON levels,
 * `{and: [`.
 */
export const maxJsonDepthOf = ({ maxDepth }: Pick<Config, 'maxDepth'>): number =>
  2 * maxDepth + ENVELOPE_DEPTH

/**
 * Creates the handlers of a path: one for requests, and one for errors of earlier middleware, such as a rate
 * limit. Every response is a GraphQL response. No error reaches Express.
 */
export function toRequestHandlers(
  respond: (req: Request, res: Response) => Promise<GraphQLHttpResponse>,
  report: ErrorReporter,
  cacheControl = 'private, no-cache',
): [RequestHandler, ErrorRequestHandler] {
  const toResponseOfError = (error: unknown, req: Request) =>
    toErrorResponse(problemsOf(error, fault => report(fault, req))[0], req)
  return [
    (req, res) => {
      respond(req, res)
        .catch((error: unknown) => toResponseOfError(error, req))
        .then(response => sendHttpResponse(res, response, cacheControl))
    },
    // Express identifies an error handler by its four parameters.
    (error: unknown, req, res, _next) => sendHttpResponse(res, toResponseOfError(error, req), cacheControl),
  ]
}

function toErrorResponse(problem: Problem, req: Request): GraphQLHttpResponse {
  const { status, error } = toRequestError(problem)
  const type = negotiateMediaType(req, MEDIA_TYPES) ?? MEDIA_TYPES[0]
  return {
    status,
    headers: { 'Content-Type': `${type}; charset=utf-8`, ...failureHeaders(problem) },
    body: JSON.stringify({ errors: [error] }),
  }
}

/**
 * Sends a response. It is private to the token, because the records in it depend on the token. Node omits the
 * body for HEAD.
 */
function sendHttpResponse(
  res: ServerResponse,
  { status, headers, body }: GraphQLHttpResponse,
  cacheControl: string,
): void {
  res.statusCode = status
  res.setHeader('Cache-Control', cacheControl)
  // The header can already have values, for example from CORS.
  res.appendHeader('Vary', ['Accept', 'Authorization'])
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.end(body)
}

/** @throws ProblemError MethodNotAllowed */
export function checkMethod({ method }: Request, allow: readonly string[]): void {
  if (!allow.includes(method)) fail({ kind: 'MethodNotAllowed', method, allow })
}

/** Methods of operations. HEAD is answered as GET, and Node sends no body. */
export const OPERATION_METHODS = ['GET', 'HEAD', 'POST'] as const

/**
 * Returns the request as Apollo reads it: GET with a query string, or POST with JSON. Apollo gets two
 * headers: the negotiated media type, and a mark that there is a token, which its CSRF check requires. The
 * media type of the body is checked here.
 * @throws ProblemError MethodNotAllowed, NotAcceptable, UrlTooLong, and those of `readJsonBody`
 */
export async function readApolloRequest(
  req: Request,
  limits: Pick<Config, 'maxQueryLength' | 'maxBodyBytes' | 'maxDepth'>,
): Promise<HTTPGraphQLRequest> {
  checkMethod(req, OPERATION_METHODS)
  const accept =
    negotiateMediaType(req, MEDIA_TYPES) ??
    fail({ kind: 'NotAcceptable', offered: MEDIA_TYPES.join(' and '), wish: 'Accept' })
  checkQueryLength(req, limits)
  const method = req.method === 'POST' ? 'POST' : 'GET'
  return {
    method,
    headers: toHeaders(accept, req),
    search: queryStringOf(req),
    body: method === 'POST' ? await readJsonBody(req, limits) : undefined,
  }
}

const TOKEN_PLACEHOLDER = ['authorization', 'Bearer'] as const
/** The same immutable objects serve almost all requests. */
const HEADERS_BY_MEDIA_TYPE: ReadonlyMap<string, HeaderMap> = new Map(
  MEDIA_TYPES.map(accept => [accept, new HeaderMap([['accept', accept], TOKEN_PLACEHOLDER])]),
)

function toHeaders(accept: string, { method, headers }: Request): HeaderMap {
  const type = method === 'POST' ? undefined : headers['content-type']
  const known = type === undefined ? HEADERS_BY_MEDIA_TYPE.get(accept) : undefined
  return (
    known ??
    new HeaderMap([
      ['accept', accept],
      TOKEN_PLACEHOLDER,
      ...(type === undefined ? [] : [['content-type', type] as const]),
    ])
  )
}

/** Returns the query string as it was sent. */
function queryStringOf({ originalUrl }: Request): string {
  const start = originalUrl.indexOf('?')
  return start < 0 ? '' : originalUrl.slice(start + 1)
}

async function readJsonBody(
  req: Request,
  limits: Pick<Config, 'maxBodyBytes' | 'maxDepth'>,
): Promise<unknown> {
  checkMediaType(req.headers['content-type'], 'application/json')
  return parseVariablesBytes(await readBody(req, limits.maxBodyBytes), maxJsonDepthOf(limits))
}

/**
 * Returns the text of the document in a request. Returns undefined for a document that is given by its hash,
 * and for a request that Apollo will reject.
 */
export function documentTextOf({ method, search, body }: HTTPGraphQLRequest): string | undefined {
  const query =
    method === 'GET' ? new URLSearchParams(search).get('query') : hasQuery(body) ? body.query : undefined
  return typeof query === 'string' ? query : undefined
}

const hasQuery = (body: unknown): body is { readonly query: unknown } =>
  typeof body === 'object' && body !== null && 'query' in body

/**
 * Reads the operation of a request whose response is a stream.
 * @throws ProblemError as `readApolloRequest`
 */
export async function readRequestParams(
  req: Request,
  limits: Pick<Config, 'maxQueryLength' | 'maxBodyBytes' | 'maxDepth'>,
): Promise<RequestParams> {
  checkMethod(req, OPERATION_METHODS)
  checkQueryLength(req, limits)
  if (req.method === 'POST') {
    const body = await readJsonBody(req, limits)
    return typeof body === 'object' && body !== null ? body : {}
  }
  const parameters = new URLSearchParams(queryStringOf(req))
  const variables = parameters.get('variables')
  return {
    query: parameters.get('query'),
    operationName: parameters.get('operationName'),
    variables: variables === null ? null : parseVariables(variables, maxJsonDepthOf(limits)),
  }
}

/** Converts a response of Apollo, which is always complete: `@defer` is not supported. */
export function toHttpResponse({ status = 200, headers, body }: HTTPGraphQLResponse): GraphQLHttpResponse {
  if (body.kind !== 'complete') throw new Error('An answer in pieces')
  return { status, headers: Object.fromEntries(headers), body: body.string }
}
