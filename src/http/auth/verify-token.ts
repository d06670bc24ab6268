import type { KeyObject } from 'node:crypto'
import jwt, { type JwtPayload } from 'jsonwebtoken'
import type { Config } from '../../config/config.js'
import { type Actor, AUDIENCES } from '../../domain/actor.js'
import type { ClientDirectory } from '../../domain/clients/directory.js'
import { isStorable } from '../../domain/values.js'
import type { Phrase } from '../../errors/phrase.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { withFeedOfClaim } from './access-token.js'
import type { VerifiedToken } from './bearer.js'
import type { KeySet } from './jwks.js'

export type VerifierSettings = Pick<
  Config,
  | 'jwtSecret'
  | 'jwksUrl'
  | 'jwtIssuer'
  | 'jwtAudience'
  | 'maxTokenDays'
  | 'jwksMaxAgeMs'
  | 'jwksCooldownMs'
  | 'jwksTimeoutMs'
> &
  Partial<Pick<Config, 'basicAuth'>>

const CLOCK_TOLERANCE_S = 30
const DAY_S = 86_400
/** Maximum length of a claim in the audit log. */
const MAX_LOGGED_CLAIM_LENGTH = 255

/** The claims of a token, before its fingerprint is computed. */
export interface VerifiedClaims extends Omit<VerifiedToken, 'name' | 'clientId'> {
  readonly clientId: string | undefined
}

/** Verifies a token of JWT_SECRET or JWKS_URL. */
export async function verifyToken(
  token: string,
  config: VerifierSettings,
  keySet: KeySet | undefined,
  directory: Pick<ClientDirectory, 'findFeed' | 'ready'> | undefined,
): Promise<VerifiedClaims> {
  const { payload, freshUntil } = await verifyPayload(token, config, keySet)
  const { actor, ...claims } = toVerifiedClaims(payload, config, freshUntil)
  return { ...claims, actor: await withFeedOfClaim(actor, payload['feed'], directory) }
}

interface VerifiedPayload {
  readonly payload: JwtPayload
  readonly freshUntil?: number
}

async function verifyPayload(
  token: string,
  config: VerifierSettings,
  keySet: KeySet | undefined,
): Promise<VerifiedPayload> {
  // The algorithm determines the source of the key, so a public key can never be used as a shared secret.
  const { alg, kid, crit } = decodeHeader(token) ?? refuseToken(REASONS.tokenMalformed)
  // The service supports no critical extensions (RFC 7515, 4.1.11), and the library does not check for them.
  if (crit !== undefined) refuseToken(REASONS.tokenExtension)
  if (alg === 'HS256' && config.jwtSecret)
    return { payload: verifyWithKey(config.jwtSecret, token, alg, config) }
  if ((alg === 'RS256' || alg === 'ES256') && keySet)
    return await verifyWithKeySet(token, { alg, kid }, keySet, config)
  return refuseToken(REASONS.tokenAlgorithm)
}

export function decodeHeader(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header
  } catch {
    // The payload is not JSON.
    return undefined
  }
}

interface JoseHeader {
  readonly alg: 'RS256' | 'ES256'
  readonly kid: string | undefined
}

async function verifyWithKeySet(
  token: string,
  { alg, kid }: JoseHeader,
  keySet: KeySet,
  config: VerifierSettings,
): Promise<VerifiedPayload> {
  const header = { alg, ...(kid !== undefined && { kid }) }
  let current = await keySet.current()
  let keys = await current.select(header)
  if (keys.length === 0) {
    current = await keySet.refresh()
    keys = await current.select(header)
  }
  return { payload: verifyWithAnyKey(token, alg, keys, config), freshUntil: current.freshUntil }
}

/** Verifies a token with each candidate key. A token without `kid` can have several. */
function verifyWithAnyKey(
  token: string,
  algorithm: jwt.Algorithm,
  keys: readonly KeyObject[],
  config: VerifierSettings,
): JwtPayload {
  const last = keys.at(-1)
  for (const key of keys.slice(0, -1)) {
    try {
      return verifyWithKey(key, token, algorithm, config)
    } catch {
      // The error of the last key is reported.
    }
  }
  return last ? verifyWithKey(last, token, algorithm, config) : refuseToken(REASONS.tokenKeyUnknown)
}

/** Checks signature, times, issuer and audience (RFC 7519, 7.2). */
function verifyWithKey(
  key: KeyObject,
  token: string,
  algorithm: jwt.Algorithm,
  { jwtIssuer, jwtAudience }: VerifierSettings,
): JwtPayload {
  try {
    const payload = jwt.verify(token, key, {
      algorithms: [algorithm],
      clockTolerance: CLOCK_TOLERANCE_S,
      ...(jwtIssuer !== undefined && { issuer: jwtIssuer }),
      ...(jwtAudience !== undefined && { audience: jwtAudience }),
    })
    return typeof payload === 'string' ? refuseToken(REASONS.tokenWithoutClaims) : payload
  } catch (error) {
    // TokenExpiredError and NotBeforeError are subclasses of JsonWebTokenError. A signature of the wrong
    // length raises a plain error of `crypto`.
    return refuseToken(error instanceof jwt.JsonWebTokenError ? refusalReason(error) : REASONS.tokenMalformed)
  }
}

export const refuseToken = (reason: Phrase): never => fail({ kind: 'TokenRefused', reason })

function toVerifiedClaims(
  payload: JwtPayload,
  config: VerifierSettings,
  freshUntil = Number.POSITIVE_INFINITY,
): VerifiedClaims {
  const end = payload.exp ?? refuseToken(REASONS.tokenWithoutExpiry)
  if (end > Date.now() / 1000 + config.maxTokenDays * DAY_S + CLOCK_TOLERANCE_S)
    refuseToken(REASONS.tokenExpiryTooFar(config.maxTokenDays))
  return {
    actor: toActor(payload),
    validUntil: Math.min((end + CLOCK_TOLERANCE_S) * 1000, freshUntil),
    clientId: readClientId(payload),
    ...(typeof payload.sub === 'string' && payload.sub !== '' && { subject: payload.sub }),
  }
}

/** Returns the client that a token names. A claim that is not a string is ignored. */
function readClientId(claims: JwtPayload): string | undefined {
  const name = ['client_id', 'sub'].find(claim => typeof claims[claim] === 'string' && claims[claim] !== '')
  return name && `${name} ${String(claims[name])}`
}

function toActor(claims: JwtPayload): Actor {
  const text = (name: string): string | undefined => {
    const value: unknown = claims[name]
    if (value === undefined) return undefined
    // PostgreSQL cannot store other strings, so every query of the actor would fail.
    return typeof value === 'string' && isStorable(value)
      ? value || undefined
      : refuseToken(REASONS.tokenClaimNotString(name))
  }
  const [memberKey, officeKey, audienceClass = 'public'] = [
    text('member_key'),
    text('office_key'),
    text('audience_class'),
  ]
  const subject = storableClaim(claims['sub']) ?? storableClaim(claims['client_id'])
  const audience = AUDIENCES.find(known => known === audienceClass) ?? refuseToken(REASONS.tokenAudienceClass)
  const scopes = new Set(
    text('scope')
      ?.split(' ')
      .filter(scope => scope !== ''),
  )
  return Object.freeze({
    scopes,
    audience,
    ...(memberKey !== undefined && { memberKey }),
    ...(officeKey !== undefined && { officeKey }),
    ...(subject !== undefined && { subject }),
  })
}

/**
 * Returns a claim for the audit log, or undefined if the database cannot store it. Rights do not depend on
 * it.
 */
const storableClaim = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && isStorable(value)
    ? [...value].slice(0, MAX_LOGGED_CLAIM_LENGTH).join('')
    : undefined

/** Returns the reason for the refusal from an error of jsonwebtoken. */
export function refusalReason(error: jwt.JsonWebTokenError): Phrase {
  if (error instanceof jwt.TokenExpiredError) return REASONS.tokenExpired
  if (error instanceof jwt.NotBeforeError) return REASONS.tokenNotYetValid
  const claim = CLAIM_BY_MESSAGE_PREFIX.find(([words]) => error.message.startsWith(words))?.[1]
  if (claim !== undefined) return REASONS.tokenClaimRejected(claim)
  return error.message === 'invalid signature' ? REASONS.tokenSignature : REASONS.tokenMalformed
}

/** Prefixes of jsonwebtoken's messages, with the claim that they refer to. */
const CLAIM_BY_MESSAGE_PREFIX: readonly (readonly [string, string])[] = [
  ['jwt issuer invalid', 'iss'],
  ['jwt audience invalid', 'aud'],
  ['invalid exp value', 'exp'],
  ['invalid nbf value', 'nbf'],
]
