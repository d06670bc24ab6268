import { type Failure, toFailure } from '../errors/catalog.js'
import type { Problem } from '../errors/problem.js'

const REALM = 'listings'
/** Seconds after which a client may try again when the service or its database was busy. */
const RETRY_AFTER_S = 5

/**
 * The value of `WWW-Authenticate` for a problem (RFC 6750, 3): present on every 401, and on a 403 for a
 * missing scope. A request without a token gets no error code, as the RFC asks.
 */
export function bearerChallenge(problem: Problem): string | undefined {
  if (problem.kind === 'TokenMissing') return `Bearer realm="${REALM}"`
  if (problem.kind === 'TokenRefused') return `Bearer realm="${REALM}", error="invalid_token"`
  if (problem.kind === 'ScopeMissing')
    return `Bearer realm="${REALM}", error="insufficient_scope", scope="${problem.scope}"`
  return undefined
}

/**
 * The headers that belong to a problem in either adapter: Content-Language and, where they apply,
 * WWW-Authenticate, Retry-After, Allow.
 */
export function failureHeaders(problem: Problem): Readonly<Record<string, string>> {
  const authenticate = bearerChallenge(problem)
  const retryAfter =
    problem.kind === 'TooManyRequests'
      ? problem.retryAfter
      : problem.kind === 'Unavailable'
        ? RETRY_AFTER_S
        : undefined
  return {
    'Content-Language': 'en',
    ...(authenticate !== undefined && { 'WWW-Authenticate': authenticate }),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    ...(problem.kind === 'MethodNotAllowed' && { Allow: problem.allow.join(', ') }),
  }
}

/** The error body of OData JSON 4.01, 21.1: one member, `details` always a list. */
export const renderErrorBody = ({ code, message, target, details }: Failure): string =>
  JSON.stringify({ error: { code, message, target, details } })

/** A whole answer for a problem that no adapter has seen. */
export interface FailureResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Renders a problem outside the adapters: what Node refuses, a path that nobody serves. */
export function renderFailure(problem: Problem): FailureResponse {
  const failure = toFailure([problem])
  const body = renderErrorBody(failure)
  const headers = {
    ...failureHeaders(problem),
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'OData-Version': '4.01',
  }
  return { status: failure.status, headers, body }
}
