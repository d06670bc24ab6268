import { createPublicKey } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { BackgroundLogger } from '../../data/background-error.js'
import { listenForNotifications } from '../../data/changes/listen.js'
import { type ClientChanges, readClientChanges, type StoredFeed } from '../../data/clients/client-changes.js'
import type { Database } from '../../data/database.js'
import type { Client } from '../../domain/clients/client.js'
import type { ClientDirectory, SigningKey } from '../../domain/clients/directory.js'
import type { Feed } from '../../domain/feeds/feed.js'
import { fail, messageOf, withCause } from '../../errors/problem.js'
import { compileFeedFilter, FeedChangeError } from '../feeds/feed-filter.js'
import { runSoldPriceJob } from '../feeds/sold-price-job.js'

/** The channel that the triggers of the client tables notify. */
const CHANNEL = 'client_change'
/** Interval between two reads. Notifications cause additional ones. */
const POLL_INTERVAL_MS = 1000
/** Maximum age of the last read. After that, clients are refused. */
const MAX_AGE_MS = 30_000

/**
 * Follows the registered clients of a database from the first use. Changes are found by their version, so a
 * poll that finds none reads four index pages.
 */
export class DatabaseClientDirectory implements ClientDirectory {
  readonly #database: Pick<Database, 'queryControl' | 'clientConfig' | 'kind'>
  #logger: BackgroundLogger = { warn: () => undefined, error: () => undefined }
  readonly #clients = new Map<string, Client>()
  readonly #keys = new Map<string, SigningKey>()
  /** Feeds by name. A feed whose filter does not compile is left out. */
  readonly #feeds = new Map<string, Feed>()
  /** Expiration times of revoked tokens, by issuer and id. */
  readonly #revoked = new Map<string, number>()
  readonly #listeners = new Set<() => void>()
  readonly #closing = new AbortController()
  #version = '0'
  #readAt = Number.NEGATIVE_INFINITY
  #isStale = false
  #opening: Promise<void> | undefined
  #reading: Promise<void> | undefined
  #isReadWanted = false

  constructor(database: Pick<Database, 'queryControl' | 'clientConfig' | 'kind'>) {
    this.#database = database
  }

  ready(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw withCause({ kind: 'Unavailable', reason: 'clients' }, error)
    })
    return this.#opening
  }

  find(id: string): Client | undefined {
    this.#checkAge()
    return this.#clients.get(id)
  }

  findFeed(name: string): Feed | undefined {
    this.#checkAge()
    return this.#feeds.get(name)
  }

  #checkAge(): void {
    if (performance.now() - this.#readAt > MAX_AGE_MS) fail({ kind: 'Unavailable', reason: 'clients' })
  }

  isRevoked(issuer: string, tokenId: string): boolean {
    return this.#revoked.has(revocationKey(issuer, tokenId))
  }

  signingKeys(): readonly SigningKey[] {
    return [...this.#keys.values()].sort((a, b) => a.signsFrom - b.signsFrom || (a.id < b.id ? -1 : 1))
  }

  findKey(id: string): SigningKey | undefined {
    return this.#keys.get(id)
  }

  /** A read in progress may have begun before the caller's change, so another one follows. */
  async refresh(maxAgeMs = 0): Promise<void> {
    if (performance.now() - this.#readAt < maxAgeMs) return
    await this.#reading?.catch(() => undefined)
    await this.#read()
  }

  subscribe(listener: () => void): () => void {
    // Two subscribers may pass the same function.
    const subscription = () => listener()
    this.#listeners.add(subscription)
    return () => this.#listeners.delete(subscription)
  }

  /**
   * Starts the background work: logs unusable feeds, and shows sold prices when they are due. Returns the
   * directory.
   */
  start(logger: BackgroundLogger): this {
    this.#logger = logger
    void runSoldPriceJob(this.#database, logger, this.#closing.signal)
    return this
  }

  /** Stops following the database. */
  close(): void {
    this.#closing.abort()
  }

  async #open(): Promise<void> {
    await this.#read()
    const { signal } = this.#closing
    void this.#poll(signal)
    if (this.#database.kind === 'server')
      void listenForNotifications(this.#database, CHANNEL, () => this.#scheduleRead(), signal)
  }

  async #poll(signal: AbortSignal): Promise<void> {
    while (await wait(POLL_INTERVAL_MS, true, { ref: false, signal }).catch(() => false)) {
      await this.#read().catch(() => undefined)
      const isStale = performance.now() - this.#readAt > MAX_AGE_MS
      if (isStale && !this.#isStale) this.#notify()
      this.#isStale = isStale
    }
  }

  /** Reads after a notification. Notifications during a read cause one more read. */
  #scheduleRead(): void {
    if (this.#isReadWanted) return
    this.#isReadWanted = true
    const finish = () => {
      this.#isReadWanted = false
    }
    void (this.#reading ?? Promise.resolve())
      .catch(() => undefined)
      .then(finish)
      .then(() => this.#read())
      .catch(() => undefined)
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readChanges().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readChanges(): Promise<void> {
    const startedAt = performance.now()
    const changes = await readClientChanges(this.#database, this.#version)
    this.#readAt = startedAt
    this.#dropExpired()
    if (changes.version === this.#version) return
    this.#apply(changes)
    this.#notify()
  }

  #apply({ version, clients, keys, revoked, feeds }: ClientChanges): void {
    this.#version = version
    // A new feed can have the name of a removed one.
    for (const { name, isRemoved } of feeds) if (isRemoved) this.#feeds.delete(name)
    for (const feed of feeds) if (!feed.isRemoved) this.#applyFeed(feed)
    for (const client of clients) this.#clients.set(client.id, client)
    for (const { isWithdrawn, ...key } of keys) {
      if (isWithdrawn) this.#keys.delete(key.id)
      else
        this.#keys.set(key.id, { ...key, publicKey: createPublicKey({ key: key.publicJwk, format: 'jwk' }) })
    }
    for (const { issuer, tokenId, expiresAt } of revoked)
      this.#revoked.set(revocationKey(issuer, tokenId), expiresAt)
  }

  #applyFeed(feed: StoredFeed): void {
    try {
      if (compileFeedFilter(feed.filter) !== feed.filterSql)
        throw new FeedChangeError(
          `The filter was compiled by another version: npm run feeds -- refresh ${feed.name}`,
        )
      this.#feeds.set(feed.name, feed)
    } catch (error) {
      this.#feeds.delete(feed.name)
      this.#logger.error({ feed: feed.name, reason: messageOf(error) }, 'the clients of a feed are refused')
    }
  }

  #dropExpired(): void {
    const now = Date.now()
    for (const [key, expiresAt] of this.#revoked)
      if (expiresAt + MAX_AGE_MS * 2 < now) this.#revoked.delete(key)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

const revocationKey = (issuer: string, tokenId: string): string => `${tokenId} ${issuer}`
