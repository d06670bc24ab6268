import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/config.js'
import { requireScope } from '../domain/actor.js'
import { fail } from '../errors/problem.js'
import { checkPathLength, checkQueryStringLength } from '../http/url-limits.js'
import type { ParseLimits } from '../language/parse-limits.js'
import { memoize } from '../query/memoize.js'
import type { ODataRequest, ODataServices, RequestBody } from './protocol/request.js'
import { noContent, type ODataResponse, type StreamedODataResponse } from './protocol/response.js'
import { checkVersions, negotiateVersion } from './protocol/version.js'
import { type ResourceRoutes, withRoutes } from './routes.js'
import { readQueryOptions } from './url/query-options.js'
import { type ResourcePath, readResourcePath } from './url/resource-path.js'

/** A request with a known actor and an unparsed URL, either alone or in a batch. */
export interface RawODataRequest
  extends RequestBody,
    Pick<
      ODataRequest,
      'service' | 'root' | 'rawPath' | 'rawQuery' | 'headers' | 'actor' | 'scope' | 'plans'
    > {
  readonly method: string
}

/** A request with its parsed URL. */
export interface ParsedODataRequest {
  readonly method: string
  readonly path: ResourcePath
  readonly request: ODataRequest
}

export type DispatchConfig = Pick<
  Config,
  'maxQueryLength' | 'maxHeaderBytes' | 'maxDepth' | 'maxNodes' | 'maxList'
>

/** Parses headers and URL of a request. Refuses requests that are invalid for every resource. */
export function parseRequest(raw: RawODataRequest, settings: DispatchConfig): ParsedODataRequest {
  const { maxQueryLength } = settings
  const { method, service, root, headers, rawPath, rawQuery, actor, scope, plans, readBody, readText } = raw
  if (service.scope) requireScope(actor, service.scope)
  checkVersions(headers)
  checkIsolation(headers)
  checkPathLength(rawPath, settings)
  checkQueryStringLength(rawQuery, settings)
  const limits = parseLimitsOf(settings)
  const options = readQueryOptions(rawQuery, plans)
  const path = readResourcePath(rawPath, { limits, aliases: options.aliases }, service.model)
  const version = negotiateVersion(headers)
  return {
    method,
    path,
    request: {
      service,
      root,
      rawPath,
      rawQuery,
      headers,
      actor,
      scope,
      readBody,
      readText,
      options,
      version,
      plans,
      limits,
      maxQueryLength,
    },
  }
}

/** One object for all requests, since parsed queries are memoized by it. */
const parseLimitsOf = memoize(function parseLimitsOf({
  maxDepth,
  maxNodes,
  maxList,
}: DispatchConfig): ParseLimits {
  return {
    maxDepth: maxDepth,
    maxNodes: maxNodes,
    maxListItems: maxList,
  }
})

/** Executes a request. */
export function dispatchRequest(
  { method, path, request }: ParsedODataRequest,
  service: ODataServices,
): ODataResponse | StreamedODataResponse | Promise<ODataResponse | StreamedODataResponse> {
  return withRoutes(path, (routes, place) =>
    method === 'OPTIONS'
      ? noContent({ Allow: allowedMethodsOf(routes).join(', ') })
      : findHandler(routes, method)(request, place, service),
  )
}

const allowedMethodsOf = (routes: ResourceRoutes<never>): readonly string[] => [
  ...Object.keys(routes).flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
  'OPTIONS',
]

/** HEAD is handled like GET. */
function findHandler<P>(routes: ResourceRoutes<P>, method: string) {
  const name = method === 'HEAD' ? 'GET' : method
  // A method name from a client can be `constructor`.
  const handler = Object.hasOwn(routes, name) ? routes[name as keyof ResourceRoutes<P>] : undefined
  return handler ?? fail({ kind: 'MethodNotAllowed', method, allow: allowedMethodsOf(routes) })
}

/** Refuses snapshot isolation, which is not supported (Part 1, 8.2.6). */
function checkIsolation(headers: IncomingHttpHeaders): void {
  const wanted = headers['isolation'] ?? headers['odata-isolation']
  if (wanted !== undefined) fail({ kind: 'IsolationNotOffered', found: String(wanted) })
}
