import type { IncomingMessage } from 'node:http'
import type { Phrase } from '../../errors/phrase.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { rawHeaderValues } from './header-values.js'

/**
 * Returns the `Authorization` header of a request.
 * @throws ProblemError TokenRefused if there are several: a proxy may have checked a different one
 */
export function authorizationHeaderOf(req: IncomingMessage): string | undefined {
  const { authorization } = req.headers
  return authorization === undefined || rawHeaderValues(req, 'authorization').length === 1
    ? authorization
    : refuseSeveral(REASONS.severalAuthorizationHeaders)
}

/**
 * Returns the `authorization` member, in any case, of the payload of a `connection_init`. Browsers send no
 * header with a WebSocket.
 */
export function authorizationInPayload(payload: Readonly<Record<string, unknown>>): string | undefined {
  const values = Object.entries(payload).filter(([name]) => name.toLowerCase() === 'authorization')
  if (values.length > 1) refuseSeveral(REASONS.severalAuthorizationMembers)
  const [[, value] = []] = values
  return typeof value === 'string' ? value : undefined
}

const refuseSeveral = (reason: Phrase): never => fail({ kind: 'TokenRefused', reason })
