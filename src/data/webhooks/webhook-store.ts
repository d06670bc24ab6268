import type { Client as Connection } from 'pg'
import type { WebhookState } from '../../domain/webhooks/webhook.js'
import type { Precondition } from '../../domain/write-shape.js'
import { AdminTransaction, runAdminTransaction } from '../clients/admin-transaction.js'
import type { Database } from '../database.js'
import type { AttemptStart } from './lease-store.js'

/** A webhook as operators see it. Only the path and the query of the URL may be secret. */
export interface WebhookDetails {
  readonly WebhookId: string
  readonly ClientId: string
  readonly ClientName: string
  /** The client is disabled, removed or expired, or has no scope listings:read: nothing is sent. */
  readonly IsClientActive: boolean
  readonly Url: string
  readonly ResourceName: string | null
  readonly Filter: string | null
  readonly Source: string | null
  readonly HasToken: boolean
  readonly State: WebhookState
  readonly StateReason: string | null
  readonly StateTimestamp: string
  readonly LogId: string
  readonly Position: number
  /** Number of events after the position, of all resources and readers. */
  readonly Lag: number
  readonly BatchEvents: readonly number[] | null
  readonly BatchPosition: number | null
  readonly FailedAttempts: number
  readonly FailingSinceTimestamp: string | null
  readonly LastFailure: string | null
  readonly NextAttemptTimestamp: string | null
  readonly LastDeliveryTimestamp: string | null
  readonly LeaseOwner: string | null
  readonly CreationTimestamp: string
  readonly RemovedTimestamp: string | null
  /** The oldest first. */
  readonly Secrets: readonly {
    readonly SecretId: string
    readonly CreationTimestamp: string
    readonly ExpirationTimestamp: string | null
  }[]
}

/** Columns of a webhook that commands set. */
export interface WebhookColumns {
  readonly ClientId?: string
  readonly Url?: string
  readonly ResourceName?: string | null
  readonly Filter?: string | null
  readonly Source?: string | null
  readonly EncryptedToken?: string | null
  readonly State?: WebhookState
  readonly StateReason?: string | null
  readonly StateTimestamp?: string
  readonly LogId?: string
  readonly Position?: string
  readonly BatchEvents?: null
  readonly BatchPosition?: null
  readonly BatchOutsideKeys?: null
  readonly BatchRights?: null
  readonly FailedAttempts?: number
  readonly FailingSinceTimestamp?: null
  readonly LastFailure?: null
  readonly NextAttemptTimestamp?: null
  readonly RemovedTimestamp?: string
}

const END_OF_LOG = `greatest("Floor" - 1, (select coalesce(max("EntityEventSequence"), 0) from "EntityEvent"))`
/** A change of the fields of a feed raises its floor. A feed does not narrow a client that may write every listing. */
const FLOOR_OF_CLIENT = `select f."LogFloor" + 1 from "admin"."Feed" f join "admin"."Client" c on c."FeedName" = f."FeedName"
  where c."ClientId" = $1 and f."RemovedTimestamp" is null and 'listings:write:any' <> all (c."Scopes")`
const SELECT_DETAILS = `select to_jsonb(w) - 'EncryptedToken' - 'BatchOutsideKeys' - 'BatchRights' - 'LeaseNumber' - 'LeaseTimestamp' - 'Version' || jsonb_build_object(
    'ClientName', c."Name", 'HasToken', w."EncryptedToken" is not null,
    'IsClientActive', c."DisabledTimestamp" is null and c."RemovedTimestamp" is null and 'listings:read' = any(c."Scopes")
      and (c."ExpirationTimestamp" is null or c."ExpirationTimestamp" > clock_timestamp()),
    'Lag', greatest(0, (select ${END_OF_LOG} from "ChangeLog") - w."Position"),
    'Secrets', coalesce((select jsonb_agg(jsonb_build_object('SecretId', "SecretId"::text, 'CreationTimestamp', "CreationTimestamp", 'ExpirationTimestamp', "ExpirationTimestamp") order by "SecretId")
      from "admin"."WebhookSecret" s where s."WebhookId" = w."WebhookId" and ("ExpirationTimestamp" is null or "ExpirationTimestamp" > clock_timestamp())), '[]')
  ) as details from "admin"."Webhook" w join "admin"."Client" c on c."ClientId" = w."ClientId"`

/** The identity and the range of the change log, for the start of a webhook. */
export interface LogRange {
  readonly id: string
  readonly floor: string
  /** The number of the last event that is committed. */
  readonly end: string
}

/**
 * Changes webhooks on one connection, within a transaction. Each change increments the lease number, so
 * that a process that is sending at the same time cannot write afterwards.
 */
export class WebhookTransaction extends AdminTransaction {
  /** Returns a webhook and locks it until the commit. */
  async lock(id: string): Promise<WebhookDetails | undefined> {
    await this.connection.query('select from "admin"."Webhook" where "WebhookId" = $1 for update', [id])
    return readDetails(this.connection, 'where "WebhookId" = $1', [id]).then(([found]) => found)
  }

  /** Fails unless the version of a webhook, which is locked, satisfies the precondition of its change. */
  check(id: string, condition: Precondition): Promise<void> {
    return this.checkRow('Webhook', 'WebhookId', id, condition)
  }

  /** Returns true if a client exists, and locks it against removal until the commit. */
  async hasClient(id: string): Promise<boolean> {
    const { rowCount } = await this.connection.query(
      'select from "admin"."Client" where "ClientId" = $1 and "RemovedTimestamp" is null for share',
      [id],
    )
    return rowCount === 1
  }

  /** Returns the webhook of a secret. */
  async webhookOf(secretId: string): Promise<string | undefined> {
    const { rows } = await this.connection.query<{ readonly id: string }>(
      'select "WebhookId" as id from "admin"."WebhookSecret" where "SecretId" = $1',
      [secretId],
    )
    return rows[0]?.id
  }

  insert(id: string, columns: WebhookColumns): Promise<void> {
    return this.insertRow('Webhook', { WebhookId: id, ...columns })
  }

  async update(id: string, columns: WebhookColumns): Promise<void> {
    const entries = Object.entries(columns)
    const assignments = entries.map(([name], i) => `, "${name}" = $${i + 2}`).join('')
    await this.connection.query(
      `update "admin"."Webhook" set "LeaseNumber" = "LeaseNumber" + 1, "LeaseOwner" = null, "LeaseTimestamp" = null${assignments} where "WebhookId" = $1`,
      [id, ...entries.map(([, value]) => value)],
    )
  }

  async addSecret(id: string, encryptedSecret: string): Promise<void> {
    await this.connection.query(
      'insert into "admin"."WebhookSecret" ("WebhookId", "EncryptedSecret") values ($1, $2)',
      [id, encryptedSecret],
    )
  }

  /**
   * Sets the expiration of all secrets except the newest one, in seconds from now. Deletes expired secrets.
   */
  async expireSecrets(id: string, seconds: number): Promise<void> {
    await this.connection.query(
      'update "admin"."WebhookSecret" set "ExpirationTimestamp" = least("ExpirationTimestamp", clock_timestamp() + make_interval(secs => $2::float8)) where "WebhookId" = $1 and "SecretId" < (select max("SecretId") from "admin"."WebhookSecret" where "WebhookId" = $1)',
      [id, seconds],
    )
    await this.connection.query(
      'delete from "admin"."WebhookSecret" where "WebhookId" = $1 and "ExpirationTimestamp" <= clock_timestamp()',
      [id],
    )
  }

  /**
   * Deletes the stored keys outside of the filter, and with `secrets` also the secrets, of a webhook.
   */
  async clear(id: string, parts: { readonly secrets: boolean }): Promise<void> {
    await this.connection.query('delete from "admin"."WebhookOutsideKey" where "WebhookId" = $1', [id])
    if (parts.secrets)
      await this.connection.query('delete from "admin"."WebhookSecret" where "WebhookId" = $1', [id])
  }

  /** Returns the range of the log that a client can read. */
  async logRange(clientId: string): Promise<LogRange> {
    const { rows } = await this.connection.query<LogRange>(
      `select "LogId" as id, greatest("Floor", (${FLOOR_OF_CLIENT}))::text as floor, ${END_OF_LOG}::text as end from "ChangeLog"`,
      [clientId],
    )
    if (!rows[0]) throw new Error('The table ChangeLog has no row')
    return rows[0]
  }
}

/** Runs changes of webhooks in one transaction. */
export const changeWebhooks = <T>(
  database: Pick<Database, 'withClient'>,
  work: (transaction: WebhookTransaction) => Promise<T>,
): Promise<T> => runAdminTransaction(database, connection => work(new WebhookTransaction(connection)))

/** Returns the webhooks of one client, or of all, in the order of their creation. */
export const readWebhooks = (
  database: Pick<Database, 'withClient'>,
  clientId?: string,
): Promise<readonly WebhookDetails[]> =>
  database.withClient(connection =>
    readDetails(
      connection,
      'where w."RemovedTimestamp" is null and ($1::text is null or w."ClientId" = $1) order by w."CreationTimestamp", w."WebhookId"',
      [clientId ?? null],
    ),
  )

/** Returns a webhook, also a removed one. */
export const findWebhook = (
  database: Pick<Database, 'withClient'>,
  id: string,
): Promise<WebhookDetails | undefined> =>
  database.withClient(connection =>
    readDetails(connection, 'where w."WebhookId" = $1', [id]).then(([found]) => found),
  )

/** The keys that a message of a webhook is signed with now, and its bearer token, all encrypted. */
export interface WebhookSignature extends AttemptStart {
  readonly encryptedToken: string | undefined
}

const SELECT_SIGNATURE = `select extract(epoch from clock_timestamp())::float8 as now, "EncryptedToken" as token,
  coalesce((select json_agg("EncryptedSecret" order by "SecretId" desc) from "admin"."WebhookSecret" s
    where s."WebhookId" = w."WebhookId" and ("ExpirationTimestamp" is null or "ExpirationTimestamp" > clock_timestamp())), '[]') as secrets
  from "admin"."Webhook" w where "WebhookId" = $1`

/** Returns the secrets of a webhook and the time of the database. */
export const readSignature = (
  database: Pick<Database, 'withClient'>,
  id: string,
): Promise<WebhookSignature | undefined> =>
  database.withClient(async connection => {
    const { rows } = await connection.query<AttemptStart & { readonly token: string | null }>(
      SELECT_SIGNATURE,
      [id],
    )
    return (
      rows[0] && { now: rows[0].now, secrets: rows[0].secrets, encryptedToken: rows[0].token ?? undefined }
    )
  })

async function readDetails(
  connection: Connection,
  clause: string,
  values: readonly unknown[],
): Promise<readonly WebhookDetails[]> {
  const { rows } = await connection.query<{ readonly details: WebhookDetails }>(
    `${SELECT_DETAILS} ${clause}`,
    [...values],
  )
  return rows.map(row => row.details)
}

/** Maximum number of lags that the metrics read. */
const MAX_LAGS = 100

/** Returns the number of webhooks by state, and the largest lags of active ones. */
export async function readWebhookUse(database: Pick<Database, 'queryControl'>): Promise<{
  readonly states: Readonly<Record<string, number>>
  readonly lags: Readonly<Record<string, number>>
}> {
  const [row] = await database.queryControl<{
    readonly states: Readonly<Record<string, number>> | null
    readonly lags: Readonly<Record<string, number>> | null
  }>({
    text: `with webhook as materialized (select * from "admin"."Webhook" where "RemovedTimestamp" is null), e as (select ${END_OF_LOG} as position from "ChangeLog")
select (select json_object_agg("State", number) from (select "State", count(*) as number from webhook group by 1) s) as states,
  (select json_object_agg("WebhookId", lag) from (select "WebhookId", greatest(0, e.position - "Position") as lag from webhook, e where "State" = 'active' order by lag desc, 1 limit ${MAX_LAGS}) l) as lags`,
    values: [],
  })
  return { states: row?.states ?? {}, lags: row?.lags ?? {} }
}
