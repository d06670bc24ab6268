import type { WebhookTarget } from '../../domain/webhooks/webhook.js'
import type { StatementExecutor } from '../sql/statement.js'

/** Duration of a lease in seconds. Holders renew it in time; after it, another process can take over. */
export const LEASE_SECONDS = 15

/**
 * A lease of a webhook. Its number is a fencing token: every write contains it, and fails if there is a
 * newer one.
 */
export interface WebhookLease {
  readonly webhookId: string
  readonly number: string
}

/** A batch that was chosen for sending. Later attempts send the same events. */
export interface StoredBatch {
  readonly sequences: readonly string[]
  /** Number of the last event that was considered for the batch. */
  readonly position: string
  /** Keys of records that are outside of the filter. */
  readonly outsideKeys: readonly string[]
  /** A hash of the rights of the client. */
  readonly rights: string
}

/** A webhook that this process serves. */
export interface LeasedWebhook extends WebhookTarget {
  readonly lease: WebhookLease
  readonly clientId: string
  readonly encryptedToken?: string
  readonly logId: string
  readonly position: string
  readonly batch?: StoredBatch
  readonly failedAttempts: number
}

/** The process that takes webhooks, and their maximum numbers. */
export interface LeaseRequest {
  readonly owner: string
  /** Webhooks whose last attempt succeeded. */
  readonly healthy: number
  /** Webhooks whose last attempt failed. */
  readonly failing: number
}

/** The webhooks that a process has taken, and the time until there is more work. */
export interface LeaseResult {
  readonly leased: readonly LeasedWebhook[]
  /** Number of webhooks in the state `active`. */
  readonly active: number
  /** Time until the next webhook is due, in ms. Undefined if none has a due time. */
  readonly dueInMs: number | undefined
}

/** Condition of all work: the webhook is active, and its client may receive events. */
const IS_ACTIVE = `w."State" = 'active' and w."RemovedTimestamp" is null and c."DisabledTimestamp" is null and c."RemovedTimestamp" is null
  and (c."ExpirationTimestamp" is null or c."ExpirationTimestamp" > clock_timestamp()) and 'listings:read' = any(c."Scopes")`
const HAS_WORK = `(w."BatchEvents" is not null or w."Position" <> e.position or w."LogId" <> e.id)`
const IS_DUE = `coalesce(greatest(w."LeaseTimestamp", w."NextAttemptTimestamp") <= clock_timestamp(), true)`
const END_OF_LOG = `select "LogId" as id, greatest("Floor" - 1, (select coalesce(max("EntityEventSequence"), 0) from "EntityEvent")) as position from "ChangeLog"`

const dueWebhooks = (condition: string, limit: string): string =>
  `select w."WebhookId" from "admin"."Webhook" w join "admin"."Client" c on c."ClientId" = w."ClientId", e
  where ${IS_ACTIVE} and ${HAS_WORK} and ${IS_DUE} and ${condition} order by w."NextAttemptTimestamp" nulls first limit ${limit}::int for update of w skip locked`

/**
 * All parts of the statement see the same snapshot, so the webhooks that it takes do not count as due.
 */
const LEASE = `with e as materialized (${END_OF_LOG}), healthy as (${dueWebhooks('w."FailedAttempts" = 0', '$3')}), failing as (${dueWebhooks('w."FailedAttempts" > 0', '$4')}),
leased as (
  update "admin"."Webhook" w set "LeaseNumber" = w."LeaseNumber" + 1, "LeaseOwner" = $1, "LeaseTimestamp" = clock_timestamp() + make_interval(secs => $2::float8)
  where w."WebhookId" in (select "WebhookId" from healthy union all select "WebhookId" from failing)
  returning json_build_object('lease', json_build_object('webhookId', w."WebhookId", 'number', w."LeaseNumber"::text), 'clientId', w."ClientId", 'url', w."Url",
    'resourceName', w."ResourceName", 'filter', w."Filter", 'source', w."Source", 'encryptedToken', w."EncryptedToken", 'logId', w."LogId", 'position', w."Position"::text,
    'batch', case when w."BatchEvents" is not null then json_build_object('sequences', w."BatchEvents"::text[], 'position', w."BatchPosition"::text,
      'outsideKeys', w."BatchOutsideKeys", 'rights', w."BatchRights") end, 'failedAttempts', w."FailedAttempts") as webhook
)
select (select coalesce(json_agg(webhook), '[]') from leased) as leased,
  (select count(*)::int from "admin"."Webhook" w where w."State" = 'active' and w."RemovedTimestamp" is null) as active,
  (select (extract(epoch from min(greatest(w."LeaseTimestamp", w."NextAttemptTimestamp")) - clock_timestamp()) * 1000)::float8
    from "admin"."Webhook" w join "admin"."Client" c on c."ClientId" = w."ClientId", e where ${IS_ACTIVE} and ${HAS_WORK}) as "dueInMs"`

const IS_HELD = `"WebhookId" = $1 and "LeaseNumber" = $2::bigint and "State" = 'active'`
const NO_BATCH = `"BatchEvents" = null, "BatchPosition" = null, "BatchOutsideKeys" = null, "BatchRights" = null`
const NO_FAILURE = `"FailedAttempts" = 0, "FailingSinceTimestamp" = null, "LastFailure" = null`

const RENEW = `update "admin"."Webhook" w set "LeaseTimestamp" = clock_timestamp() + make_interval(secs => $3::float8)
from unnest($1::text[], $2::bigint[]) as held(id, number) where w."WebhookId" = held.id and w."LeaseNumber" = held.number and w."State" = 'active' returning w."WebhookId" as id`

/** The client is checked again: it may have been disabled since the lease was taken. */
const START_ATTEMPT = `with started as (
  update "admin"."Webhook" w set "BatchEvents" = $4::bigint[], "BatchPosition" = $5::bigint, "BatchOutsideKeys" = $6::text[], "BatchRights" = $7,
    "LeaseTimestamp" = clock_timestamp() + make_interval(secs => $3::float8)
  from "admin"."Client" c where c."ClientId" = w."ClientId" and ${IS_ACTIVE} and w."WebhookId" = $1 and w."LeaseNumber" = $2::bigint returning w."WebhookId"
)
select extract(epoch from clock_timestamp())::float8 as now, (select json_agg("EncryptedSecret" order by "SecretId" desc) from "admin"."WebhookSecret" s
  where s."WebhookId" = $1 and ("ExpirationTimestamp" is null or "ExpirationTimestamp" > clock_timestamp())) as secrets from started`

const ACKNOWLEDGE = `with done as (
  update "admin"."Webhook" set "Position" = $3::bigint, ${NO_BATCH}, ${NO_FAILURE}, "NextAttemptTimestamp" = null, "LastDeliveryTimestamp" = clock_timestamp() where ${IS_HELD} returning 1
), entered as (
  delete from "admin"."WebhookOutsideKey" where "WebhookId" = $1 and "Key" = any($5::text[]) and exists (select from done)
), outside as (
  insert into "admin"."WebhookOutsideKey" ("WebhookId", "Key", "Position") select $1, key, $3::bigint from unnest($4::text[]) key where exists (select from done) on conflict do nothing
)
select from done`

const GIVES_UP = `"FailingSinceTimestamp" < clock_timestamp() - make_interval(secs => $5::float8)`
const FAIL = `update "admin"."Webhook" set "FailedAttempts" = "FailedAttempts" + 1, "FailingSinceTimestamp" = coalesce("FailingSinceTimestamp", clock_timestamp()), "LastFailure" = $3,
  "NextAttemptTimestamp" = clock_timestamp() + make_interval(secs => $4::float8), "LeaseOwner" = null, "LeaseTimestamp" = null,
  "State" = case when ${GIVES_UP} then 'failed' else 'active' end, "StateReason" = case when ${GIVES_UP} then $3 end,
  "StateTimestamp" = case when ${GIVES_UP} then clock_timestamp() else "StateTimestamp" end
where ${IS_HELD} returning "State" as state`

const STOP = `update "admin"."Webhook" set "State" = $3, "StateReason" = $4, "StateTimestamp" = clock_timestamp(), "LastFailure" = $4, "LeaseOwner" = null, "LeaseTimestamp" = null where ${IS_HELD}`

/** A batch without an attempt was not stored, so its events are chosen again. */
const RELEASE = `update "admin"."Webhook" set "LeaseOwner" = null, "LeaseTimestamp" = null, "Position" = coalesce($3::bigint, "Position"),
  "NextAttemptTimestamp" = clock_timestamp() + make_interval(secs => $4::float8) where ${IS_HELD}`

const DROP_BATCH = `update "admin"."Webhook" set "Position" = $3::bigint, ${NO_BATCH}, ${NO_FAILURE} where ${IS_HELD} returning 1`

const KNOWN_OUTSIDE = `select "Key" as key from "admin"."WebhookOutsideKey" where "WebhookId" = $1 and "Key" = any($2::text[])`

/** The start of an attempt: the time of the database, and the signing secrets. */
export interface AttemptStart {
  /** Seconds since 1970. */
  readonly now: number
  /** Encrypted secrets, the newest first. */
  readonly secrets: readonly string[]
}

interface LeaseRow {
  readonly leased: readonly (LeasedWebhook & Readonly<Record<string, unknown>>)[]
  readonly active: number
  readonly dueInMs: number | null
}

/**
 * The statements by which processes share the webhooks. They use only the clock of the database. A
 * process that was paused cannot write, because the number of its lease is no longer the newest.
 */
export class LeaseStore {
  /** @param executor does not wait for the lock of the change log, which these statements do not take */
  constructor(private readonly executor: StatementExecutor) {}

  /** Takes leases of webhooks that have work and no holder. */
  async lease({ owner, healthy, failing }: LeaseRequest): Promise<LeaseResult> {
    const [row] = await this.#query<LeaseRow>(LEASE, [owner, LEASE_SECONDS, healthy, failing])
    if (!row) throw new Error('The lease statement returned no row')
    const leased = row.leased.map(webhook => withoutNulls(webhook) as unknown as LeasedWebhook) // members that are null are optional
    return { leased, active: row.active, dueInMs: row.dueInMs ?? undefined }
  }

  /** Renews leases. Returns the ids of the webhooks that this process still holds. */
  async renew(leases: readonly WebhookLease[]): Promise<ReadonlySet<string>> {
    const values = [leases.map(lease => lease.webhookId), leases.map(lease => lease.number), LEASE_SECONDS]
    return new Set((await this.#query<{ readonly id: string }>(RENEW, values)).map(({ id }) => id))
  }

  /**
   * Stores the batch and renews the lease. Returns undefined if the lease was lost, or if the client may not
   * receive events.
   */
  async startAttempt(lease: WebhookLease, batch: StoredBatch): Promise<AttemptStart | undefined> {
    const values = [LEASE_SECONDS, batch.sequences, batch.position, batch.outsideKeys, batch.rights]
    const [row] = await this.#query<{ readonly now: number; readonly secrets: readonly string[] | null }>(
      START_ATTEMPT,
      [lease.webhookId, lease.number, ...values],
    )
    return row && { now: row.now, secrets: row.secrets ?? [] }
  }

  /** Advances the position past a delivered batch. Returns false if the lease was lost. */
  acknowledge(lease: WebhookLease, batch: StoredBatch, insideKeys: readonly string[]): Promise<boolean> {
    return this.#write(ACKNOWLEDGE, lease, batch.position, batch.outsideKeys, insideKeys)
  }

  /**
   * Advances the position past a stored batch without events that the client may receive. Returns false if
   * the lease was lost.
   */
  dropBatch(lease: WebhookLease, position: string): Promise<boolean> {
    return this.#write(DROP_BATCH, lease, position)
  }

  /**
   * Records a failed attempt and ends the lease. After `retrySeconds` of failures the state is `failed`. Returns the
   * state, or undefined if the lease was lost.
   */
  async fail(
    lease: WebhookLease,
    failure: { readonly reason: string; readonly delayMs: number; readonly retrySeconds: number },
  ): Promise<'active' | 'failed' | undefined> {
    const values = [failure.reason, failure.delayMs / 1000, failure.retrySeconds]
    const rows = await this.#query<{ readonly state: 'active' | 'failed' }>(FAIL, [
      lease.webhookId,
      lease.number,
      ...values,
    ])
    return rows[0]?.state
  }

  /** Stops the webhook until a command resumes it. */
  async stop(lease: WebhookLease, state: 'ended' | 'failed' | 'lost', reason: string): Promise<void> {
    await this.#write(STOP, lease, state, reason)
  }

  /** Ends the lease. No event up to `position` is for the receiver. */
  async release(lease: WebhookLease, position: string | undefined, delayMs: number): Promise<void> {
    await this.#write(RELEASE, lease, position ?? null, delayMs / 1000)
  }

  /** Returns the keys of which the receiver already has an event from outside of the filter. */
  async knownOutside(webhookId: string, keys: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#query<{ readonly key: string }>(KNOWN_OUTSIDE, [webhookId, keys])
    return new Set(rows.map(({ key }) => key))
  }

  async #write(text: string, lease: WebhookLease, ...values: readonly unknown[]): Promise<boolean> {
    return (await this.#query(text, [lease.webhookId, lease.number, ...values])).length > 0
  }

  #query<T>(text: string, values: readonly unknown[]): Promise<readonly T[]> {
    return this.executor.query<T>({ text, values }, 'generic')
  }
}

const withoutNulls = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
