import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/config.js'
import { fail } from '../errors/problem.js'
import { checkQueryStringLength } from '../http/limits.js'
import type { ParseLimits } from '../language/parse-limits.js'
import { memoize } from '../query/memoize.js'
import type { ODataRequest, ODataServices, RequestBody } from './protocol/request.js'
import { noContent, type ODataResponse } from './protocol/response.js'
import { checkVersions, negotiateVersion } from './protocol/version.js'
import { type ResourceRoutes, withRoutes } from './routes.js'
import { readQueryOptions } from './url/query-options.js'
import { type ResourcePath, readResourcePath } from './url/resource-path.js'

/** A request whose caller is known and whose URL is not read yet: one of its own, or one in a batch. */
export interface RawODataRequest
  extends RequestBody,
    Pick<ODataRequest, 'root' | 'rawPath' | 'rawQuery' | 'headers' | 'actor'> {
  readonly method: string
}

/** The same with what its URL says. */
export interface ParsedODataRequest {
  readonly method: string
  readonly path: ResourcePath
  readonly request: ODataRequest
}

export type DispatchConfig = Pick<Config, 'maxQueryLength' | 'maxDepth' | 'maxNodes' | 'maxList'>

/** Reads headers and URL of a request, and refuses what cannot be served whatever stands there. */
export function parseRequest(raw: RawODataRequest, settings: DispatchConfig): ParsedODataRequest {
  const { maxQueryLength } = settings
  const { method, root, headers, rawPath, rawQuery, actor, readBody, readText } = raw
  checkVersions(headers)
  checkIsolation(headers)
  checkQueryStringLength(rawQuery, { maxQueryLength })
  const limits = parseLimitsOf(settings)
  const options = readQueryOptions(rawQuery)
  const path = readResourcePath(rawPath, { limits, aliases: options.aliases })
  const version = negotiateVersion(headers)
  return {
    method,
    path,
    request: {
      root,
      rawPath,
      rawQuery,
      headers,
      actor,
      readBody,
      readText,
      options,
      version,
      limits,
      maxQueryLength,
    },
  }
}

/** One object for all requests: what is read of a query is known by it. */
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

/** Does what a request asks for. */
export async function dispatchRequest(
  { method, path, request }: ParsedODataRequest,
  service: ODataServices,
): Promise<ODataResponse> {
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

/** HEAD is answered like GET. */
function findHandler<P>(routes: ResourceRoutes<P>, method: string) {
  const name = method === 'HEAD' ? 'GET' : method
  // A client may call its method `constructor`.
  const handler = Object.hasOwn(routes, name) ? routes[name as keyof ResourceRoutes<P>] : undefined
  return handler ?? fail({ kind: 'MethodNotAllowed', method, allow: allowedMethodsOf(routes) })
}

/** Snapshot isolation is not offered, and a service without it must say so (Part 1, 8.2.6). */
function checkIsolation(headers: IncomingHttpHeaders): void {
  const wanted = headers['isolation'] ?? headers['odata-isolation']
  if (wanted !== undefined) fail({ kind: 'IsolationNotOffered', found: String(wanted) })
}
