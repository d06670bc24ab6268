import { hash, type KeyObject } from 'node:crypto'
import jwt, { type JwtPayload } from 'jsonwebtoken'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.js'
import { type Actor, AUDIENCES } from '../../domain/actor.js'
import { isStorable } from '../../domain/values.js'
import { fail } from '../../errors/problem.js'
import { KeySet, type KeySetListeners } from './jwks.js'

export interface TokenVerifier {
  /**
   * The actor of an `Authorization` header. Nothing but this header is looked at: a token in a URL is in
   * every log.
   * @throws ProblemError TokenMissing, TokenRefused, or Unavailable 'keys'.
   */
  verify(authorization: string | undefined): Promise<Actor>
  /** The same, and how long the answer holds. */
  authenticate(authorization: string | undefined): Promise<VerifiedToken>
  /** What `inspect` would say at once, of a token that was verified before. */
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

/** A verified token and the moment (milliseconds of the clock) until which nothing can make it invalid. */
export interface VerifiedToken {
  readonly actor: Actor
  readonly validUntil: number
  /** The token's name in memory. */
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
 * Checks tokens by the settings and remembers those it has checked, until they or the keys they rest on grow
 * old.
 */
export function createTokenVerifier(
  config: VerifierSettings,
  logger: Pick<Logger, 'warn'> = SILENT_LOGGER,
): TokenVerifier {
  const cache = new LRUCache<string, VerifiedToken>({ max: MAX_CACHED_TOKENS })
  const keySet = createKeySet(config, {
    onChange: () => cache.clear(),
    onUnusable: keys => logger.warn({ keys }, 'keys of JWKS_URL that cannot be used'),
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

/** Name of a token in memory: the token itself is kept nowhere. */
export const tokenFingerprint = (token: string): string => hash('sha256', token, 'base64')

/**
 * The token in an `Authorization` header: the scheme in any case, blanks around the token tolerated (RFC
 * 9110, 11.4).
 * @throws ProblemError TokenMissing, also for another scheme.
 */
export const readBearerToken = (authorization: string | undefined): string =>
  findBearerToken(authorization) ?? fail({ kind: 'TokenMissing' })

const findBearerToken = (authorization = ''): string | undefined =>
  /^\s*bearer(?:\s+(.*))?$/i.exec(authorization)?.[1]?.trim() || undefined

/** The claims of a token, before it has a name. */
interface VerifiedClaims extends Omit<VerifiedToken, 'name' | 'clientId'> {
  readonly clientId: string | undefined
}

async function verifyToken(
  token: string,
  config: VerifierSettings,
  keySet: KeySet | undefined,
): Promise<VerifiedClaims> {
  // The algorithm decides where the key comes from, so a public key can never serve as a shared secret.
  const { alg, kid, crit } = decodeHeader(token) ?? refuseToken('it is malformed')
  // An extension that must be understood is one that this service does not know (RFC 7515, 4.1.11); the
  // library does not look.
  if (crit !== undefined) refuseToken('it rests on an extension that is not known')
  if (alg === 'HS256' && config.jwtSecret)
    return toVerifiedClaims(verifyWithKey(config.jwtSecret, token, alg, config), config)
  if ((alg === 'RS256' || alg === 'ES256') && keySet)
    return await verifyWithKeySet(token, { alg, kid }, keySet, config)
  return refuseToken('its algorithm is not allowed')
}

function decodeHeader(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header
  } catch {
    // A payload that is no JSON.
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

/** A token that names no key is tried with each key that could have signed it. */
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
      // The last key says what is wrong with the token.
    }
  }
  return last ? verifyWithKey(last, token, algorithm, config) : refuseToken('its key is unknown')
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
    return typeof payload === 'string' ? refuseToken('it holds no claims') : payload
  } catch (error) {
    // TokenExpiredError and NotBeforeError are JsonWebTokenErrors; a signature of the wrong length is a plain
    // error of crypto.
    return refuseToken(error instanceof jwt.JsonWebTokenError ? refusalReason(error) : 'it is malformed')
  }
}

const refuseToken = (reason: string): never => fail({ kind: 'TokenRefused', reason })

function toVerifiedClaims(
  payload: JwtPayload,
  config: VerifierSettings,
  freshUntil = Number.POSITIVE_INFINITY,
): VerifiedClaims {
  const end = payload.exp ?? refuseToken('its claim exp is missing')
  if (end > Date.now() / 1000 + config.maxTokenDays * DAY_S + CLOCK_TOLERANCE_S)
    refuseToken(`it ends more than ${config.maxTokenDays} days ahead`)
  return {
    actor: toActor(payload),
    validUntil: Math.min((end + CLOCK_TOLERANCE_S) * 1000, freshUntil),
    clientId: readClientId(payload),
  }
}

/** A claim that is no text names no client. */
function readClientId(claims: JwtPayload): string | undefined {
  const name = ['client_id', 'sub'].find(claim => typeof claims[claim] === 'string' && claims[claim] !== '')
  return name && `${name} ${String(claims[name])}`
}

function toActor(claims: JwtPayload): Actor {
  const text = (name: string): string | undefined => {
    const value: unknown = claims[name]
    if (value === undefined) return undefined
    // The database has no such texts: every query of the actor would fail.
    return typeof value === 'string' && isStorable(value)
      ? value || undefined
      : refuseToken(`its claim ${name} is no text`)
  }
  const [memberKey, officeKey, audienceClass = 'public'] = [
    text('member_key'),
    text('office_key'),
    text('audience_class'),
  ]
  const audience =
    AUDIENCES.find(known => known === audienceClass) ?? refuseToken('its claim audience_class is unknown')
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

function refusalReason(error: jwt.JsonWebTokenError): string {
  if (error instanceof jwt.TokenExpiredError) return 'it has expired'
  if (error instanceof jwt.NotBeforeError) return 'it is not valid yet'
  const claim = CLAIM_BY_MESSAGE_PREFIX.find(([words]) => error.message.startsWith(words))?.[1]
  if (claim !== undefined) return `its claim ${claim} is not accepted`
  return error.message === 'invalid signature' ? 'its signature is wrong' : 'it is malformed'
}

/** How jsonwebtoken begins its message on a claim, and the claim. */
const CLAIM_BY_MESSAGE_PREFIX: readonly (readonly [string, string])[] = [
  ['jwt issuer invalid', 'iss'],
  ['jwt audience invalid', 'aud'],
  ['invalid exp value', 'exp'],
  ['invalid nbf value', 'nbf'],
]
