import { KeyObject } from 'node:crypto'
import {
  createLocalJWKSet,
  errors,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  type JWSHeaderParameters,
} from 'jose'

const MIN_RSA_BITS = 2048

/** A key of a key set that cannot verify tokens. */
export interface UnusableKey {
  readonly kid: string | undefined
  readonly reason: string
}

/**
 * Returns the keys that may have signed a token with this header: none, one, or several if the header has no
 * `kid`.
 */
export type KeySelector = (header: JWSHeaderParameters) => Promise<readonly KeyObject[]>

/** The usable and the unusable keys of a key set. */
export interface SigningKeys {
  readonly select: KeySelector
  readonly unusable: readonly UnusableKey[]
}

/**
 * Imports the entries of a key set (RFC 7517, 5). An unusable entry does not affect the others. Entries for
 * other purposes, such as encryption or other algorithms, are skipped and not reported.
 */
export async function readSigningKeys(entries: readonly unknown[]): Promise<SigningKeys> {
  const checked = await Promise.all(entries.map(checkEntry))
  return {
    select: createKeySelector({ keys: checked.flatMap(({ jwk }) => jwk ?? []) }),
    unusable: checked.flatMap(({ unusable }) => unusable ?? []),
  }
}

async function checkEntry(entry: unknown): Promise<{ readonly jwk?: JWK; readonly unusable?: UnusableKey }> {
  if (!isJwk(entry)) return { unusable: { kid: undefined, reason: 'it is not an object' } }
  const algorithm = algorithmOf(entry)
  if (algorithm === undefined) return {}
  const reason = await findFault(entry, algorithm)
  if (reason === undefined) return { jwk: entry }
  return { unusable: { kid: typeof entry.kid === 'string' ? entry.kid : undefined, reason } }
}

const isJwk = (entry: unknown): entry is JWK =>
  typeof entry === 'object' && entry !== null && !Array.isArray(entry)

/** Returns the algorithm of a key by its type, or undefined for a key that has another purpose. */
function algorithmOf({ kty, crv, use = 'sig', alg }: JWK): 'RS256' | 'ES256' | undefined {
  const algorithm = kty === 'RSA' ? 'RS256' : kty === 'EC' && crv === 'P-256' ? 'ES256' : undefined
  return use === 'sig' && (alg ?? algorithm) === algorithm ? algorithm : undefined
}

async function findFault(jwk: JWK, algorithm: string): Promise<string | undefined> {
  const { key_ops: operations } = jwk
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return 'its key_ops do not include verify'
  try {
    const key = await importJWK(jwk, algorithm)
    if (key instanceof Uint8Array || key.type !== 'public') return 'it is not a public key'
    const { modulusLength = MIN_RSA_BITS } = KeyObject.from(key).asymmetricKeyDetails ?? {}
    return modulusLength < MIN_RSA_BITS
      ? `it has ${modulusLength} bits; at least ${MIN_RSA_BITS} are required`
      : undefined
  } catch {
    return 'it is malformed'
  }
}

function createKeySelector(keySet: JSONWebKeySet): KeySelector {
  const resolve = createLocalJWKSet(keySet)
  return async header => {
    try {
      return [KeyObject.from(await resolve(header))]
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return []
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      const keys: KeyObject[] = []
      for await (const key of error) keys.push(KeyObject.from(key))
      return keys
    }
  }
}
