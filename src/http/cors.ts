import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config } from '../config.js'

const METHODS = 'GET, HEAD, POST, PATCH, PUT, DELETE'
/** Headers of our answers that a script may read; without this list it sees almost none of them. */
const EXPOSED = [
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
const PREFLIGHT_AGE_S = '7200'

type Handler = (req: IncomingMessage, res: ServerResponse, next: () => void) => void

/**
 * Lets pages of CORS_ORIGINS call the service. It stands before everything else, so that errors carry the headers too and a
 * preflight needs no token. Credentials are never allowed: the service knows no cookies, a bearer token is sent by the script itself.
 * An OPTIONS request that is no preflight goes on to the adapters.
 */
export function allowOrigins({ corsOrigins }: Pick<Config, 'corsOrigins'>): Handler {
  const anyone = corsOrigins.includes('*')
  return (req, res, next) => {
    const { origin } = req.headers
    const isPreflight = req.method === 'OPTIONS' && origin !== undefined && req.headers['access-control-request-method'] !== undefined
    const isAllowed = origin !== undefined && (anyone || corsOrigins.includes(origin))
    if (!anyone && corsOrigins.length > 0) res.appendHeader('Vary', 'Origin')
    if (isAllowed) res.setHeader('Access-Control-Allow-Origin', anyone ? '*' : origin)
    if (isAllowed && !isPreflight) res.setHeader('Access-Control-Expose-Headers', EXPOSED)
    if (isPreflight) answerPreflight(req, res, isAllowed)
    else next()
  }
}

function answerPreflight(req: IncomingMessage, res: ServerResponse, isAllowed: boolean): void {
  if (isAllowed) {
    res.setHeader('Access-Control-Allow-Methods', METHODS)
    res.setHeader('Access-Control-Allow-Headers', req.headers['access-control-request-headers'] ?? '')
    res.setHeader('Access-Control-Max-Age', PREFLIGHT_AGE_S)
  }
  res.appendHeader('Vary', 'Access-Control-Request-Headers')
  res.writeHead(204).end()
}
