import type { ServerResponse } from 'node:http'
import { type Failure, toFailure } from '../errors/catalog.js'
import type { Problem, ReachedLimit } from '../errors/problem.js'

const REALM = 'listings'
/** Tools such as Excel prompt for a name and a password only after this challenge (RFC 7617, 2). */
const BASIC_CHALLENGE = `Basic realm="${REALM}", charset="UTF-8"`
/** Retry-After when the service or its database is busy, in seconds. */
const RETRY_AFTER_S = 5

/**
 * Returns the value of `WWW-Authenticate` for a problem (RFC 6750, 3). It is set on every 401, and on a 403
 * for a missing scope. As the RFC requires, it has no error code if the request has no token.
 */
export function bearerChallenge(problem: Problem): string | undefined {
  if (problem.kind === 'TokenMissing') return `Bearer realm="${REALM}"`
  if (problem.kind === 'TokenRefused') return `Bearer realm="${REALM}", error="invalid_token"`
  if (problem.kind === 'ScopeMissing')
    return `Bearer realm="${REALM}", error="insufficient_scope", scope="${problem.scope}"`
  return undefined
}

/** Adds the challenge for Basic authentication to a 401. Called when the headers are written. */
export function offerBasicAuthentication(this: ServerResponse): void {
  if (this.statusCode === 401) this.appendHeader('WWW-Authenticate', BASIC_CHALLENGE)
}

/**
 * Returns the headers that a problem has in either adapter: Content-Language and, where they apply,
 * WWW-Authenticate, Retry-After, Allow and those of a limit.
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
    ...(problem.kind === 'TooManyRequests' &&
      problem.limit &&
      rateLimitHeaders(problem.limit, problem.retryAfter)),
    ...(problem.kind === 'PositionGone' && problem.location !== undefined && { Location: problem.location }),
    ...(problem.kind === 'MethodNotAllowed' && { Allow: problem.allow.join(', ') }),
  }
}

/** Returns the headers of an exhausted limit. They replace those of the limit whose window ends first. */
const rateLimitHeaders = ({ value }: ReachedLimit, resetSeconds: number) => ({
  'RateLimit-Limit': String(value),
  'RateLimit-Remaining': '0',
  'RateLimit-Reset': String(resetSeconds),
})

/** Renders an error body (OData JSON 4.01, 21.1). `details` is always a list. */
export const renderErrorBody = ({ code, message, target, details }: Failure): string =>
  JSON.stringify({ error: { code, message, target, details } })

/** A complete response for a problem outside the adapters. */
export interface FailureResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Renders a problem outside the adapters, such as a request that Node rejects or an unknown path. */
export function renderFailure(problem: Problem): FailureResponse {
  const failure = toFailure([problem])
  const body = renderErrorBody(failure)
  const headers = {
    ...failureHeaders(problem),
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'OData-Version': '4.01',
  }
  return { status: failure.status, headers, body }
}
