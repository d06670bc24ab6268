import type { IncomingMessage } from 'node:http'
import type { Config } from '../../config/config.js'
import { descriptionOf } from '../log.js'
import { authorizationHeaderOf } from './authorization-header.js'
import type { TokenVerifier, VerifiedToken } from './bearer.js'
import { callerOf } from './caller.js'
import { clientNetwork } from './client-address.js'

/** The part of a verifier that requests need. */
export type RequestVerifier = Pick<TokenVerifier, 'authenticate' | 'findCached' | 'findClaimedClient'>

const TOKEN = Symbol('token')
const VERIFIED_TOKEN = Symbol('verified token')

interface WithToken {
  [TOKEN]?: VerifiedToken | Promise<VerifiedToken>
  [VERIFIED_TOKEN]?: VerifiedToken
}

/**
 * Returns the verified token of a request, without waiting if the token was verified before. It is verified once for
 * each request. Its client is added to the log line of the request.
 * @throws ProblemError as `TokenVerifier.authenticate`
 */
export function authenticateRequest(
  req: IncomingMessage & WithToken,
  verifier: RequestVerifier,
  config: Pick<Config, 'trustProxy'>,
): VerifiedToken | Promise<VerifiedToken> {
  const known = req[TOKEN]
  if (known) return known
  const authorization = authorizationHeaderOf(req)
  const token =
    verifier.findCached(authorization) ?? verifier.authenticate(authorization, clientNetwork(req, config))
  req[TOKEN] = token
  if (token instanceof Promise)
    token.then(
      verified => describeCaller(req, verified),
      () => describeClaim(req, verifier.findClaimedClient(authorization)),
    )
  else describeCaller(req, token)
  return token
}

/** Sets the caller in the log lines of a request. */
export function describeCaller(req: IncomingMessage & WithToken, token: VerifiedToken): void {
  req[VERIFIED_TOKEN] = token
  Object.assign(descriptionOf(req), callerOf(token))
}

/** Returns the token of a request, if it was verified. */
export const verifiedTokenOf = (req: IncomingMessage & WithToken): VerifiedToken | undefined =>
  req[VERIFIED_TOKEN]

/** Sets the client that a refused request names. */
export function describeClaim(req: IncomingMessage, client: string | undefined): void {
  if (client !== undefined) descriptionOf(req).claimedClient = client
}
