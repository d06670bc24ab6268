import type { IncomingMessage } from 'node:http'
import type { VerifiedToken } from './bearer.js'

const TOKEN = Symbol('token')

interface WithToken {
  [TOKEN]?: VerifiedToken
}

/** Notes the verified token of a request, so that it is not looked up again. */
export function setVerifiedToken(req: IncomingMessage & WithToken, token: VerifiedToken): void {
  req[TOKEN] = token
}

/** The verified token of a request, if it was noted. */
export const verifiedTokenOf = (req: IncomingMessage & WithToken): VerifiedToken | undefined => req[TOKEN]
