import type { IncomingMessage, ServerResponse } from 'node:http'
import { HeaderMap, type HTTPGraphQLRequest, type HTTPGraphQLResponse } from '@apollo/server'
import type { ErrorRequestHandler, Request, RequestHandler } from 'express'
import type { Config } from '../../config/config.js'
import { fail, type Problem, problemsOf } from '../../errors/problem.js'
import { checkMediaType, readBody } from '../../http/body.js'
import { failureHeaders } from '../../http/errors.js'
import { checkQueryLength } from '../../http/limits.js'
import { createNegotiator } from '../../http/negotiate.js'
import { toRefusal } from '../errors.js'
import type { OperationSent } from '../subscribe/operations.js'
import { readPlain, readPlainBytes } from './parse-variables.js'

/** What a request is answered with. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Logs a fault of the service and gives the id under which it stands in the log. */
export type Report = (error: unknown, req: IncomingMessage) => string

/** The two media types of GraphQL over HTTP (6.4.1, 6.4.2). The older one is for clients that name none. */
export const MEDIA_TYPES = ['application/json', 'application/graphql-response+json'] as const

/** Levels of a request around the values of its variables. */
const ENVELOPE = 8

/** Levels of the JSON of a request. A filter in a variable has two levels for each of its own, `{and: [`. */
export const levelsOf = ({ maxDepth }: Pick<Config, 'maxDepth'>): number => 2 * maxDepth + ENVELOPE

/**
 * The handlers of a path: one for requests and one for what failed before it, such as a limit. Whatever
 * becomes of a request, the answer has the shape of GraphQL, and nothing is left to Express.
 */
export function toHandlers(
  respond: (req: Request) => Promise<Answer>,
  report: Report,
): [RequestHandler, ErrorRequestHandler] {
  const refuse = (error: unknown, req: Request) =>
    toFailureAnswer(problemsOf(error, fault => report(fault, req))[0], req)
  return [
    (req, res) => {
      respond(req)
        .catch((error: unknown) => refuse(error, req))
        .then(answer => send(res, answer))
    },
    // Express knows an error handler by its four parameters.
    (error: unknown, req, res, _next) => send(res, refuse(error, req)),
  ]
}

function toFailureAnswer(problem: Problem, req: Request): Answer {
  const { status, error } = toRefusal(problem)
  const type = findMediaType(req) ?? MEDIA_TYPES[0]
  return {
    status,
    headers: { 'Content-Type': `${type}; charset=utf-8`, ...failureHeaders(problem) },
    body: JSON.stringify({ errors: [error] }),
  }
}

/** What a token may see stays with its owner. Node leaves the content away for HEAD. */
function send(res: ServerResponse, { status, headers, body }: Answer): void {
  res.statusCode = status
  res.setHeader('Cache-Control', 'private, no-cache')
  // Other values may stand there already: CORS has its own.
  res.appendHeader('Vary', ['Accept', 'Authorization'])
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.end(body)
}

const findMediaType = createNegotiator(MEDIA_TYPES)

/** @throws ProblemError MethodNotAllowed */
export function checkMethod({ method }: Request, allow: readonly string[]): void {
  if (!allow.includes(method)) fail({ kind: 'MethodNotAllowed', method, allow })
}

/**
 * A request as Apollo takes it: GET with its query string, or POST with JSON. Of the headers it gets what it
 * looks at: the media type that we have chosen, so that both agree, and for its check against forged requests
 * that there is a token, not which. The type of a body we have checked.
 * @throws ProblemError MethodNotAllowed, NotAcceptable, UrlTooLong, and those of `readJson`
 */
export async function readRequest(
  req: Request,
  limits: Pick<Config, 'maxQueryLength' | 'maxBodyBytes' | 'maxDepth'>,
): Promise<HTTPGraphQLRequest> {
  checkMethod(req, ['GET', 'POST'])
  const accept =
    findMediaType(req) ?? fail({ kind: 'NotAcceptable', offered: MEDIA_TYPES.join(' and '), wish: 'Accept' })
  checkQueryLength(req, limits)
  const { method } = req
  return {
    method,
    headers: toHeaders(accept, req),
    search: searchOf(req),
    body: method === 'POST' ? await readPosted(req, limits) : undefined,
  }
}

const TOKEN = ['authorization', 'Bearer'] as const
/** The same objects for almost all requests: nobody changes them. */
const HEADERS: ReadonlyMap<string, HeaderMap> = new Map(
  MEDIA_TYPES.map(accept => [accept, new HeaderMap([['accept', accept], TOKEN])]),
)

function toHeaders(accept: string, { method, headers }: Request): HeaderMap {
  const type = method === 'GET' ? headers['content-type'] : undefined
  const known = type === undefined ? HEADERS.get(accept) : undefined
  return (
    known ??
    new HeaderMap([
      ['accept', accept],
      TOKEN,
      ...(type === undefined ? [] : [['content-type', type] as const]),
    ])
  )
}

/** The query string, as it was sent. */
function searchOf({ originalUrl }: Request): string {
  const start = originalUrl.indexOf('?')
  return start < 0 ? '' : originalUrl.slice(start + 1)
}

async function readPosted(req: Request, limits: Pick<Config, 'maxBodyBytes' | 'maxDepth'>): Promise<unknown> {
  checkMediaType(req.headers['content-type'], 'application/json')
  return readPlainBytes(await readBody(req, limits.maxBodyBytes), levelsOf(limits))
}

/**
 * The text of the document in a request; undefined for one that is known by its hash, and for what Apollo
 * will refuse.
 */
export function documentIn({ method, search, body }: HTTPGraphQLRequest): string | undefined {
  const query =
    method === 'GET' ? new URLSearchParams(search).get('query') : hasQuery(body) ? body.query : undefined
  return typeof query === 'string' ? query : undefined
}

const hasQuery = (body: unknown): body is { readonly query: unknown } =>
  typeof body === 'object' && body !== null && 'query' in body

/**
 * The operation of a request, where the answer is no document.
 * @throws ProblemError as `readRequest`
 */
export async function readOperation(
  req: Request,
  limits: Pick<Config, 'maxQueryLength' | 'maxBodyBytes' | 'maxDepth'>,
): Promise<OperationSent> {
  checkMethod(req, ['GET', 'POST'])
  checkQueryLength(req, limits)
  if (req.method === 'POST') {
    const body = await readPosted(req, limits)
    return typeof body === 'object' && body !== null ? body : {}
  }
  const parameters = new URLSearchParams(searchOf(req))
  const variables = parameters.get('variables')
  return {
    query: parameters.get('query'),
    operationName: parameters.get('operationName'),
    variables: variables === null ? null : readPlain(variables, levelsOf(limits)),
  }
}

/** The answer of Apollo, which is never in pieces: nothing here is deferred. */
export function toAnswer({ status = 200, headers, body }: HTTPGraphQLResponse): Answer {
  if (body.kind !== 'complete') throw new Error('An answer in pieces')
  return { status, headers: Object.fromEntries(headers), body: body.string }
}
