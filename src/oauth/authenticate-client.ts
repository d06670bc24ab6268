import type { Request } from 'express'
import { type Client, isActive } from '../domain/clients/client.js'
import type { ClientDirectory } from '../domain/clients/directory.js'
import { ProblemError } from '../errors/problem.js'
import type { ClientAuthenticator } from '../http/auth/client-authenticator.js'
import { assertedClientId, verifyClientAssertion } from './client-assertion.js'
import { type FormParameters, parameterOf } from './form.js'
import { OAuthError } from './oauth-error.js'

/** Records the use of an assertion. Returns false if it was used before. */
export type AssertionRecorder = (use: {
  readonly clientId: string
  readonly assertionId: string
  readonly expiresAt: number
}) => Promise<boolean>

/** Dependencies of the authentication of clients. */
export interface ClientAuthenticationDependencies {
  readonly directory: ClientDirectory
  readonly authenticator: ClientAuthenticator
  readonly recordAssertion: AssertionRecorder
  /** Accepted values of `aud` of an assertion: the issuer and the token endpoint. */
  readonly assertionAudiences: readonly string[]
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/**
 * Authenticates the client of a request by client_secret_basic, client_secret_post or private_key_jwt. Each
 * client may use any of them.
 * @throws OAuthError invalid_client, the same for an unknown client and a wrong secret; invalid_request for two
 * methods
 */
export async function authenticateClient(
  req: Request,
  form: FormParameters,
  address: string,
  dependencies: ClientAuthenticationDependencies,
): Promise<Client> {
  const { authorization } = req.headers
  const secret = parameterOf(form, 'client_secret')
  const assertion = parameterOf(form, 'client_assertion')
  const methods = [authorization, secret, assertion].filter(method => method !== undefined)
  if (methods.length > 1)
    throw new OAuthError('invalid_request', 'The request uses more than one client authentication method.')
  const id = parameterOf(form, 'client_id')
  try {
    if (authorization !== undefined)
      return await authenticateByHeader(authorization, id, address, dependencies)
    if (secret !== undefined && id !== undefined)
      return (await dependencies.authenticator.authenticate(id, secret, address)).client
    if (assertion !== undefined) return await authenticateByAssertion(assertion, form, address, dependencies)
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problems[0]?.kind !== 'TokenRefused') throw error
  }
  throw refuseClient(authorization !== undefined)
}

/** Returns the registered client that a refused request names, for the log. */
export function findClaimedClient(
  { headers }: Request,
  form: FormParameters,
  directory: ClientDirectory,
): string | undefined {
  const [, encoded = ''] = /^\s*basic\s+(\S+)\s*$/i.exec(headers.authorization ?? '') ?? []
  const [headerId = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  try {
    return directory.find(parameterOf(form, 'client_id') ?? decodeFormText(headerId))?.id
  } catch {
    return undefined
  }
}

const refuseClient = (usesHeader: boolean): OAuthError =>
  new OAuthError(
    'invalid_client',
    'Client authentication failed.',
    401,
    usesHeader ? { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' } : {},
  )

async function authenticateByHeader(
  authorization: string,
  id: string | undefined,
  address: string,
  { authenticator }: ClientAuthenticationDependencies,
): Promise<Client> {
  const [, encoded = ''] = /^\s*basic\s+(\S+)\s*$/i.exec(authorization) ?? []
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const clientId = decodeFormText(text.slice(0, Math.max(0, colon)))
  if (id !== undefined && id !== clientId)
    throw new OAuthError('invalid_request', 'The header and the body name different clients.')
  const secret = decodeFormText(text.slice(colon + 1))
  return (await authenticator.authenticate(clientId, secret, address)).client
}

/**
 * Both parts are form-encoded (RFC 6749, 2.3.1). Ids and secrets of the service contain no encoded
 * characters.
 */
function decodeFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

async function authenticateByAssertion(
  assertion: string,
  form: FormParameters,
  address: string,
  { directory, authenticator, recordAssertion, assertionAudiences }: ClientAuthenticationDependencies,
): Promise<Client> {
  if (parameterOf(form, 'client_assertion_type') !== ASSERTION_TYPE)
    throw new OAuthError('invalid_request', `client_assertion_type must be ${ASSERTION_TYPE}.`)
  await directory.ready()
  authenticator.checkAddress(address)
  const id = assertedClientId(assertion)
  const named = parameterOf(form, 'client_id') ?? id
  const client = id !== undefined && named === id ? directory.find(id) : undefined
  if (!client || !isActive(client)) return authenticator.fail(address)
  const valid = await verifyClientAssertion(assertion, client, assertionAudiences)
  if (!valid) return authenticator.fail(address)
  const isFirstUse = await recordAssertion({
    clientId: client.id,
    assertionId: valid.id,
    expiresAt: valid.expiresAt,
  })
  return isFirstUse ? client : authenticator.fail(address)
}
