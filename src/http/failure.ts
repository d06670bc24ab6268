import { createHash } from 'node:crypto'
import { type Failure, toFailure } from '../errors/catalog.js'
import type { Problem } from '../errors/problem.js'

const REALM = 'listings'

/**
 * The value of `WWW-Authenticate` for a problem (RFC 6750, 3): present on every 401, and on a 403 for a missing scope.
 * A request without a token gets no error code, as the RFC asks.
 */
export function challenge(problem: Problem): string | undefined {
  if (problem.kind === 'TokenMissing') return `Bearer realm="${REALM}"`
  if (problem.kind === 'TokenRefused') return `Bearer realm="${REALM}", error="invalid_token"`
  if (problem.kind === 'ScopeMissing') return `Bearer realm="${REALM}", error="insufficient_scope", scope="${problem.scope}"`
  return undefined
}
