import type { IncomingMessage } from 'node:http'
import type { ClientAllowance } from '../../domain/clients/limiter.js'

const ALLOWANCE = Symbol('allowance')

interface WithAllowance {
  [ALLOWANCE]?: ClientAllowance
}

/** Sets what the client of a request may still use. */
export function setAllowance(req: IncomingMessage & WithAllowance, allowance: ClientAllowance): void {
  req[ALLOWANCE] = allowance
}

/** Returns what the client of a request may still use. Undefined: its token belongs to no client of the database. */
export const allowanceOf = (req: IncomingMessage & WithAllowance): ClientAllowance | undefined =>
  req[ALLOWANCE]
