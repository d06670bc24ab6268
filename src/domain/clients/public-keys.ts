/** A JSON Web Key Set with public keys. */
export interface PublicKeys {
  readonly keys: readonly object[]
}

/** Members of a JSON Web Key that are secret (RFC 7518, 6). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']

/**
 * Returns the key set of a JSON value, which may be a single key. Returns undefined unless all keys are public
 * RSA or EC P-256 keys.
 */
export function readPublicKeys(json: unknown): PublicKeys | undefined {
  const keys: unknown = typeof json === 'object' && json !== null && 'keys' in json ? json.keys : [json]
  return Array.isArray(keys) && keys.length > 0 && keys.every(isPublicKey) ? { keys } : undefined
}

const isPublicKey = (key: unknown): boolean =>
  typeof key === 'object' &&
  key !== null &&
  'kty' in key &&
  (key.kty === 'RSA' || (key.kty === 'EC' && 'crv' in key && key.crv === 'P-256')) &&
  !PRIVATE_MEMBERS.some(member => member in key)
