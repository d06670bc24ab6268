import { setTimeout as wait } from 'node:timers/promises'
import type { StatementExecutor } from '../../data/sql/statement.js'
import { logDelivery } from '../../data/webhooks/delivery-log.js'
import type { LeasedWebhook, LeaseStore } from '../../data/webhooks/lease-store.js'
import type { Actor } from '../../domain/actor.js'
import { createMessage, type WebhookMessage } from '../../domain/webhooks/message.js'
import { delayAfterFailure } from '../../domain/webhooks/schedule.js'
import type { EventBatch, EventReader } from './event-reader.js'
import { createHeaders, SECRET_UNREADABLE } from './headers.js'
import { postToReceiver, type ReceiverResponse } from './post.js'

/** The result of an attempt, for the log and the metrics. */
export interface AttemptReport {
  readonly webhook: LeasedWebhook
  /** The feed that restricts the client. */
  readonly feed: string | undefined
  readonly isDelivered: boolean
  readonly status: number | undefined
  readonly reason: string | undefined
  readonly events: number
  readonly lastEvent: string
  readonly attempt: number
  readonly durationMs: number
  /** The state of the webhook afterwards. Undefined if another process or a command has taken over. */
  readonly state: 'active' | 'ended' | 'failed' | undefined
}

/** Settings of attempts. */
export interface AttemptSettings {
  /** WEBHOOK_PRIVATE_ADDRESSES. */
  readonly allowsPrivate: boolean
  /** WEBHOOK_TIMEOUT_MS. */
  readonly timeoutMs: number
  /** WEBHOOK_RETRY_HOURS. */
  readonly retrySeconds: number
}

/** Dependencies of a delivery. */
export interface DeliveryDependencies {
  readonly store: LeaseStore
  readonly executor: StatementExecutor
  readonly readNext: EventReader['next']
  readonly settings: AttemptSettings
  readonly decrypt: (encrypted: string) => Promise<string | undefined>
  /** Returns the current rights of the client, or undefined if it may not receive events. */
  readonly findActor: () => Actor | undefined
  /** Aborts when the delivery must end after its current attempt, for example because the service stops. */
  readonly signal: AbortSignal
  /**
   * Aborts when the current attempt must be aborted: the lease is lost, or the client may no longer receive
   * events.
   */
  readonly abortSignal: AbortSignal
  /** Returns true while no other process can hold the lease. */
  readonly isLeaseValid: () => boolean
  readonly onAttempt: (report: AttemptReport) => void
}

/**
 * Wait before a webhook without new events is checked again, in ms. It limits the number of reads in a
 * busy market.
 */
const IDLE_MS = 1000
/** Wait after a message, so that events in quick succession share the next one. */
const PAUSE_MS = 200
/** Wait while the client may not receive events, or its rights are unknown. */
const REFUSED_MS = 1000
/** Attempts to record a response, and the wait between them, for short outages of the database. */
const RECORD_ATTEMPTS = 10
const RECORD_WAIT_MS = 1000
const NOT_RECORDED = 'not recorded: another process or a command had taken over'

/** Sends the events of one webhook, message by message, until there are no more or an attempt fails. */
export class WebhookDelivery {
  readonly #webhook: LeasedWebhook
  readonly #dependencies: DeliveryDependencies
  #position: string
  #batch: LeasedWebhook['batch']
  #feed: string | undefined

  constructor(webhook: LeasedWebhook, dependencies: DeliveryDependencies) {
    this.#webhook = webhook
    this.#dependencies = dependencies
    this.#position = webhook.position
    this.#batch = webhook.batch
  }

  /** Runs the delivery. Rejects if the database is unavailable; the lease then expires. */
  async run(): Promise<void> {
    const { store, signal } = this.#dependencies
    let failedAttempts = this.#webhook.failedAttempts
    let pauseMs = IDLE_MS
    while (!signal.aborted) {
      const actor = this.#dependencies.findActor()
      if (!actor) return this.#release(REFUSED_MS)
      this.#feed = actor.feed?.name
      const next = await this.#dependencies.readNext(this.#position, this.#batch, actor)
      if (next.kind === 'lost') return store.stop(this.#lease, 'lost', next.reason)
      if (next.kind === 'batch') {
        if (!(await this.#send(next.batch, failedAttempts))) return
        failedAttempts = 0
        pauseMs = PAUSE_MS
      } else if (!(await this.#advance(next.position, next.kind === 'dropped'))) return
      if (next.kind === 'none' && next.isEnd) return this.#release(pauseMs)
    }
    await this.#release(0)
  }

  get #lease() {
    return this.#webhook.lease
  }

  #release(delayMs: number): Promise<void> {
    return this.#dependencies.store.release(this.#lease, this.#batch ? undefined : this.#position, delayMs)
  }

  /** Advances past events that are not for the receiver. Returns false if the lease was lost. */
  async #advance(position: string, isDropped: boolean): Promise<boolean> {
    const isHeld =
      (!isDropped && !this.#batch) || (await this.#dependencies.store.dropBatch(this.#lease, position))
    this.#position = position
    this.#batch = undefined
    return isHeld
  }

  /** Makes one attempt. Returns true if the batch was delivered and the position has moved. */
  async #send(batch: EventBatch, failedAttempts: number): Promise<boolean> {
    const { store, isLeaseValid, abortSignal: signal } = this.#dependencies
    const message = createMessage(
      { webhookId: this.#lease.webhookId, logId: this.#webhook.logId },
      batch.events,
    )
    const start = await store.startAttempt(this.#lease, batch)
    if (!start) return false
    this.#batch = batch
    const headers = await createHeaders(message, { ...this.#webhook, ...start }, this.#dependencies.decrypt)
    if (!headers) {
      await store.stop(this.#lease, 'failed', SECRET_UNREADABLE)
      return false
    }
    const startedAt = performance.now()
    if (signal.aborted || !isLeaseValid()) return true
    const { url } = this.#webhook
    const response = await postToReceiver({
      url,
      headers,
      body: message.body,
      signal,
      ...this.#dependencies.settings,
    })
    const attempt = {
      message,
      batch,
      response,
      attempt: failedAttempts + 1,
      durationMs: performance.now() - startedAt,
    }
    if (response.status !== undefined || !signal.aborted) return this.#record(attempt)
    // An attempt that the service itself has aborted does not count as a failure of the receiver.
    await this.#report(attempt, { isDelivered: false, state: 'active', reason: response.reason })
    return true
  }

  async #record(attempt: Attempt): Promise<boolean> {
    const { batch, response } = attempt
    const isDelivered = response.status !== undefined && response.status >= 200 && response.status < 300
    const reason = isDelivered ? undefined : describeResponse(response)
    const state = await this.#recordState(attempt, isDelivered, reason)
    await this.#report(attempt, {
      isDelivered,
      state,
      reason: isDelivered && state === undefined ? NOT_RECORDED : reason,
    })
    if (!isDelivered || state === undefined) return false
    this.#position = batch.position
    this.#batch = undefined
    return true
  }

  async #report(
    { message, batch, response, attempt, durationMs }: Attempt,
    result: Pick<AttemptReport, 'isDelivered' | 'state' | 'reason'>,
  ): Promise<void> {
    const { state, ...rest } = result
    const report = {
      ...rest,
      status: response.status,
      events: batch.events.length,
      lastEvent: batch.events.at(-1)?.sequence ?? '',
      attempt,
      durationMs,
    }
    this.#dependencies.onAttempt({ webhook: this.#webhook, feed: this.#feed, state, ...report })
    await logDelivery(this.#dependencies.executor, {
      webhookId: this.#lease.webhookId,
      messageId: message.id,
      firstEvent: batch.events[0]?.sequence ?? '',
      ...report,
    })
  }

  /**
   * Records a response. Retries while the database is unavailable, because the batch would otherwise be sent
   * again.
   */
  async #recordState(
    { batch, response, attempt }: Attempt,
    isDelivered: boolean,
    reason = '',
  ): Promise<AttemptReport['state']> {
    const { store, settings } = this.#dependencies
    const record = async (): Promise<AttemptReport['state']> => {
      if (isDelivered)
        return (await store.acknowledge(this.#lease, batch, batch.insideKeys)) ? 'active' : undefined
      if (response.status === 410) {
        await store.stop(this.#lease, 'ended', reason)
        return 'ended'
      }
      const retryAfterMs = response.status === undefined ? undefined : response.retryAfterMs
      const delayMs = delayAfterFailure(attempt, retryAfterMs)
      return store.fail(this.#lease, { reason, delayMs, retrySeconds: settings.retrySeconds })
    }
    for (let tries = 1; ; tries++) {
      try {
        return await record()
      } catch (error) {
        if (tries === RECORD_ATTEMPTS) throw error
        await wait(RECORD_WAIT_MS)
      }
    }
  }
}

interface Attempt {
  readonly message: WebhookMessage
  readonly batch: EventBatch
  readonly response: ReceiverResponse
  readonly attempt: number
  readonly durationMs: number
}

/** Returns the reason why a response is not a success. */
export function describeResponse(response: ReceiverResponse): string {
  if (response.status === undefined) return response.reason
  if (response.status >= 300 && response.status < 400)
    return `answered ${response.status}: redirects are not followed, change the URL`
  return `answered ${response.status}`
}
