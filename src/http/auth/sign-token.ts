import type { KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import type { Config } from '../../config/config.js'
import type { Audience } from '../../domain/actor.js'

/** The rights that a signed token grants. */
export interface Grant {
  readonly scopes: readonly string[]
  readonly audience: Audience
  readonly memberKey?: string
  readonly officeKey?: string
  /** The claim `sub`, which names the holder of the token. */
  readonly subject?: string
  readonly expiresIn: number
}

/** Signs a token (HS256) with the claims of a grant, and the issuer and audience of the settings. */
export function signToken(
  grant: Grant,
  secret: KeyObject,
  { jwtIssuer, jwtAudience }: Pick<Config, 'jwtIssuer' | 'jwtAudience'>,
): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    scope: grant.scopes.join(' '),
    audience_class: grant.audience,
    ...(grant.memberKey !== undefined && { member_key: grant.memberKey }),
    ...(grant.officeKey !== undefined && { office_key: grant.officeKey }),
    ...(grant.subject !== undefined && { sub: grant.subject }),
    ...(jwtIssuer !== undefined && { iss: jwtIssuer }),
    ...(jwtAudience !== undefined && { aud: jwtAudience }),
    iat: now,
    exp: now + grant.expiresIn,
  }
  return jwt.sign(claims, secret, { algorithm: 'HS256' })
}
