import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config } from '../config/config.js'

const ALLOWED_METHODS = 'GET, HEAD, POST, PATCH, PUT, DELETE'
/** Headers of our answers that a script may read; without this list it sees almost none of them. */
const EXPOSED_HEADERS = [
  'OData-Version',
  'ETag',
  'Location',
  'OData-EntityId',
  'EntityId',
  'Preference-Applied',
  'Content-Language',
  'Retry-After',
  'WWW-Authenticate',
  'Allow',
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
].join(', ')
/** Two hours, the most that Chromium keeps. */
const PREFLIGHT_MAX_AGE_S = '7200'

type CorsMiddleware = (req: IncomingMessage, res: ServerResponse, next: () => void) => void

/**
 * Lets pages of CORS_ORIGINS call the service. It stands before everything else, so that errors carry the
 * headers too and a preflight needs no token. Credentials are never allowed: the service knows no cookies, a
 * bearer token is sent by the script itself. An OPTIONS request that is no preflight goes on to the adapters.
 */
export function allowOrigins({ corsOrigins }: Pick<Config, 'corsOrigins'>): CorsMiddleware {
  return (req, res, next) => {
    const allowed = toAllowedOrigin(req.headers.origin, corsOrigins)
    if (corsOrigins.length > 0 && !corsOrigins.includes('*')) res.appendHeader('Vary', 'Origin')
    if (allowed !== undefined) res.setHeader('Access-Control-Allow-Origin', allowed)
    if (isPreflight(req)) return respondToPreflight(req, res, allowed !== undefined)
    if (allowed !== undefined) res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    next()
  }
}

/**
 * What the answer says about the page's origin; undefined: nothing, so the browser keeps the answer from it.
 */
function toAllowedOrigin(origin: string | undefined, corsOrigins: readonly string[]): string | undefined {
  if (origin === undefined) return undefined
  if (corsOrigins.includes('*')) return '*'
  return corsOrigins.includes(origin) ? origin : undefined
}

const isPreflight = ({ method, headers }: IncomingMessage) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined

function respondToPreflight(req: IncomingMessage, res: ServerResponse, isAllowed: boolean): void {
  if (isAllowed) {
    res.setHeader('Access-Control-Allow-Methods', ALLOWED_METHODS)
    res.setHeader('Access-Control-Allow-Headers', req.headers['access-control-request-headers'] ?? '')
    res.setHeader('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_S)
  }
  res.appendHeader('Vary', 'Access-Control-Request-Headers')
  res.writeHead(204).end()
}
