import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import type { ParsedODataRequest } from '../dispatch.js'
import type { ODataRequest } from '../protocol/request.js'
import type { ODataResponse } from '../protocol/response.js'
import type { BatchRequest, BatchStep } from './batch-request.js'

/**
 * A request that later requests may refer to. It has succeeded, with the path of its record below the service
 * root, or failed.
 */
interface RequestReference {
  readonly succeeded: boolean
  readonly path?: string
  readonly etag?: string
}

/** References by the id of the request or group. */
export type RequestReferences = Map<string, RequestReference>

/** First segments that begin with `$` but are not references (OData JSON 4.01, 19.1). */
const SYSTEM_SEGMENT = /^\$(?:batch|crossjoin|all|entity|root|id|metadata)(?![\w-])/
/**
 * Scheme and host of an absolute URL. Only its path counts, because the service can have several host names.
 */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Rejects a request that depends on a failed one.
 * @throws ProblemError DependencyFailed
 */
export function checkDependencies({ dependsOn }: BatchRequest, references: RequestReferences): void {
  if (dependsOn.some(name => references.get(name)?.succeeded === false)) fail({ kind: 'DependencyFailed' })
}

/** Returns the id that a URL begins with, if it is a reference. */
export const referenceOf = (url: string): string | undefined =>
  SYSTEM_SEGMENT.test(url) ? undefined : /^\/?\$([^/?]+)/.exec(url)?.[1]

/**
 * Returns path and query string of a URL in a batch.
 * @throws ProblemError BadRequest for a reference to an unknown request, DependencyFailed for a reference to
 * a failed one
 */
export function resolveRequestUrl(
  url: string,
  root: string,
  servicePath: string,
  references: RequestReferences,
): Pick<ODataRequest, 'rawPath' | 'rawQuery'> {
  const [path = '', rawQuery = ''] = (url.split('#', 1)[0] ?? '').split(/\?(.*)/s)
  const name = referenceOf(path)
  return {
    rawPath:
      name === undefined
        ? toPathBelowServiceRoot(path, root, servicePath)
        : path.replace(/^\/?[^/]+/, () => referencedPath(name, references)),
    rawQuery,
  }
}

function referencedPath(name: string, references: RequestReferences): string {
  const reference = references.get(name)
  if (reference?.succeeded === false) return fail({ kind: 'DependencyFailed' })
  return reference?.path ?? fail({ kind: 'BadRequest', reason: REASONS.batchReferenceUnknown(name) })
}

/**
 * Returns a path relative to the service root. A path with a leading slash is relative to the host or, in
 * requests of some client programs, to the service root.
 */
function toPathBelowServiceRoot(url: string, root: string, servicePath: string): string {
  const path = url.replace(ORIGIN, '')
  const base = [new URL(root).pathname, `${servicePath}/`].find(start => `${path}/`.startsWith(start))
  return (base === undefined ? path : path.slice(base.length)).replace(/^\/+/, '')
}

/**
 * Resolves references in If-Match and If-None-Match, which can name a request in place of its ETag (Part 1,
 * 11.7.3.2).
 */
export function resolveETagReferences(
  headers: ODataRequest['headers'],
  references: RequestReferences,
): ODataRequest['headers'] {
  const names = (['if-match', 'if-none-match'] as const).filter(header => headers[header]?.startsWith('$'))
  return names.length === 0
    ? headers
    : {
        ...headers,
        ...Object.fromEntries(
          names.map(header => [header, referencedETag(headers[header]?.slice(1) ?? '', references)]),
        ),
      }
}

function referencedETag(name: string, references: RequestReferences): string {
  const reference = references.get(name)
  if (reference?.succeeded === false) return fail({ kind: 'DependencyFailed' })
  return (
    reference?.etag ??
    fail({
      kind: 'BadRequest',
      reason: REASONS.batchETagUnknown(name),
    })
  )
}

/**
 * Registers a successful request. A reference to a create resolves to the new record, any other to the URL of
 * the request.
 */
export function registerSuccess(
  { id }: BatchRequest,
  { method, request }: ParsedODataRequest,
  { headers }: ODataResponse,
  references: RequestReferences,
): void {
  const created = method === 'POST' ? headers['Location']?.slice(request.root.length) : undefined
  if (id !== undefined)
    references.set(id, {
      succeeded: true,
      path: created ?? request.rawPath,
      ...(headers['ETag'] !== undefined && { etag: headers['ETag'] }),
    })
}

/** Registers a step that failed or was not executed. */
export function registerFailure(
  { atomicityGroup, requests }: BatchStep,
  references: RequestReferences,
): void {
  for (const name of [atomicityGroup, ...requests.map(request => request.id)])
    if (name !== undefined) references.set(name, { succeeded: false })
}
