import { randomUUID } from 'node:crypto'
import { type CryptoKey, SignJWT } from 'jose'
import type { Client } from '../domain/clients/client.js'
import type { ClientDirectory } from '../domain/clients/directory.js'
import { ProblemError } from '../errors/problem.js'
import {
  ACCESS_TOKEN_ALGORITHM,
  ACCESS_TOKEN_TYPE,
  type AccessToken,
  type TokenIssuer,
  verifyAccessToken,
} from '../http/auth/access-token.js'
import { type FormParameters, parameterOf } from './form.js'
import { OAuthError } from './oauth-error.js'

/** Dependencies of the endpoints. */
export interface EndpointDependencies {
  readonly issuer: TokenIssuer
  readonly directory: ClientDirectory
  readonly currentKey: () => Promise<{ readonly id: string; readonly privateKey: CryptoKey }>
  readonly revokeToken: (token: {
    readonly issuer: string
    readonly tokenId: string
    readonly expiresAt: number
  }) => Promise<void>
  readonly accessTokenSeconds: number
}

/** Grants an access token to an authenticated client (RFC 6749, 4.4). */
export async function grantToken(
  form: FormParameters,
  client: Client,
  { issuer, currentKey, accessTokenSeconds }: EndpointDependencies,
): Promise<object> {
  const grantType = parameterOf(form, 'grant_type')
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
  if (grantType !== 'client_credentials')
    throw new OAuthError('unsupported_grant_type', 'The only supported grant type is client_credentials.')
  const scope = grantedScopes(parameterOf(form, 'scope'), client).join(' ')
  const audience = requestedAudience(form.get('resource') ?? [], issuer)
  const issuedAt = Math.floor(Date.now() / 1000)
  const clientEnd =
    client.expiresAt === undefined ? Number.POSITIVE_INFINITY : Math.floor(client.expiresAt / 1000)
  const expiresAt = Math.min(issuedAt + accessTokenSeconds, clientEnd)
  const { id, privateKey } = await currentKey()
  const token = await new SignJWT({ scope, client_id: client.id })
    .setProtectedHeader({ alg: ACCESS_TOKEN_ALGORITHM, typ: ACCESS_TOKEN_TYPE, kid: id })
    .setIssuer(issuer.issuer)
    .setSubject(client.id)
    .setAudience(audience)
    .setJti(randomUUID())
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAt)
    .sign(privateKey)
  return { access_token: token, token_type: 'Bearer', expires_in: expiresAt - issuedAt, scope }
}

/**
 * Returns the scopes of a new token: the requested ones, or all scopes of the client. A scope that the client
 * does not have is refused.
 */
function grantedScopes(requested: string | undefined, { scopes }: Client): readonly string[] {
  const granted = requested === undefined ? scopes : [...new Set(requested.split(' ').filter(Boolean))]
  if (granted.length === 0 || !granted.every(scope => scopes.includes(scope)))
    throw new OAuthError('invalid_scope', 'The client does not have this scope.')
  return granted
}

function requestedAudience(
  resources: readonly string[],
  { issuer, audiences }: TokenIssuer,
): string | string[] {
  const known = new Set([...audiences, issuer])
  if (!resources.every(resource => known.has(resource)))
    throw new OAuthError('invalid_target', 'The resource does not belong to this service.')
  const named = resources.map(resource => (resource === issuer ? (audiences[0] ?? issuer) : resource))
  const [first = audiences[0] ?? issuer, ...more] = new Set(named)
  return more.length === 0 ? first : [first, ...more]
}

/**
 * Revokes an access token (RFC 7009). Text that is not a token of the service is accepted, since there is
 * nothing to revoke.
 * @throws OAuthError invalid_grant for a token of another client
 */
export async function revokeToken(
  form: FormParameters,
  client: Client,
  { issuer, directory, revokeToken: revoke }: EndpointDependencies,
): Promise<void> {
  const token = await findToken(requiredToken(form), issuer, directory)
  if (!token) return
  if (token.client.id !== client.id)
    throw new OAuthError('invalid_grant', 'The token was issued to another client.')
  await revoke({ issuer: issuer.issuer, tokenId: token.tokenId, expiresAt: (token.claims.exp ?? 0) * 1000 })
  await directory.refresh()
}

/**
 * Describes an access token (RFC 7662). A client can introspect its own tokens, and with the scope `admin`
 * those of all clients.
 */
export async function introspectToken(
  form: FormParameters,
  client: Client,
  { issuer, directory }: EndpointDependencies,
): Promise<object> {
  const token = await findToken(requiredToken(form), issuer, directory)
  if (!token || (token.client.id !== client.id && !client.scopes.includes('admin'))) return { active: false }
  const { iss, sub, aud, exp, iat, jti } = token.claims
  const scope = token.scopes.filter(name => token.client.scopes.includes(name)).join(' ')
  return {
    active: true,
    token_type: 'Bearer',
    client_id: token.client.id,
    scope,
    iss,
    sub,
    aud,
    exp,
    iat,
    jti,
  }
}

function requiredToken(form: FormParameters): string {
  const token = parameterOf(form, 'token')
  if (token === undefined) throw new OAuthError('invalid_request', 'token is missing.')
  return token
}

async function findToken(
  token: string,
  issuer: TokenIssuer,
  directory: ClientDirectory,
): Promise<AccessToken | undefined> {
  try {
    return await verifyAccessToken(token, issuer, directory)
  } catch (error) {
    if (error instanceof ProblemError && error.problems[0]?.kind === 'Unavailable') throw error
    return undefined
  }
}
