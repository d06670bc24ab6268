import type { ServerResponse } from 'node:http'
import type { Config } from '../config/config.js'
import { RequestScope, type ScopeAllowance } from '../domain/request-scope.js'
import type { VerifiedToken } from './auth/bearer.js'
import { requestAddress } from './auth/client-address.js'
import { setLoggedClient } from './log.js'
import { allowanceOf } from './rate-limit/request-allowance.js'

/** Creates the scope of an operation that shares its connection with others. */
export const createOperationScope = (
  clientId: string,
  address: string,
  allowance: ScopeAllowance | undefined,
): RequestScope => new RequestScope(clientId, address, allowance)

/**
 * Opens the scope of a request. The scope is aborted when the client disconnects and when the response is
 * sent.
 */
export function openRequestScope(
  res: ServerResponse,
  { clientId }: VerifiedToken,
  config: Pick<Config, 'trustProxy'>,
): RequestScope {
  setLoggedClient(res.req, clientId)
  const scope = new RequestScope(clientId, requestAddress(res.req, config), allowanceOf(res.req))
  if (res.destroyed) scope.abort()
  else res.on('close', () => scope.abort())
  return scope
}
