import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import type { Config } from '../config.js'
import { fail } from '../errors/problem.js'
import { baseUrl } from '../http/address.js'
import type { Verifier } from '../http/bearer.js'
import { readJsonObject } from '../http/body.js'
import { checkQueryLength } from '../http/limits.js'
import { type Answer, noContent, send } from './answer.js'
import { toFailureAnswer } from './failure.js'
import { readOptions } from './options.js'
import { readPath } from './path.js'
import type { ODataRequest, Service } from './request.js'
import { type Routes, routesOf } from './routes.js'
import { checkVersions, versionFor } from './version.js'

/** What the adapter is made of. */
export interface ODataParts extends Service {
  readonly config: Pick<Config, 'publicUrl' | 'trustProxy' | 'maxQueryLength' | 'maxBodyBytes' | 'maxDepth' | 'maxNodes' | 'maxList'>
  readonly verifier: Verifier
  /** Logs a fault of the service and gives the id under which it stands in the log. */
  readonly report: (error: unknown, req: Request) => string
}

/** Where the service root is below the base of all links. */
export const ODATA_PATH = '/odata'

/** Answers every request below the service root, whatever becomes of it: nothing is left to Express. */
export function serveOData(parts: ODataParts): (req: Request, res: ServerResponse) => void {
  return (req, res) => {
    answerRequest(req, parts)
      .catch((error: unknown) => toFailureAnswer(error, fault => parts.report(fault, req)))
      .then(({ headers, ...answer }) => send(res, { ...answer, headers: { 'OData-Version': versionFor(req.headers), ...headers } }))
      // An answer that could not be written ends with its connection: half of one must not look whole.
      .catch((error: unknown) => {
        parts.report(error, req)
        res.destroy()
      })
  }
}

/** The order of the checks is that of what they tell: without a token nobody learns what there is. */
async function answerRequest(req: Request, parts: ODataParts): Promise<Answer> {
  const actor = await parts.verifier.verify(req.headers.authorization)
  checkVersions(req.headers)
  checkIsolation(req)
  checkQueryLength(req, parts.config)
  const { rawPath, rawQuery } = toTarget(req.originalUrl)
  const { maxDepth: depth, maxNodes: nodes, maxList: list, maxBodyBytes } = parts.config
  const [limits, options] = [{ depth, nodes, list }, readOptions(rawQuery)]
  const routes = routesOf(readPath(rawPath, { limits, aliases: options.aliases }))
  if (req.method === 'OPTIONS') return noContent({ Allow: allowedBy(routes).join(', ') })
  const handle = findHandler(routes, req.method)
  const root = `${baseUrl(req, parts.config)}${ODATA_PATH}/`
  const { headers } = req
  return handle(
    { root, rawPath, rawQuery, headers, options, version: versionFor(headers), actor, limits, readBody: () => readJsonObject(req, maxBodyBytes) },
    parts,
  )
}

const allowedBy = (routes: Routes): readonly string[] => [...Object.keys(routes).flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']

/** HEAD is answered like GET. */
function findHandler(routes: Routes, method: string) {
  const handlers: ReadonlyMap<string, Routes[keyof Routes]> = new Map(Object.entries({ ...routes, HEAD: routes.GET }))
  return handlers.get(method) ?? fail({ kind: 'MethodNotAllowed', method, allow: allowedBy(routes) })
}

/** Snapshot isolation is not offered, and a service without it must say so (Part 1, 8.2.6). */
function checkIsolation({ headers }: Request): void {
  const wanted = headers.isolation ?? headers['odata-isolation']
  if (wanted !== undefined) fail({ kind: 'IsolationNotOffered', found: String(wanted) })
}

/** Path below the service root and query string. A proxy may send the whole address (RFC 9112, 3.2.2); Express shortens `url`, but not this one. */
function toTarget(originalUrl: string): Pick<ODataRequest, 'rawPath' | 'rawQuery'> {
  const [path = '', rawQuery = ''] = originalUrl.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '').split(/\?(.*)/s)
  return { rawPath: path.slice(ODATA_PATH.length).replace(/^\/+/, ''), rawQuery }
}
