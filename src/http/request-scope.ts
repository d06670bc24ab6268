import type { IncomingMessage, ServerResponse } from 'node:http'
import { RequestScope, type ScopeAllowance } from '../domain/request-scope.js'
import type { VerifiedToken } from './auth/bearer.js'
import { callerOf } from './auth/caller.js'
import { descriptionOf } from './log.js'
import { allowanceOf } from './rate-limit/request-allowance.js'
import { createOperationListener, stageListenerOf } from './timing/stage-listeners.js'

/** Creates the scope of an operation that shares the connection of a request with others. */
export function createOperationScope(
  req: IncomingMessage,
  token: VerifiedToken,
  allowance: ScopeAllowance | undefined,
): RequestScope {
  const { id, address } = descriptionOf(req)
  const description = { id, ...callerOf(token), address }
  return new RequestScope(token.clientId, {
    description,
    allowance,
    stages: createOperationListener(req, description),
  })
}

/**
 * Opens the scope of a request. The scope is aborted when the client disconnects and when the response is
 * sent.
 */
export function openRequestScope(res: ServerResponse, { clientId }: VerifiedToken): RequestScope {
  const scope = new RequestScope(clientId, {
    description: descriptionOf(res.req),
    allowance: allowanceOf(res.req),
    stages: stageListenerOf(res.req),
  })
  if (res.destroyed) scope.abort()
  else res.on('close', () => scope.abort())
  return scope
}
