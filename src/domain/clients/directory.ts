import type { JsonWebKey, KeyObject } from 'node:crypto'
import type { Feed } from '../feeds/feed.js'
import type { Client } from './client.js'

/** A key that signs access tokens of the service. */
export interface SigningKey {
  readonly id: string
  readonly publicKey: KeyObject
  readonly publicJwk: JsonWebKey
  /** The private key, encrypted. */
  readonly encryptedPrivateKey: string
  /** The time from which the key signs, unless a newer key does (ms since 1970). */
  readonly signsFrom: number
}

/**
 * A copy of the clients, feeds, signing keys and revoked tokens of the database in this process. A change in
 * the database reaches every process within two seconds.
 */
export interface ClientDirectory {
  /**
   * Resolves when the directory has been read.
   * @throws ProblemError Unavailable 'clients' while the database has never been read
   */
  ready(): Promise<void>
  /**
   * Returns a client. A changed client is another object.
   * @throws ProblemError Unavailable 'clients' if the database could not be read for 30 s
   */
  find(id: string): Client | undefined
  /**
   * Returns a usable feed, or undefined. A changed feed is another object.
   * @throws ProblemError Unavailable 'clients' if the database could not be read for 30 s
   */
  findFeed(name: string): Feed | undefined
  isRevoked(issuer: string, tokenId: string): boolean
  /** Returns the keys that were not withdrawn. The newest one is the last. */
  signingKeys(): readonly SigningKey[]
  /** Returns a key that was not withdrawn. */
  findKey(id: string): SigningKey | undefined
  /** Reads changes now, unless the last read began less than `maxAgeMs` ago. */
  refresh(maxAgeMs?: number): Promise<void>
  /**
   * Calls `listener` after each change, and when the directory has become unusable. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: () => void): () => void
}
