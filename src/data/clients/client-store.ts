import type { Client as Connection } from 'pg'
import type { Client, ClientSecret } from '../../domain/clients/client.js'
import type { Precondition } from '../../domain/write-shape.js'
import type { Database } from '../database.js'
import { AdminTransaction, runAdminTransaction } from './admin-transaction.js'

/** A row of the table Client, with related values for operators. It contains no secret. */
export interface ClientRow {
  readonly ClientId: string
  readonly Name: string
  readonly Contact: string | null
  readonly Scopes: readonly string[]
  readonly AudienceClass: Client['audience']
  readonly MemberKey: string | null
  readonly OfficeKey: string | null
  readonly FeedName: string | null
  readonly RequestsPerMinute: number | null
  readonly RequestsPerDay: number | null
  readonly RowsPerDay: number | null
  readonly RunningStatements: number | null
  readonly PublicKeys: { readonly keys: readonly object[] } | null
  readonly CreationTimestamp: string
  readonly ExpirationTimestamp: string | null
  readonly DisabledTimestamp: string | null
  readonly RemovedTimestamp: string | null
}

/** A client with its secrets (without hashes) and its last use. */
export interface ClientDetails extends ClientRow {
  readonly LastUsedTimestamp: string | null
  readonly Secrets: readonly SecretDetails[]
}

/** The public part of a secret. */
export interface SecretDetails {
  readonly SecretId: string
  readonly CreationTimestamp: string
  readonly LastUsedTimestamp: string | null
}

/** Columns of a client that operators set. */
export type ClientColumns = Partial<Omit<ClientRow, 'ClientId' | 'CreationTimestamp'>>

/** A row of the audit log. */
export interface AuditRow {
  readonly EntryTimestamp: string
  readonly Actor: string
  readonly Action: string
  readonly ResourceKey: string
  readonly Before: unknown
  readonly After: unknown
}

const SELECT_DETAILS = `select to_jsonb(c) - 'Version' || jsonb_build_object(
    'LastUsedTimestamp', (select max("LastUsedTimestamp") from "admin"."ClientUsage" u where u."ClientId" = c."ClientId"),
    'Secrets', coalesce((select jsonb_agg(jsonb_build_object('SecretId', "SecretId", 'CreationTimestamp', "CreationTimestamp",
      'LastUsedTimestamp', "LastUsedTimestamp") order by "CreationTimestamp", "SecretId") from "admin"."ClientSecret" s where s."ClientId" = c."ClientId"), '[]')
  ) as details from "admin"."Client" c`

/** Changes clients on one connection, within a transaction. */
export class ClientTransaction extends AdminTransaction {
  /** Returns a client and locks it until the commit. */
  async lock(id: string): Promise<ClientDetails | undefined> {
    await this.connection.query('select from "admin"."Client" where "ClientId" = $1 for update', [id])
    return readDetails(this.connection, 'where "ClientId" = $1', [id]).then(([found]) => found)
  }

  insert(id: string, columns: ClientColumns): Promise<void> {
    return this.insertRow('Client', { ClientId: id, ...columns })
  }

  update(id: string, columns: ClientColumns): Promise<void> {
    return this.updateRow('Client', 'ClientId', id, columns)
  }

  async addSecret(clientId: string, { id, hash }: ClientSecret): Promise<void> {
    await this.connection.query(
      'insert into "admin"."ClientSecret" ("SecretId", "ClientId", "Hash") values ($1, $2, $3)',
      [id, clientId, hash],
    )
  }

  /** Deletes secrets of a client. */
  async deleteSecrets(clientId: string, ids: readonly string[]): Promise<void> {
    await this.connection.query(
      'delete from "admin"."ClientSecret" where "ClientId" = $1 and "SecretId" = any($2)',
      [clientId, ids],
    )
  }

  /** Fails unless the version of a client, which is locked, satisfies the precondition of its change. */
  check(id: string, condition: Precondition): Promise<void> {
    return this.checkRow('Client', 'ClientId', id, condition)
  }

  /** Returns the client of a secret. */
  async clientOf(secretId: string): Promise<string | undefined> {
    const { rows } = await this.connection.query<{ readonly id: string }>(
      'select "ClientId" as id from "admin"."ClientSecret" where "SecretId" = $1',
      [secretId],
    )
    return rows[0]?.id
  }

  /** Returns true if a feed with the name exists, and locks it against removal until the commit. */
  async hasFeed(name: string): Promise<boolean> {
    const { rowCount } = await this.connection.query(
      'select from "admin"."Feed" where "FeedName" = $1 and "RemovedTimestamp" is null for share',
      [name],
    )
    return rowCount === 1
  }
}

/** Runs changes of clients in one transaction. */
export const changeClients = <T>(
  database: Pick<Database, 'withClient'>,
  work: (transaction: ClientTransaction) => Promise<T>,
): Promise<T> => runAdminTransaction(database, connection => work(new ClientTransaction(connection)))

/** Returns the clients in the order of their creation. */
export const readClients = (database: Pick<Database, 'withClient'>): Promise<readonly ClientDetails[]> =>
  database.withClient(connection =>
    readDetails(connection, 'where "RemovedTimestamp" is null order by "CreationTimestamp", "ClientId"', []),
  )

/** Returns the clients with an id or a name, including removed ones. */
export const findClients = (
  database: Pick<Database, 'withClient'>,
  idOrName: string,
): Promise<readonly ClientDetails[]> =>
  database.withClient(connection =>
    readDetails(connection, 'where "ClientId" = $1 or "Name" = $1 order by "ClientId" = $1 desc', [idOrName]),
  )

/** Returns the newest entries of the audit log about a client, oldest first. */
export const readClientAudit = (
  database: Pick<Database, 'withClient'>,
  clientId: string,
  limit: number,
): Promise<readonly AuditRow[]> =>
  database.withClient(async connection => {
    const { rows } = await connection.query<{ readonly entry: AuditRow }>(
      `select to_jsonb(e) as entry from "admin"."AuditEntry" e where "ResourceName" = 'Client' and "ResourceKey" = $1 order by "AuditId" desc limit $2`,
      [clientId, limit],
    )
    return rows.map(row => row.entry).reverse()
  })

async function readDetails(
  connection: Connection,
  clause: string,
  values: readonly unknown[],
): Promise<readonly ClientDetails[]> {
  const { rows } = await connection.query<{ readonly details: ClientDetails }>(
    `${SELECT_DETAILS} ${clause}`,
    [...values],
  )
  return rows.map(row => row.details)
}
