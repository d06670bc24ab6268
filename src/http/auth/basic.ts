import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'

/**
 * Returns the credentials of an `Authorization` header with the scheme Basic (RFC 7617), or undefined for
 * another scheme. The text is split at the first colon, since an id contains none.
 * @throws ProblemError TokenRefused
 */
export function readBasicCredentials(
  authorization = '',
): { readonly id: string; readonly secret: string } | undefined {
  const [, encoded] = /^\s*basic(?:\s+(.*))?$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const text = /^[A-Za-z0-9+/_-]+=*$/.test(encoded.trim())
    ? Buffer.from(encoded, 'base64').toString('utf8')
    : ''
  const colon = text.indexOf(':')
  return colon < 0
    ? fail({ kind: 'TokenRefused', reason: REASONS.credentialsMalformed })
    : { id: text.slice(0, colon), secret: text.slice(colon + 1) }
}
