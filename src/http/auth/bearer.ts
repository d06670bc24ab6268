import { hash, type KeyObject } from 'node:crypto'
import jwt, { type JwtPayload } from 'jsonwebtoken'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../config/config.js'
import { type Actor, AUDIENCES } from '../../domain/actor.js'
import { isStorable } from '../../domain/values.js'
import { fail } from '../../errors/problem.js'
import { type Algorithm, KeySet, type Keys } from './jwks.js'

export interface Verifier {
  /**
   * The actor of an `Authorization` header. Nothing but this header is looked at: a token in a URL is in
   * every log.
   * @throws ProblemError TokenMissing, TokenRefused, or Unavailable 'keys'.
   */
  verify(authorization: string | undefined): Promise<Actor>
  /** The same, and how long the answer holds. */
  inspect(authorization: string | undefined): Promise<Verified>
  /** What `inspect` would say at once, of a token that was verified before. */
  recall(authorization: string | undefined): Verified | undefined
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
export interface Verified {
  readonly actor: Actor
  readonly until: number
  /** The token's name in memory. */
  readonly name: string
}

const TOLERANCE_S = 30
const DAY_S = 86_400
const CACHED_TOKENS = 10_000

/**
 * Checks tokens by the settings and remembers those it has checked, until they or the keys they rest on grow
 * old.
 */
export function createVerifier(config: VerifierSettings): Verifier {
  const seen = new LRUCache<string, Verified>({ max: CACHED_TOKENS })
  const keySet = openKeySet(config, () => seen.clear())
  function find(name: string): Verified | undefined {
    const known = seen.get(name)
    return known !== undefined && Date.now() < known.until ? known : undefined
  }
  async function inspect(authorization: string | undefined): Promise<Verified> {
    const token = readToken(authorization)
    const name = fingerprint(token)
    const known = find(name)
    if (known) return known
    const verified = { ...(await verifyToken(token, config, keySet)), name }
    seen.set(name, verified)
    return verified
  }
  return {
    inspect,
    async verify(authorization) {
      return (await inspect(authorization)).actor
    },
    recall(authorization) {
      const token = findToken(authorization)
      return token === undefined ? undefined : find(fingerprint(token))
    },
  }
}

function openKeySet(config: VerifierSettings, onChange: () => void): KeySet | undefined {
  const { jwksUrl, jwksMaxAgeMs, jwksCooldownMs, jwksTimeoutMs } = config
  return jwksUrl === undefined
    ? undefined
    : new KeySet(
        { url: jwksUrl, maxAgeMs: jwksMaxAgeMs, cooldownMs: jwksCooldownMs, timeoutMs: jwksTimeoutMs },
        onChange,
      )
}

/** Name of a token in memory: the token itself is kept nowhere. */
export const fingerprint = (token: string): string => hash('sha256', token, 'base64')

/**
 * The token in an `Authorization` header: the scheme in any case, blanks around the token tolerated (RFC
 * 9110, 11.4).
 * @throws ProblemError TokenMissing, also for another scheme.
 */
export const readToken = (authorization: string | undefined): string =>
  findToken(authorization) ?? fail({ kind: 'TokenMissing' })

const findToken = (authorization = ''): string | undefined =>
  /^\s*bearer(?:\s+(.*))?$/i.exec(authorization)?.[1]?.trim() || undefined

/** What a token says, before it has a name. */
type Claimed = Omit<Verified, 'name'>

async function verifyToken(
  token: string,
  config: VerifierSettings,
  keySet: KeySet | undefined,
): Promise<Claimed> {
  // The algorithm decides where the key comes from, so a public key can never serve as a shared secret.
  const { alg, kid, crit } = readHeader(token) ?? refuse('it is malformed')
  // An extension that must be understood is one that this service does not know (RFC 7515, 4.1.11); the
  // library does not look.
  if (crit !== undefined) refuse('it rests on an extension that is not known')
  if (alg === 'HS256' && config.jwtSecret)
    return toVerified(verifyWith(config.jwtSecret, token, alg, config), config)
  if ((alg === 'RS256' || alg === 'ES256') && keySet)
    return await verifyByKeySet(token, { alg, kid }, keySet, config)
  return refuse('its algorithm is not allowed')
}

function readHeader(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header
  } catch {
    // A payload that is no JSON.
    return undefined
  }
}

interface Header {
  readonly alg: Algorithm
  readonly kid: string | undefined
}

async function verifyByKeySet(
  token: string,
  header: Header,
  keySet: KeySet,
  config: VerifierSettings,
): Promise<Claimed> {
  const current = await keySet.current()
  const keys = isKnown(header, current) ? current : await keySet.renewed()
  return toVerified(verifyByAny(token, header, keys, config), config, keys.freshUntil)
}

const candidates = ({ alg, kid }: Header, { list }: Keys) =>
  list.filter(k => k.algorithm === alg && (kid === undefined || k.id === kid))
const isKnown = (header: Header, keys: Keys) => candidates(header, keys).length > 0

/** A token that names no key is tried with each key that could have signed it. */
function verifyByAny(token: string, header: Header, keys: Keys, config: VerifierSettings): JwtPayload {
  const [last, ...others] = candidates(header, keys).reverse()
  for (const { key } of others) {
    try {
      return verifyWith(key, token, header.alg, config)
    } catch {
      // The last key says what is wrong with the token.
    }
  }
  return last ? verifyWith(last.key, token, header.alg, config) : refuse('its key is unknown')
}

/** Checks signature, times, issuer and audience (RFC 7519, 7.2). */
function verifyWith(
  key: KeyObject,
  token: string,
  algorithm: jwt.Algorithm,
  { jwtIssuer, jwtAudience }: VerifierSettings,
): JwtPayload {
  try {
    const payload = jwt.verify(token, key, {
      algorithms: [algorithm],
      clockTolerance: TOLERANCE_S,
      ...(jwtIssuer !== undefined && { issuer: jwtIssuer }),
      ...(jwtAudience !== undefined && { audience: jwtAudience }),
    })
    return typeof payload === 'string' ? refuse('it holds no claims') : payload
  } catch (error) {
    // TokenExpiredError and NotBeforeError are JsonWebTokenErrors; a signature of the wrong length is a plain
    // error of crypto.
    return refuse(error instanceof jwt.JsonWebTokenError ? reasonOf(error) : 'it is malformed')
  }
}

const refuse = (reason: string): never => fail({ kind: 'TokenRefused', reason })

function toVerified(
  payload: JwtPayload,
  config: VerifierSettings,
  freshUntil = Number.POSITIVE_INFINITY,
): Claimed {
  const end = payload.exp ?? refuse('its claim exp is missing')
  if (end > Date.now() / 1000 + config.maxTokenDays * DAY_S + TOLERANCE_S)
    refuse(`it ends more than ${config.maxTokenDays} days ahead`)
  return { actor: toActor(payload), until: Math.min((end + TOLERANCE_S) * 1000, freshUntil) }
}

function toActor(claims: JwtPayload): Actor {
  const text = (name: string): string | undefined => {
    const value: unknown = claims[name]
    if (value === undefined) return undefined
    // The database has no such texts: every query of the actor would fail.
    return typeof value === 'string' && isStorable(value)
      ? value || undefined
      : refuse(`its claim ${name} is no text`)
  }
  const [memberKey, officeKey, audienceClass = 'public'] = [
    text('member_key'),
    text('office_key'),
    text('audience_class'),
  ]
  const audience =
    AUDIENCES.find(known => known === audienceClass) ?? refuse('its claim audience_class is unknown')
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

function reasonOf(error: jwt.JsonWebTokenError): string {
  if (error instanceof jwt.TokenExpiredError) return 'it has expired'
  if (error instanceof jwt.NotBeforeError) return 'it is not valid yet'
  const claim = CLAIMS.find(([words]) => error.message.startsWith(words))?.[1]
  if (claim !== undefined) return `its claim ${claim} is not accepted`
  return error.message === 'invalid signature' ? 'its signature is wrong' : 'it is malformed'
}

/** How jsonwebtoken begins its message on a claim, and the claim. */
const CLAIMS: readonly (readonly [string, string])[] = [
  ['jwt issuer invalid', 'iss'],
  ['jwt audience invalid', 'aud'],
  ['invalid exp value', 'exp'],
  ['invalid nbf value', 'nbf'],
]
