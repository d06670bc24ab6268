import type { IncomingMessage } from 'node:http'
import type { Config } from '../../config/config.js'
import { authorizationOf } from './authorization.js'
import type { TokenVerifier, VerifiedToken } from './bearer.js'
import { clientAddress } from './client-address.js'

const TOKEN = Symbol('token')

interface WithToken {
  [TOKEN]?: VerifiedToken | Promise<VerifiedToken>
}

/**
 * Returns the verified token of a request, at once if the token was verified before. It is verified once for each
 * request, however often it is asked for.
 * @throws ProblemError as `TokenVerifier.authenticate`
 */
export function authenticateRequest(
  req: IncomingMessage & WithToken,
  verifier: Pick<TokenVerifier, 'authenticate' | 'findCached'>,
  config: Pick<Config, 'trustProxy'>,
): VerifiedToken | Promise<VerifiedToken> {
  const known = req[TOKEN]
  if (known) return known
  const authorization = authorizationOf(req)
  const token =
    verifier.findCached(authorization) ?? verifier.authenticate(authorization, clientAddress(req, config))
  req[TOKEN] = token
  return token
}
