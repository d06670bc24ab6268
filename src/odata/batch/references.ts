import { fail } from '../../errors/problem.js'
import type { Opened } from '../dispatch.js'
import { ODATA_PATH, type ODataRequest } from '../protocol/request.js'
import type { Answer } from '../protocol/response.js'
import type { BatchRequest, Step } from './request.js'

/**
 * What later requests may refer to: a request that succeeded, with the path of its record below the service
 * root; or one that failed.
 */
interface Reference {
  readonly succeeded: boolean
  readonly path?: string
  readonly tag?: string
}

/** By the names of requests and groups. */
export type References = Map<string, Reference>

/** First segments that begin with `$` and are no references (OData JSON 4.01, 19.1). */
const SYSTEM = /^\$(?:batch|crossjoin|all|entity|root|id|metadata)(?![\w-])/
/**
 * An absolute URL may name the service by any of the hosts that lead to it: only its path counts, as with a
 * request of its own.
 */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** Refuses a request that depends on one that failed (`DependencyFailed`). */
export function checkDependencies({ dependsOn }: BatchRequest, known: References): void {
  if (dependsOn.some(name => known.get(name)?.succeeded === false)) fail({ kind: 'DependencyFailed' })
}

/** The name that a URL begins with, if it is a reference. */
export const referenceIn = (url: string): string | undefined =>
  SYSTEM.test(url) ? undefined : /^\/?\$([^/?]+)/.exec(url)?.[1]

/**
 * Path and query string of a URL in a batch. Fails with `BadRequest` if it refers to nothing before it, and
 * with `DependencyFailed`.
 */
export function toTarget(
  url: string,
  root: string,
  known: References,
): Pick<ODataRequest, 'rawPath' | 'rawQuery'> {
  const [path = '', rawQuery = ''] = (url.split('#', 1)[0] ?? '').split(/\?(.*)/s)
  const name = referenceIn(path)
  return {
    rawPath:
      name === undefined ? belowRoot(path, root) : path.replace(/^\/?[^/]+/, () => pathOf(name, known)),
    rawQuery,
  }
}

function pathOf(name: string, known: References): string {
  const reference = known.get(name)
  if (reference?.succeeded === false) return fail({ kind: 'DependencyFailed' })
  return (
    reference?.path ??
    fail({ kind: 'BadRequest', reason: `its URL refers to '${name}', which is no request before it` })
  )
}

/**
 * With a slash at its beginning it is meant from the host, or, as some client programs have it, from the
 * service root.
 */
function belowRoot(url: string, root: string): string {
  const path = url.replace(ORIGIN, '')
  const base = [new URL(root).pathname, `${ODATA_PATH}/`].find(start => `${path}/`.startsWith(start))
  return (base === undefined ? path : path.slice(base.length)).replace(/^\/+/, '')
}

/** If-Match and If-None-Match may name a request instead of its ETag (Part 1, 11.7.3.2). */
export function resolveTags(headers: ODataRequest['headers'], known: References): ODataRequest['headers'] {
  const names = (['if-match', 'if-none-match'] as const).filter(header => headers[header]?.startsWith('$'))
  return names.length === 0
    ? headers
    : {
        ...headers,
        ...Object.fromEntries(names.map(header => [header, tagOf(headers[header]?.slice(1) ?? '', known)])),
      }
}

function tagOf(name: string, known: References): string {
  const reference = known.get(name)
  if (reference?.succeeded === false) return fail({ kind: 'DependencyFailed' })
  return (
    reference?.tag ??
    fail({
      kind: 'BadRequest',
      reason: `its condition refers to '${name}', which is no request before it that has an ETag`,
    })
  )
}

/** Notes a request that succeeded: a create stands for the new record, any other for its own URL. */
export function noteSuccess(
  { id }: BatchRequest,
  { method, request }: Opened,
  { headers }: Answer,
  known: References,
): void {
  const created = method === 'POST' ? headers['Location']?.slice(request.root.length) : undefined
  if (id !== undefined)
    known.set(id, {
      succeeded: true,
      path: created ?? request.rawPath,
      ...(headers['ETag'] !== undefined && { tag: headers['ETag'] }),
    })
}

/** Notes a step that failed, or was not executed. */
export function noteFailure({ group, requests }: Step, known: References): void {
  for (const name of [group, ...requests.map(request => request.id)])
    if (name !== undefined) known.set(name, { succeeded: false })
}
