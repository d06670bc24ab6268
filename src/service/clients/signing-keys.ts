import type { KeyObject } from 'node:crypto'
import {
  CompactEncrypt,
  type CryptoKey,
  calculateJwkThumbprint,
  compactDecrypt,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { insertSigningKey } from '../../data/clients/signing-key-store.js'
import type { Database } from '../../data/database.js'
import type { Author } from '../../domain/actor.js'
import type { ClientDirectory, SigningKey } from '../../domain/clients/directory.js'

/** Algorithm of the keys. */
const ALGORITHM = 'ES256'
/**
 * Time for which a new key is published before it signs. Verifiers that read the key set every few minutes have
 * it by then.
 */
const PUBLICATION_SECONDS = 600
/** Allowance for differing clocks. */
const MARGIN_MS = 60_000

/** The key that signs now. */
export interface CurrentSigningKey {
  readonly id: string
  readonly privateKey: CryptoKey
}

/** Dependencies of the signing keys. */
export interface SigningKeyServiceDependencies {
  readonly database: Pick<Database, 'withClient'>
  readonly directory: ClientDirectory
  /** Encrypts the private keys in the database. */
  readonly encryptionKey: KeyObject
  readonly tokenLifetimeMs: number
}

/**
 * The keys that sign access tokens. They are stored in the database for all processes, so a rotation needs no
 * restart. The newest key whose start time has passed signs.
 */
export class SigningKeyService {
  readonly #dependencies: SigningKeyServiceDependencies
  /** Decrypted keys by id. Undefined if encrypted with another TOKEN_KEY. */
  readonly #privateKeys = new Map<string, CryptoKey | undefined>()

  constructor(dependencies: SigningKeyServiceDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the key that signs now. The first call for a database creates it. */
  async current(): Promise<CurrentSigningKey> {
    const { directory } = this.#dependencies
    await directory.ready()
    const found = await this.#findCurrent()
    if (found) return found
    await this.#createFirst()
    await directory.refresh()
    const created = await this.#findCurrent()
    if (!created) throw new Error('The new signing key is not in the directory')
    return created
  }

  /**
   * Returns the keys that verifiers need: the current and future keys, and older ones until their last token
   * has expired.
   */
  async published(): Promise<readonly SigningKey[]> {
    await this.current()
    const keys = this.#dependencies.directory.signingKeys()
    const now = Date.now()
    const outdatedBefore = now - this.#dependencies.tokenLifetimeMs - MARGIN_MS
    const lastOutdating = keys.findLastIndex(key => key.signsFrom < outdatedBefore)
    return keys.slice(Math.max(0, lastOutdating))
  }

  async #findCurrent(): Promise<CurrentSigningKey | undefined> {
    const now = Date.now()
    for (const key of this.#dependencies.directory.signingKeys().toReversed()) {
      const privateKey = key.signsFrom <= now + MARGIN_MS / 60 ? await this.#decrypt(key) : undefined
      if (privateKey) return { id: key.id, privateKey }
    }
    return undefined
  }

  async #decrypt({ id, encryptedPrivateKey }: SigningKey): Promise<CryptoKey | undefined> {
    if (this.#privateKeys.has(id)) return this.#privateKeys.get(id)
    const privateKey = await decryptPrivateKey(encryptedPrivateKey, this.#dependencies.encryptionKey)
    this.#privateKeys.set(id, privateKey)
    return privateKey
  }

  async #createFirst(): Promise<void> {
    const { database, encryptionKey } = this.#dependencies
    const unusable = [...this.#privateKeys].flatMap(([id, key]) => (key ? [] : [id]))
    await insertSigningKey(
      database,
      { ...(await generateSigningKey(encryptionKey)), signsInSeconds: 0 },
      { kind: 'usable', except: unusable },
    )
  }
}

/**
 * Adds a key that signs after ten minutes of publication. With `isUrgent` it signs immediately, and all other
 * keys and their tokens are withdrawn. Returns false if another new key is pending.
 */
export async function rotateSigningKey(
  database: Pick<Database, 'withClient'>,
  encryptionKey: KeyObject,
  { actor, isUrgent }: { readonly actor: Author; readonly isUrgent: boolean },
): Promise<boolean> {
  return insertSigningKey(
    database,
    {
      ...(await generateSigningKey(encryptionKey)),
      signsInSeconds: isUrgent ? 0 : PUBLICATION_SECONDS,
    },
    { kind: isUrgent ? 'none' : 'pending' },
    { actor, action: isUrgent ? 'key.replace' : 'key.rotate' },
  )
}

async function generateSigningKey(encryptionKey: KeyObject) {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  const publicJwk = await exportJWK(publicKey)
  const id = await calculateJwkThumbprint(publicJwk)
  const text = JSON.stringify(await exportJWK(privateKey))
  const encryptedPrivateKey = await new CompactEncrypt(Buffer.from(text))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(encryptionKey)
  return { id, encryptedPrivateKey, publicJwk: { ...publicJwk, kid: id, alg: ALGORITHM, use: 'sig' } }
}

async function decryptPrivateKey(
  encrypted: string,
  encryptionKey: KeyObject,
): Promise<CryptoKey | undefined> {
  try {
    const { plaintext } = await compactDecrypt(encrypted, encryptionKey)
    const jwk = JSON.parse(Buffer.from(plaintext).toString('utf8')) as JWK
    const key = await importJWK(jwk, ALGORITHM)
    return key instanceof Uint8Array ? undefined : key
  } catch {
    // It was encrypted with another TOKEN_KEY.
    return undefined
  }
}
