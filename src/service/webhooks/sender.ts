import type { KeyObject } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { ChangeFeed } from '../../data/changes/change-feed.js'
import type { Database } from '../../data/database.js'
import { Semaphore } from '../../data/semaphore.js'
import { cleanDeliveryLog } from '../../data/webhooks/delivery-log.js'
import {
  LEASE_SECONDS,
  type LeasedWebhook,
  LeaseStore,
  type WebhookLease,
} from '../../data/webhooks/lease-store.js'
import type { Actor } from '../../domain/actor.js'
import { type Client, isActive } from '../../domain/clients/client.js'
import type { ClientDirectory } from '../../domain/clients/directory.js'
import { RequestScope } from '../../domain/request-scope.js'
import { ProblemError } from '../../errors/problem.js'
import { AutoResetEvent } from '../auto-reset-event.js'
import { decryptText } from './encryption.js'
import { EventReader, type EventReaderDependencies } from './event-reader.js'
import { type AttemptReport, type AttemptSettings, WebhookDelivery } from './webhook-delivery.js'

/** Dependencies of the sender. */
export interface SenderDependencies extends EventReaderDependencies {
  readonly database: Pick<Database, 'reader' | 'executorsFor'>
  readonly poolSize: number
  readonly feed: ChangeFeed
  readonly directory: ClientDirectory
  /** Returns the rights of a stored client. Throws if they cannot be determined. */
  readonly toActor: (client: Client) => Actor
  /** Decrypts secrets and tokens. */
  readonly encryptionKey: KeyObject
  readonly settings: AttemptSettings
  /** WEBHOOK_LOG_DAYS. */
  readonly logDays: number
  readonly onAttempt: (report: AttemptReport) => void
  /** Reports an internal error. The webhook is tried again. */
  readonly onFault: (error: unknown, webhook: LeasedWebhook | undefined) => void
}

/**
 * Maximum number of webhooks that this process serves at the same time. Each has one message in memory
 * and at most one connection. Webhooks whose last attempt failed are counted separately, so that
 * receivers that do not answer cannot delay the others.
 */
const MAX_HEALTHY_DELIVERIES = 200
const MAX_FAILING_DELIVERIES = 100
/** Interval of the checks for work without a notification. */
const POLL_MS = 2000
/** Minimum time between two checks. */
const MIN_POLL_MS = 100
const RENEW_MS = 4000
/**
 * A lease counts as lost this long before it ends, to allow for the duration of the statement that took it.
 */
const LEASE_MARGIN_MS = 2000
const VALID_MS = LEASE_SECONDS * 1000 - LEASE_MARGIN_MS
const CLEAN_INTERVAL_MS = 3_600_000
const FIRST_CLEAN_MS = 60_000

/** A webhook that this process serves. */
interface RunningDelivery {
  readonly webhook: LeasedWebhook
  readonly controller: AbortController
  readonly done: Promise<void>
  /** `performance.now()` until which no other process can hold the lease. */
  validUntil: number
}

/**
 * Sends the events of webhooks. All processes of a service run one; they share the work by leases in the database.
 */
export class WebhookSender {
  readonly #dependencies: SenderDependencies
  readonly #store: LeaseStore
  readonly #deliveries = new Map<string, RunningDelivery>()
  readonly #signal = new AutoResetEvent()
  readonly #stopping = new AbortController()
  readonly #closed = new AbortController()
  readonly #actors = new WeakMap<Client, Actor>()
  /** Limits concurrent reads of events to a quarter of the connections, so that requests need not wait. */
  readonly #reads: Semaphore
  readonly #owner = `${hostname()} ${process.pid}`
  #unfollow: (() => void) | undefined
  #running: Promise<void> | undefined
  #cleanAt = performance.now() + FIRST_CLEAN_MS

  constructor(dependencies: SenderDependencies) {
    this.#dependencies = dependencies
    this.#store = new LeaseStore(dependencies.database.reader)
    this.#reads = new Semaphore(Math.max(1, Math.floor(dependencies.poolSize / 4)))
  }

  /** Starts sending. */
  start(): void {
    if (this.#running) return
    this.#running = this.#pollForWork()
    void this.#renewLeases()
  }

  /** Stops taking webhooks. Running attempts may finish. */
  stop(): void {
    this.#stopping.abort()
    this.#unfollow?.()
    this.#unfollow = undefined
  }

  /** Lets running attempts finish, aborts them after `timeoutMs`, and ends all leases. */
  async close(timeoutMs: number): Promise<void> {
    this.stop()
    const timer = setTimeout(() => {
      for (const { controller } of this.#deliveries.values()) controller.abort()
    }, timeoutMs)
    await this.#running
    await Promise.all([...this.#deliveries.values()].map(({ done }) => done))
    clearTimeout(timer)
    this.#closed.abort()
  }

  /** Checks for work after each notification, when the next attempt is due, and at the poll interval. */
  async #pollForWork(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const dueInMs = await this.#lease().catch((error: unknown) => {
        this.#dependencies.onFault(error, undefined)
        return undefined
      })
      await this.#clean()
      await wait(MIN_POLL_MS, undefined, { signal }).catch(() => undefined)
      await this.#signal.wait(signal, Math.max(0, Math.min(dueInMs ?? POLL_MS, POLL_MS) - MIN_POLL_MS))
    }
  }

  /** Takes leases of webhooks that have work. Returns the time until the next one is due, in ms. */
  async #lease(): Promise<number | undefined> {
    const startedAt = performance.now()
    const failing = [...this.#deliveries.values()].filter(({ webhook }) => webhook.failedAttempts > 0).length
    const { leased, active, dueInMs } = await this.#store.lease({
      owner: this.#owner,
      healthy: MAX_HEALTHY_DELIVERIES - (this.#deliveries.size - failing),
      failing: MAX_FAILING_DELIVERIES - failing,
    })
    if (active > 0) await this.#follow()
    else this.#unfollow = void this.#unfollow?.()
    for (const webhook of leased) this.#startDelivery(webhook, startedAt)
    return dueInMs
  }

  /** Follows the change log and the clients while there are webhooks. */
  async #follow(): Promise<void> {
    const { feed, directory } = this.#dependencies
    await directory.ready()
    if (this.#unfollow || this.#stopping.signal.aborted) return
    const stopFeed = feed.subscribe(() => this.#signal.notify())
    const stopDirectory = directory.subscribe(() => this.#abortRefused())
    this.#unfollow = () => {
      stopFeed()
      stopDirectory()
    }
  }

  #startDelivery(webhook: LeasedWebhook, leasedAt: number): void {
    const controller = new AbortController()
    const delivery: RunningDelivery = {
      webhook,
      controller,
      validUntil: leasedAt + VALID_MS,
      done: Promise.resolve()
        .then(() => this.#createDelivery(webhook, delivery).run())
        .catch((error: unknown) => this.#dependencies.onFault(error, webhook))
        .finally(() => {
          this.#deliveries.delete(keyOf(webhook.lease))
          this.#signal.notify()
        }),
    }
    this.#deliveries.set(keyOf(webhook.lease), delivery)
  }

  #createDelivery(webhook: LeasedWebhook, delivery: RunningDelivery): WebhookDelivery {
    const { database, encryptionKey, settings, onAttempt } = this.#dependencies
    const scope = new RequestScope(`client_id ${webhook.clientId}`)
    const reader = new EventReader(
      this.#dependencies,
      database.executorsFor(scope).reader,
      this.#store,
      webhook,
    )
    return new WebhookDelivery(webhook, {
      store: this.#store,
      executor: database.reader,
      readNext: (...position) => this.#reads.run(() => reader.next(...position)),
      settings,
      decrypt: text => decryptText(text, encryptionKey),
      findActor: () => this.#findActor(webhook.clientId),
      signal: AbortSignal.any([delivery.controller.signal, this.#stopping.signal]),
      abortSignal: delivery.controller.signal,
      isLeaseValid: () => performance.now() < delivery.validUntil,
      onAttempt,
    })
  }

  /**
   * Returns the rights of a client, or undefined if it may not receive events or its rights cannot be
   * determined.
   */
  #findActor(clientId: string): Actor | undefined {
    try {
      const client = this.#dependencies.directory.find(clientId)
      const actor = client && isActive(client) ? this.#actorOf(client) : undefined
      return actor?.scopes.has('listings:read') ? actor : undefined
    } catch (error) {
      if (error instanceof ProblemError) return undefined
      throw error
    }
  }

  /** The actor is reused until the client or its feed changes. */
  #actorOf(client: Client): Actor {
    const known = this.#actors.get(client)
    const feed = client.feed === undefined ? undefined : this.#dependencies.directory.findFeed(client.feed)
    if (known && known.feed === feed) return known
    const actor = this.#dependencies.toActor(client)
    this.#actors.set(client, actor)
    return actor
  }

  /** Aborts the attempts of clients that may no longer receive events. */
  #abortRefused(): void {
    for (const { webhook, controller } of this.#deliveries.values())
      if (!this.#findActor(webhook.clientId)) controller.abort()
  }

  /** Renews the leases of running deliveries, and aborts deliveries whose lease was lost or may have ended. */
  async #renewLeases(): Promise<void> {
    while (await wait(RENEW_MS, true, { ref: false, signal: this.#closed.signal }).catch(() => false)) {
      const startedAt = performance.now()
      const deliveries = [...this.#deliveries.values()]
      if (deliveries.length === 0) continue
      const held = await this.#store
        .renew(deliveries.map(({ webhook }) => webhook.lease))
        .catch(() => undefined)
      for (const delivery of deliveries) {
        if (held?.has(delivery.webhook.lease.webhookId)) delivery.validUntil = startedAt + VALID_MS
        else if (held || performance.now() > delivery.validUntil) delivery.controller.abort()
      }
    }
  }

  async #clean(): Promise<void> {
    if (!this.#unfollow || performance.now() < this.#cleanAt) return
    this.#cleanAt = performance.now() + CLEAN_INTERVAL_MS
    await cleanDeliveryLog(this.#dependencies.database.reader, this.#dependencies.logDays).catch(
      (error: unknown) => this.#dependencies.onFault(error, undefined),
    )
  }
}

const keyOf = ({ webhookId, number }: WebhookLease): string => `${webhookId} ${number}`
