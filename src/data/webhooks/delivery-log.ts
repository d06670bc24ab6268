import type { StatementExecutor } from '../sql/statement.js'

/** One attempt to deliver a message. */
export interface DeliveryAttempt {
  readonly webhookId: string
  readonly messageId: string
  readonly firstEvent: string
  readonly lastEvent: string
  readonly events: number
  /** 1 for the first attempt of a batch. */
  readonly attempt: number
  readonly isDelivered: boolean
  /** HTTP status of the response, or undefined if there was none. */
  readonly status: number | undefined
  readonly reason: string | undefined
  readonly durationMs: number
}

/** A row of the delivery log. */
export interface DeliveryRow {
  readonly AttemptTimestamp: string
  readonly MessageId: string
  readonly FirstEvent: string
  readonly LastEvent: string
  readonly Events: number
  readonly Attempt: number
  readonly IsDelivered: boolean
  readonly Status: number | null
  readonly Reason: string | null
  readonly DurationMs: number
}

/** Maximum number of rows of one webhook, regardless of their age. */
const MAX_ROWS_PER_WEBHOOK = 10_000
/**
 * Maximum number of keys outside of the filter that are stored for one webhook. A key beyond it causes
 * one additional event.
 */
const MAX_OUTSIDE_KEYS = 10_000

const INSERT = `insert into "admin"."WebhookDelivery" ("WebhookId", "MessageId", "FirstEvent", "LastEvent", "Events", "Attempt", "IsDelivered", "Status", "Reason", "DurationMs")
select $1, $2, $3::bigint, $4::bigint, $5::int, $6::int, $7::boolean, $8::int, $9, $10::int`
const DELETE_OLD = `delete from "admin"."WebhookDelivery" where "AttemptTimestamp" < clock_timestamp() - make_interval(days => $1::int)`
const DELETE_SURPLUS = `with last as materialized (select w."WebhookId" as id, (
    select "DeliveryId" from "admin"."WebhookDelivery" l where l."WebhookId" = w."WebhookId" order by "DeliveryId" desc offset ${MAX_ROWS_PER_WEBHOOK} limit 1) as number from "admin"."Webhook" w)
delete from "admin"."WebhookDelivery" d using last where d."WebhookId" = last.id and d."DeliveryId" <= last.number`
const DELETE_OUTSIDE_KEYS = `with last as materialized (select w."WebhookId" as id, (
    select "Position" from "admin"."WebhookOutsideKey" l where l."WebhookId" = w."WebhookId" order by "Position" desc offset ${MAX_OUTSIDE_KEYS} limit 1) as position from "admin"."Webhook" w)
delete from "admin"."WebhookOutsideKey" o using last where o."WebhookId" = last.id and o."Position" <= last.position`
const SELECT = `select to_json("AttemptTimestamp") as "AttemptTimestamp", "MessageId", "FirstEvent"::text, "LastEvent"::text, "Events", "Attempt", "IsDelivered", "Status", "Reason", "DurationMs"
from "admin"."WebhookDelivery" where "WebhookId" = $1 order by "DeliveryId" desc limit $2`

/** Adds an attempt to the delivery log. */
export async function logDelivery(executor: StatementExecutor, attempt: DeliveryAttempt): Promise<void> {
  const { webhookId, messageId, firstEvent, lastEvent, events, isDelivered, status, reason, durationMs } =
    attempt
  const values = [
    webhookId, messageId, firstEvent, lastEvent, events, attempt.attempt, isDelivered, status ?? null, reason ?? null, Math.round(durationMs),
  ] // biome-ignore format: one list
  await executor.query({ text: INSERT, values }, 'generic')
}

/** Deletes old rows of the delivery log, and all but the newest keys outside of filters. */
export async function cleanDeliveryLog(executor: StatementExecutor, days: number): Promise<void> {
  await executor.query({ text: DELETE_OLD, values: [days] })
  await executor.query({ text: DELETE_SURPLUS, values: [] })
  await executor.query({ text: DELETE_OUTSIDE_KEYS, values: [] })
}

/** Returns the newest attempts of a webhook, the oldest of them first. */
export async function readDeliveries(
  reader: StatementExecutor,
  webhookId: string,
  limit: number,
): Promise<readonly DeliveryRow[]> {
  return (await reader.query<DeliveryRow>({ text: SELECT, values: [webhookId, limit] })).toReversed()
}
