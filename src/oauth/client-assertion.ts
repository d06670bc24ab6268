import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import type { Client } from '../domain/clients/client.js'

/** Algorithms of client assertions. */
export const ASSERTION_ALGORITHMS = ['ES256', 'RS256', 'PS256']
/** Longest accepted lifetime of an assertion. */
const MAX_LIFETIME_S = 600
const CLOCK_TOLERANCE_S = 30
/** Longest accepted id of an assertion, in UTF-16 units. It is part of an index. */
const MAX_ID_LENGTH = 255

/** A valid client assertion. */
export interface ClientAssertion {
  readonly id: string
  /** ms since 1970. */
  readonly expiresAt: number
}

/** Returns the client that an assertion names. Its signature is not checked. */
export function assertedClientId(assertion: string): string | undefined {
  try {
    return decodeJwt(assertion).sub
  } catch {
    return undefined
  }
}

/**
 * Verifies an assertion of a client (RFC 7523, 3) with the registered keys of that client. `aud` is the issuer or the
 * token endpoint, as one value. Returns undefined for an assertion that is not valid.
 */
export async function verifyClientAssertion(
  assertion: string,
  client: Client,
  audiences: readonly string[],
): Promise<ClientAssertion | undefined> {
  const payload = await verifyWithKeys(assertion, client, audiences)
  const { aud, exp = 0, jti } = payload ?? {}
  const isOneAudience = typeof aud === 'string' || aud?.length === 1
  const isShortLived = exp <= Date.now() / 1000 + MAX_LIFETIME_S + CLOCK_TOLERANCE_S
  return isStorableId(jti) && isOneAudience && isShortLived
    ? { id: jti, expiresAt: (exp + CLOCK_TOLERANCE_S) * 1000 }
    : undefined
}

/** The library does not check the type of the claim, and PostgreSQL cannot store NUL. */
const isStorableId = (id: unknown): id is string =>
  typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH && !/[\0\p{Surrogate}]/u.test(id)

async function verifyWithKeys(
  assertion: string,
  { id, publicKeys }: Client,
  audiences: readonly string[],
): Promise<JWTPayload | undefined> {
  const options = {
    algorithms: ASSERTION_ALGORITHMS,
    audience: [...audiences],
    issuer: id,
    subject: id,
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: ['exp', 'jti'],
  }
  const keySet = createLocalJWKSet({ keys: [...publicKeys] } as JSONWebKeySet)
  try {
    return (await jwtVerify(assertion, keySet, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return undefined
    for await (const key of error) {
      const verified = await jwtVerify(assertion, key, options).catch(() => undefined)
      if (verified) return verified.payload
    }
    return undefined
  }
}
