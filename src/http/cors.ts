import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config } from '../config/config.js'

const ALLOWED_METHODS = 'GET, HEAD, POST, PATCH, PUT, DELETE'
/** Response headers that scripts may read. Without this list, browsers hide almost all of them. */
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
  'RateLimit-Policy',
  'Server-Timing',
].join(', ')
/** Two hours, the maximum of Chromium. */
const PREFLIGHT_MAX_AGE_S = '7200'

type CorsMiddleware = (req: IncomingMessage, res: ServerResponse, next: () => void) => void

/**
 * Allows pages of CORS_ORIGINS to call the service. It runs first, so that error responses have the headers
 * too and a preflight needs no token. Credentials are never allowed: the service uses no cookies, and scripts
 * set the bearer token. OPTIONS requests that are not preflights continue to the adapters.
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
 * Returns the value of Access-Control-Allow-Origin, or undefined, in which case the browser withholds the
 * response from the page.
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
