import { hash, type KeyObject } from 'node:crypto'
import jwt, { type JwtPayload } from 'jsonwebtoken'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.js'
import { type Actor, AUDIENCES } from '../../domain/actor.js'
import { isStorable } from '../../domain/values.js'
import type { Phrase } from '../../errors/phrase.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { KeySet, type KeySetListeners } from './jwks.js'

export interface TokenVerifier {
  /**
   * Returns the actor for an `Authorization` header. Tokens are read from this header only, because URLs are
   * written to logs.
   * @throws ProblemError TokenMissing, TokenRefused, or Unavailable 'keys'
   */
  verify(authorization: string | undefined): Promise<Actor>
  /** Returns the actor and the time until which the result is valid; see `verify`. */
  authenticate(authorization: string | undefined): Promise<VerifiedToken>
  /** Returns the cached result of `authenticate`, if the token was verified before. */
  findCached(authorization: string | undefined): VerifiedToken | undefined
}

type VerifierSettings = Pick<
  Config,
  | 'jwtSecret'
  | 'jwksUrl'
  | 'jwtIssuer'
  | 'jwtAudience'
  | 'maxTokenDays'
  | 'jwksMaxAgeMs'
  | 'jwksCooldownMs'
  | 'jwksTimeoutMs'
>

/** A verified token, and the time until which it remains valid (ms since 1970). */
export interface VerifiedToken {
  readonly actor: Actor
  readonly validUntil: number
  /** Fingerprint that identifies the token in memory. */
  readonly name: string
  /**
   * The client that the token was issued to: `client_id`, else `sub`, else the token itself. The service
   * divides its connections among clients.
   */
  readonly clientId: string
}

const CLOCK_TOLERANCE_S = 30
const DAY_S = 86_400
const MAX_CACHED_TOKENS = 10_000

const SILENT_LOGGER = { warn: () => undefined }

/**
 * Creates a token verifier. Verified tokens are cached until they expire or their keys are due for a refresh.
 */
export function createTokenVerifier(
  config: VerifierSettings,
  logger: Pick<Logger, 'warn'> = SILENT_LOGGER,
): TokenVerifier {
  const cache = new LRUCache<string, VerifiedToken>({ max: MAX_CACHED_TOKENS })
  const keySet = createKeySet(config, {
    onChange: () => cache.clear(),
    onUnusable: keys => logger.warn({ keys }, 'unusable keys in JWKS_URL'),
  })
  function findCached(name: string): VerifiedToken | undefined {
    const cached = cache.get(name)
    return cached !== undefined && Date.now() < cached.validUntil ? cached : undefined
  }
  async function authenticate(authorization: string | undefined): Promise<VerifiedToken> {
    const token = readBearerToken(authorization)
    const name = tokenFingerprint(token)
    const cached = findCached(name)
    if (cached) return cached
    const { clientId = `token ${name}`, ...claims } = await verifyToken(token, config, keySet)
    const verified = { ...claims, name, clientId }
    cache.set(name, verified)
    return verified
  }
  return {
    authenticate,
    async verify(authorization) {
      return (await authenticate(authorization)).actor
    },
    findCached(authorization) {
      const token = findBearerToken(authorization)
      return token === undefined ? undefined : findCached(tokenFingerprint(token))
    },
  }
}

function createKeySet(config: VerifierSettings, listeners: KeySetListeners): KeySet | undefined {
  const { jwksUrl, jwksMaxAgeMs, jwksCooldownMs, jwksTimeoutMs } = config
  return jwksUrl === undefined
    ? undefined
    : new KeySet(
        { url: jwksUrl, maxAgeMs: jwksMaxAgeMs, cooldownMs: jwksCooldownMs, timeoutMs: jwksTimeoutMs },
        listeners,
      )
}

/** Returns the fingerprint that identifies a token in memory. The token itself is not stored. */
export const tokenFingerprint = (token: string): string => hash('sha256', token, 'base64')

/**
 * Returns the token of an `Authorization` header. The scheme is case-insensitive, and spaces around the token
 * are allowed (RFC 9110, 11.4).
 * @throws ProblemError TokenMissing, also for another scheme
 */
export const readBearerToken = (authorization: string | undefined): string =>
  findBearerToken(authorization) ?? fail({ kind: 'TokenMissing' })

const findBearerToken = (authorization = ''): string | undefined =>
  /^\s*bearer(?:\s+(.*))?$/i.exec(authorization)?.[1]?.trim() || undefined

/** The claims of a token, before its fingerprint is computed. */
interface VerifiedClaims extends Omit<VerifiedToken, 'name' | 'clientId'> {
  readonly clientId: string | undefined
}

async function verifyToken(
  token: string,
  config: VerifierSettings,
  keySet: KeySet | undefined,
): Promise<VerifiedClaims> {
  // The algorithm determines the source of the key, so a public key can never be used as a shared secret.
  const { alg, kid, crit } = decodeHeader(token) ?? refuseToken(REASONS.tokenMalformed)
  // The service supports no critical extensions (RFC 7515, 4.1.11), and the library does not check for them.
  if (crit !== undefined) refuseToken(REASONS.tokenExtension)
  if (alg === 'HS256' && config.jwtSecret)
    return toVerifiedClaims(verifyWithKey(config.jwtSecret, token, alg, config), config)
  if ((alg === 'RS256' || alg === 'ES256') && keySet)
    return await verifyWithKeySet(token, { alg, kid }, keySet, config)
  return refuseToken(REASONS.tokenAlgorithm)
}

function decodeHeader(token: string): jwt.JwtHeader | undefined {
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
): Promise<VerifiedClaims> {
  const header = { alg, ...(kid !== undefined && { kid }) }
  let current = await keySet.current()
  let keys = await current.select(header)
  if (keys.length === 0) {
    current = await keySet.refresh()
    keys = await current.select(header)
  }
  return toVerifiedClaims(verifyWithAnyKey(token, alg, keys, config), config, current.freshUntil)
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

const refuseToken = (reason: Phrase): never => fail({ kind: 'TokenRefused', reason })

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
    // The database cannot store other strings, so every query of the actor would fail.
    return typeof value === 'string' && isStorable(value)
      ? value || undefined
      : refuseToken(REASONS.tokenClaimNotString(name))
  }
  const [memberKey, officeKey, audienceClass = 'public'] = [
    text('member_key'),
    text('office_key'),
    text('audience_class'),
  ]
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
  })
}

function refusalReason(error: jwt.JsonWebTokenError): Phrase {
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
