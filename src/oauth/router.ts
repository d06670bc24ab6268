import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { Client } from '../domain/clients/client.js'
import type { SigningKey } from '../domain/clients/directory.js'
import { describeClaim } from '../http/auth/authenticate-request.js'
import { clientNetwork } from '../http/auth/client-address.js'
import { descriptionOf } from '../http/log.js'
import {
  authenticateClient,
  type ClientAuthenticationDependencies,
  findClaimedClient,
} from './authenticate-client.js'
import { ASSERTION_ALGORITHMS } from './client-assertion.js'
import { type EndpointDependencies, grantToken, introspectToken, revokeToken } from './endpoints.js'
import { type FormParameters, readForm } from './form.js'
import { OAuthError, sendJson, sendOAuthError } from './oauth-error.js'

/** Path of the endpoints below PUBLIC_URL. */
const OAUTH_PATH = '/oauth'
const WELL_KNOWN = ['oauth-authorization-server', 'openid-configuration'] as const
/**
 * Seconds for which the key set may be cached: less than the time between the publication of a key and its
 * first use.
 */
const KEY_SET_MAX_AGE_S = 300

/** Dependencies of the OAuth router. */
export interface OAuthRouterDependencies
  extends EndpointDependencies,
    Omit<ClientAuthenticationDependencies, 'assertionAudiences'> {
  readonly publishedKeys: () => Promise<readonly SigningKey[]>
  readonly scopes: readonly string[]
  readonly trustProxy: number
  readonly report: (error: unknown, req: Request) => string
}

/** Returns the address of the token endpoint. */
const tokenEndpointOf = ({ issuer: { issuer } }: Pick<EndpointDependencies, 'issuer'>): string =>
  `${issuer}${OAUTH_PATH}/token`

type Endpoint = (form: FormParameters, client: Client) => Promise<object | undefined>

/**
 * Creates the router of the authorization server: client_credentials, revocation, introspection, metadata and the
 * key set. Endpoints and metadata name the issuer of PUBLIC_URL, never the host of the request.
 */
export function createOAuthRouter(dependencies: OAuthRouterDependencies): Router {
  const router = Router({ caseSensitive: true })
  const metadata = createMetadata(dependencies)
  const post = (path: string, endpoint: Endpoint) =>
    router.all(`${OAUTH_PATH}/${path}`, createPostHandler(path, endpoint, dependencies))
  post('token', (form, client) => grantToken(form, client, dependencies))
  post('revoke', async (form, client) => {
    await revokeToken(form, client, dependencies)
    return undefined
  })
  post('introspect', (form, client) => introspectToken(form, client, dependencies))
  router.get(`${OAUTH_PATH}/jwks`, (req, res) => {
    descriptionOf(req).operation = 'jwks'
    dependencies.publishedKeys().then(
      keys =>
        res
          .set('Cache-Control', `public, max-age=${KEY_SET_MAX_AGE_S}`)
          .json({ keys: keys.map(key => key.publicJwk) }),
      (error: unknown) => sendOAuthError(res, error, fault => dependencies.report(fault, req)),
    )
  })
  // RFC 8414 puts the path of the issuer after the well-known part; OpenID puts it before.
  const issuerPath = new URL(dependencies.issuer.issuer).pathname.replace(/\/$/, '')
  for (const name of WELL_KNOWN)
    for (const path of new Set(['', issuerPath]))
      router.get(`/.well-known/${name}${path}`, (req, res) => {
        descriptionOf(req).operation = name
        res.json(metadata)
      })
  return router
}

function createPostHandler(
  name: string,
  endpoint: Endpoint,
  dependencies: OAuthRouterDependencies,
): RequestHandler {
  const { issuer, directory } = dependencies
  const authentication = {
    ...dependencies,
    assertionAudiences: [issuer.issuer, tokenEndpointOf(dependencies)],
  }
  const authenticate = async (req: Request, form: FormParameters): Promise<Client> => {
    try {
      const client = await authenticateClient(req, form, clientNetwork(req, dependencies), authentication)
      Object.assign(descriptionOf(req), { client: client.id, feed: client.feed })
      return client
    } catch (error) {
      describeClaim(req, findClaimedClient(req, form, directory))
      throw error
    }
  }
  const handle = async (req: Request, res: Response): Promise<void> => {
    descriptionOf(req).operation = name
    if (req.method !== 'POST')
      throw new OAuthError('invalid_request', 'The method must be POST.', 405, { Allow: 'POST' })
    const form = await readForm(req)
    const result = await endpoint(form, await authenticate(req, form))
    sendJson(res, 200, result ?? {})
  }
  return (req, res) => {
    handle(req, res).catch((error: unknown) =>
      sendOAuthError(res, error, fault => dependencies.report(fault, req)),
    )
  }
}

/** The metadata of RFC 8414. It lists only what the service implements. */
function createMetadata(dependencies: OAuthRouterDependencies): object {
  const { issuer } = dependencies.issuer
  const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt']
  const endpoints = Object.fromEntries(
    ['token', 'revocation', 'introspection'].flatMap(name => [
      [`${name}_endpoint_auth_methods_supported`, methods],
      [`${name}_endpoint_auth_signing_alg_values_supported`, ASSERTION_ALGORITHMS],
    ]),
  )
  return {
    issuer,
    token_endpoint: tokenEndpointOf(dependencies),
    revocation_endpoint: `${issuer}${OAUTH_PATH}/revoke`,
    introspection_endpoint: `${issuer}${OAUTH_PATH}/introspect`,
    jwks_uri: `${issuer}${OAUTH_PATH}/jwks`,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    scopes_supported: dependencies.scopes,
    ...endpoints,
  }
}
