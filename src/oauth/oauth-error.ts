import type { Response } from 'express'
import { ProblemError } from '../errors/problem.js'

/** Error codes of RFC 6749, 5.2, RFC 8707, 2 and RFC 6749, 4.1.2.1. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unsupported_grant_type'
  | 'temporarily_unavailable'
  | 'server_error'

/** An error of an OAuth endpoint. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: OAuthErrorCode,
    description: string,
    status = 400,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(description)
    this.code = code
    this.status = status
    this.headers = headers
  }
}

/** Sends JSON that no cache may store (RFC 6749, 5.1). */
export function sendJson(res: Response, status: number, body: unknown): void {
  res.status(status).set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' }).json(body)
}

/** Sends an error. An internal error is reported, and its message is not sent. */
export function sendOAuthError(res: Response, error: unknown, report: (error: unknown) => string): void {
  const { code, status, message, headers } = toOAuthError(error, report)
  res.set(headers)
  sendJson(res, status, { error: code, error_description: message })
}

function toOAuthError(error: unknown, report: (error: unknown) => string): OAuthError {
  if (error instanceof OAuthError) return error
  const [problem] = error instanceof ProblemError ? error.problems : []
  if (problem?.kind === 'BodyTooLarge')
    return new OAuthError('invalid_request', 'The body is too large.', 413)
  if (problem?.kind === 'UnsupportedMediaType' || problem?.kind === 'BadRequest')
    return new OAuthError('invalid_request', 'The body cannot be read.')
  if (problem?.kind === 'TooManyRequests')
    return new OAuthError('temporarily_unavailable', 'Too many failed attempts.', 429, {
      'Retry-After': String(problem.retryAfter),
    })
  const id = report(error)
  return problem?.kind === 'Unavailable'
    ? new OAuthError('temporarily_unavailable', 'The service is temporarily unavailable.', 503, {
        'Retry-After': '5',
      })
    : new OAuthError('server_error', `An internal error occurred. Its id is ${id}.`, 500)
}
