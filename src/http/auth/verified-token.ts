import type { IncomingMessage } from 'node:http'
import type { VerifiedToken } from './bearer.js'

const TOKEN = Symbol('token')

interface WithToken {
  [TOKEN]?: VerifiedToken
}

/** Attaches the verified token to a request, so that it is verified only once. */
export function setVerifiedToken(req: IncomingMessage & WithToken, token: VerifiedToken): void {
  req[TOKEN] = token
}

/** Returns the verified token of a request, if one is attached. */
export const verifiedTokenOf = (req: IncomingMessage & WithToken): VerifiedToken | undefined => req[TOKEN]
