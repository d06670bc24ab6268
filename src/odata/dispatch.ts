import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/config.js'
import { fail } from '../errors/problem.js'
import { checkQueryText } from '../http/limits.js'
import type { ParseLimits } from '../language/parser-budget.js'
import { remember } from '../query/memoize.js'
import type { Body, ODataRequest, Service } from './protocol/request.js'
import { type Answer, noContent } from './protocol/response.js'
import { checkVersions, versionFor } from './protocol/version.js'
import { type Routes, withRoutes } from './routes.js'
import { readOptions } from './url/options.js'
import { type ResourcePath, readPath } from './url/path.js'

/** A request whose caller is known and whose URL is not read yet: one of its own, or one in a batch. */
export interface Incoming
  extends Body,
    Pick<ODataRequest, 'root' | 'rawPath' | 'rawQuery' | 'headers' | 'actor'> {
  readonly method: string
}

/** The same with what its URL says. */
export interface Opened {
  readonly method: string
  readonly path: ResourcePath
  readonly request: ODataRequest
}

export type DispatchSettings = Pick<Config, 'maxQueryLength' | 'maxDepth' | 'maxNodes' | 'maxList'>

/** Reads headers and URL of a request, and refuses what cannot be served whatever stands there. */
export function openRequest(incoming: Incoming, settings: DispatchSettings): Opened {
  const { maxQueryLength } = settings
  const { method, root, headers, rawPath, rawQuery, actor, readBody, readText } = incoming
  checkVersions(headers)
  checkIsolation(headers)
  checkQueryText(rawQuery, { maxQueryLength })
  const limits = limitsOf(settings)
  const options = readOptions(rawQuery)
  const path = readPath(rawPath, { limits, aliases: options.aliases })
  const version = versionFor(headers)
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
const limitsOf = remember(
  ({ maxDepth, maxNodes, maxList }: DispatchSettings): ParseLimits => ({
    depth: maxDepth,
    nodes: maxNodes,
    list: maxList,
  }),
)

/** Does what a request asks for. */
export async function perform({ method, path, request }: Opened, service: Service): Promise<Answer> {
  return withRoutes(path, (routes, place) =>
    method === 'OPTIONS'
      ? noContent({ Allow: allowedBy(routes).join(', ') })
      : findHandler(routes, method)(request, place, service),
  )
}

const allowedBy = (routes: Routes<never>): readonly string[] => [
  ...Object.keys(routes).flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
  'OPTIONS',
]

/** HEAD is answered like GET. */
function findHandler<P>(routes: Routes<P>, method: string) {
  const name = method === 'HEAD' ? 'GET' : method
  // A client may call its method `constructor`.
  const handler = Object.hasOwn(routes, name) ? routes[name as keyof Routes<P>] : undefined
  return handler ?? fail({ kind: 'MethodNotAllowed', method, allow: allowedBy(routes) })
}

/** Snapshot isolation is not offered, and a service without it must say so (Part 1, 8.2.6). */
function checkIsolation(headers: IncomingHttpHeaders): void {
  const wanted = headers['isolation'] ?? headers['odata-isolation']
  if (wanted !== undefined) fail({ kind: 'IsolationNotOffered', found: String(wanted) })
}
