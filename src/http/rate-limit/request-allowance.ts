import type { IncomingMessage } from 'node:http'
import type { ClientAllowance } from '../../domain/clients/limiter.js'

const ALLOWANCE = Symbol('allowance')

interface WithAllowance {
  [ALLOWANCE]?: ClientAllowance
}

/** Sets the allowance of the client of a request. */
export function setAllowance(req: IncomingMessage & WithAllowance, allowance: ClientAllowance): void {
  req[ALLOWANCE] = allowance
}

/**
 * Returns the allowance of the client of a request, or undefined if its token does not belong to a registered
 * client.
 */
export const allowanceOf = (req: IncomingMessage & WithAllowance): ClientAllowance | undefined =>
  req[ALLOWANCE]
