import { createHash, type KeyObject } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.js'
import { type Actor, AUDIENCES } from '../domain/access.js'
import { fail } from '../errors/problem.js'
import { type Keys, KeySet } from './keys.js'

export interface Verifier {
  /**
   * The actor of an `Authorization` header. Nothing but this header is looked at: a token in a URL is in every log.
   * @throws ProblemError TokenMissing, TokenRefused, or Unavailable 'keys'.
   */
  verify(authorization: string | undefined): Promise<Actor>
}

type VerifierSettings = Pick<
  Config,
  'jwtSecret' | 'jwksUrl' | 'jwtIssuer' | 'jwtAudience' | 'maxTokenDays' | 'jwksMaxAgeMs' | 'jwksCooldownMs' | 'jwksTimeoutMs'
>

/** A verified token and the moment (milliseconds of the clock) until which nothing can make it invalid. */
interface Verified {
  readonly actor: Actor
  readonly until: number
}

const TOLERANCE_S = 30
const DAY_S = 86_400
const CACHED_TOKENS = 10_000

/** Checks tokens by the settings and remembers those it has checked, until they or the keys they rest on grow old. */
export function createVerifier(config: VerifierSettings): Verifier {
  const seen = new LRUCache<string, Verified>({ max: CACHED_TOKENS })
  const keySet = openKeySet(config, () => seen.clear())
  return {
    async verify(authorization) {
      const token = readToken(authorization)
      const name = fingerprint(token)
      const known = seen.get(name)
      if (known !== undefined && Date.now() < known.until) return known.actor
      const verified = await verifyToken(token, config, keySet)
      seen.set(name, verified)
      return verified.actor
    },
  }
}

function openKeySet(config: VerifierSettings, onChange: () => void): KeySet | undefined {
  const { jwksUrl, jwksMaxAgeMs, jwksCooldownMs, jwksTimeoutMs } = config
  return jwksUrl === undefined ? undefined : new KeySet({ url: jwksUrl, maxAgeMs: jwksMaxAgeMs, cooldownMs: jwksCooldownMs, timeoutMs: jwksTimeoutMs }, onChange)
}

/** Name of a token in memory: the token itself is kept nowhere. */
export const fingerprint = (token: string): string => createHash('sha256').update(token).digest('base64')

/** The scheme in any case, blanks around the token tolerated (RFC 9110, 11.4). Another scheme is no token at all. */
function readToken(authorization: string | undefined): string {
  const [, credentials] = /^\s*bearer(?:\s+(.*))?$/i.exec(authorization ?? '') ?? fail({ kind: 'TokenMissing' })
  return credentials?.trim() || fail({ kind: 'TokenMissing' })
}

async function verifyToken(token: string, config: VerifierSettings, keySet: KeySet | undefined): Promise<Verified> {
  try {
    const algorithm = decodeProtectedHeader(token).alg
    if (algorithm === 'HS256' && config.jwtSecret) return toVerified(await verifyBySecret(token, config.jwtSecret, config), config)
    if ((algorithm === 'RS256' || algorithm === 'ES256') && keySet) return await verifyByKeySet(token, algorithm, keySet, config)
  } catch (error) {
    // decodeProtectedHeader throws TypeError for what is no token at all.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return fail({ kind: 'TokenRefused', reason: reasonOf(error) })
    throw error
  }
  return fail({ kind: 'TokenRefused', reason: 'its algorithm is not allowed' })
}

async function verifyBySecret(token: string, secret: KeyObject, config: VerifierSettings): Promise<JWTPayload> {
  return (await jwtVerify(token, secret, optionsFor('HS256', config))).payload
}

async function verifyByKeySet(token: string, algorithm: string, keySet: KeySet, config: VerifierSettings): Promise<Verified> {
  const options = optionsFor(algorithm, config)
  const verifyWith = async (keys: Keys) => toVerified(await verifyByAny(token, keys.find, options), config, keys.freshUntil)
  try {
    return await verifyWith(await keySet.current())
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    return await verifyWith(await keySet.renewed())
  }
}

/** A token that names no key is tried with each key that could have signed it. */
async function verifyByAny(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, options)).payload
  } catch (several) {
    if (!(several instanceof errors.JWKSMultipleMatchingKeys)) throw several
    for await (const key of several) {
      try {
        return (await jwtVerify(token, key, options)).payload
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

const optionsFor = (algorithm: string, { jwtIssuer, jwtAudience }: VerifierSettings): JWTVerifyOptions => ({
  algorithms: [algorithm],
  clockTolerance: TOLERANCE_S,
  requiredClaims: ['exp'],
  ...(jwtIssuer !== undefined && { issuer: jwtIssuer }),
  ...(jwtAudience !== undefined && { audience: jwtAudience }),
})

function toVerified(payload: JWTPayload, config: VerifierSettings, freshUntil = Number.POSITIVE_INFINITY): Verified {
  const end = payload.exp ?? 0
  if (end > Date.now() / 1000 + config.maxTokenDays * DAY_S + TOLERANCE_S)
    fail({ kind: 'TokenRefused', reason: `it ends more than ${config.maxTokenDays} days ahead` })
  return { actor: toActor(payload), until: Math.min((end + TOLERANCE_S) * 1000, freshUntil) }
}

function toActor(claims: JWTPayload): Actor {
  const text = (name: string): string | undefined => {
    const value = claims[name]
    return value === undefined || typeof value === 'string' ? value || undefined : fail({ kind: 'TokenRefused', reason: `its claim ${name} is no text` })
  }
  const [memberKey, officeKey, audienceClass = 'public'] = [text('member_key'), text('office_key'), text('audience_class')]
  const audience = AUDIENCES.find(known => known === audienceClass) ?? fail({ kind: 'TokenRefused', reason: 'its claim audience_class is unknown' })
  const scopes = new Set(text('scope')?.split(' ').filter(scope => scope !== ''))
  return Object.freeze({ scopes, audience, ...(memberKey !== undefined && { memberKey }), ...(officeKey !== undefined && { officeKey }) })
}

function reasonOf(error: errors.JOSEError | TypeError): string {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim ${error.claim} is ${error.reason === 'missing' ? 'missing' : 'not accepted'}`
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong'
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is unknown'
  return 'it is malformed'
}
