import type { Client as Connection } from 'pg'
import type { Precondition } from '../../domain/write-shape.js'
import { AdminTransaction, runAdminTransaction } from '../clients/admin-transaction.js'
import type { Database } from '../database.js'

/** A row of the table Feed. */
export interface FeedRow {
  readonly FeedId: number
  readonly FeedName: string
  readonly Filter: string
  readonly FilterSql: string
  readonly HiddenFields: readonly string[]
  readonly OnlyFields: readonly string[] | null
  readonly TopIsTotal: boolean | null
  readonly PageSize: number | null
  readonly PageSizeMax: number | null
  readonly SoldPriceDelayDays: number | null
  readonly ShowsMedia: boolean
  readonly ShowsOpenHouses: boolean
  readonly ShowsMembers: boolean
  readonly CreationTimestamp: string
  readonly ModificationTimestamp: string
  readonly RemovedTimestamp: string | null
  /** Null while the listings of the feed are computed. */
  readonly ComputedTimestamp: string | null
}

/** Columns of a feed that operators set. */
export type FeedColumns = Partial<Omit<FeedRow, 'FeedId' | 'FilterSql' | `${string}Timestamp`>>

/** A feed with the number of its listings and its clients. */
export interface FeedDetails extends FeedRow {
  readonly Listings: number
  readonly Clients: readonly string[]
}

const SELECT_DETAILS = `select to_jsonb(f) - 'Version' - 'LogFloor' || jsonb_build_object(
    'Listings', (select count(*) from "admin"."FeedListing" m where m."FeedId" = f."FeedId" and m."IsShown"),
    'Clients', coalesce((select jsonb_agg("ClientId" order by "ClientId") from "admin"."Client" c
      where c."FeedName" = f."FeedName" and c."RemovedTimestamp" is null), '[]')
  ) as details from "admin"."Feed" f where "RemovedTimestamp" is null`

/** Maximum number of listings that one transaction computes. */
const LISTINGS_PER_BATCH = 1000

/** Changes feeds on one connection, within a transaction. */
export class FeedTransaction extends AdminTransaction {
  /** Returns a feed and locks it until the commit. Changes of feeds are serialized. */
  async lock(name: string): Promise<FeedDetails | undefined> {
    await this.connection.query('lock table "admin"."Feed" in share row exclusive mode')
    return readDetails(this.connection, 'and "FeedName" = $1', [name]).then(([found]) => found)
  }

  /** Fails unless the version of a feed, which is locked, satisfies the precondition of its change. */
  check(id: number, condition: Precondition): Promise<void> {
    return this.checkRow('Feed', 'FeedId', id, condition)
  }

  /** Fails unless PostgreSQL accepts the SQL of a filter. */
  async checkFilter(filterSql: string): Promise<void> {
    await this.connection.query(`select from "Property" r0 where ${filterSql} limit 0`)
  }

  insert(columns: FeedColumns & Pick<FeedRow, 'FilterSql'>): Promise<void> {
    return this.insertRow('Feed', columns)
  }

  update(id: number, columns: FeedColumns & Partial<FeedRow>): Promise<void> {
    return this.updateRow('Feed', 'FeedId', id, {
      ...columns,
      ModificationTimestamp: new Date().toISOString(),
    })
  }

  /** Invalidates all positions in the change log before its current end. */
  async raiseFloor(id: number): Promise<void> {
    await this.connection.query(
      `update "admin"."Feed" set "LogFloor" = "admin".mark_log('feed:' || $1::int || ':public') where "FeedId" = $1`,
      [id],
    )
  }

  /** Compiles the filters of all feeds into the function that the triggers call. */
  async compile(): Promise<void> {
    await this.connection.query('select "admin".compile_feeds()')
  }

  /** Hides the listings that a changed filter no longer selects, before their events are written. */
  async hideLeavingListings(id: number): Promise<void> {
    await this.connection.query('select "admin".hide_leavers($1)', [id])
  }

  /** Takes the lock of the change log first: writers hold it when they lock the same rows. */
  async deleteListings(id: number): Promise<void> {
    await this.connection.query('select lock_change_log()')
    await this.connection.query('delete from "admin"."FeedListing" where "FeedId" = $1', [id])
  }
}

type Connections = Pick<Database, 'withClient'>

/** Runs changes of feeds in one transaction. */
export const changeFeeds = <T>(
  database: Connections,
  work: (transaction: FeedTransaction) => Promise<T>,
): Promise<T> => runAdminTransaction(database, connection => work(new FeedTransaction(connection)))

/** Returns the feeds in the order of their names, or only the feed `name`. */
export const readFeeds = (database: Connections, name?: string): Promise<readonly FeedDetails[]> =>
  database.withClient(connection =>
    name === undefined
      ? readDetails(connection, 'order by "FeedName"', [])
      : readDetails(connection, 'and "FeedName" = $1', [name]),
  )

/** The numbers of listings that entered and left a feed. */
export interface FeedChange {
  readonly entered: number
  readonly left: number
}

/**
 * Computes the listings of a feed in batches, each in its own transaction. @param writesEvents writes an
 * event for each listing that enters or leaves
 */
export function computeListings(
  database: Connections,
  id: number,
  writesEvents: boolean,
): Promise<FeedChange> {
  return database.withClient(async connection => {
    let [entered, left] = [0, 0]
    let key: string | null = ''
    while (key !== null) {
      const batch: BatchRow = await computeBatch(connection, [id, LISTINGS_PER_BATCH, writesEvents, key])
      key = batch.key
      entered += batch.entered
      left += batch.gone
    }
    await connection.query(
      'update "admin"."Feed" set "ComputedTimestamp" = clock_timestamp() where "FeedId" = $1',
      [id],
    )
    await connection.query('analyze "admin"."FeedListing"')
    return { entered, left }
  })
}

/** Computes one batch of listings after a key, and returns the key at which the next one begins. */
async function computeBatch(connection: Connection, values: readonly unknown[]): Promise<BatchRow> {
  const { rows } = await connection.query<BatchRow>(
    'select key, entered, gone from "admin".compute_feed($1, $2, $3, $4)',
    [...values],
  )
  const [batch] = rows
  if (!batch) throw new Error('The feed was not computed')
  return batch
}

interface BatchRow {
  readonly key: string | null
  readonly entered: number
  readonly gone: number
}

async function readDetails(
  connection: Connection,
  clause: string,
  values: readonly unknown[],
): Promise<readonly FeedDetails[]> {
  const { rows } = await connection.query<{ readonly details: FeedDetails }>(`${SELECT_DETAILS} ${clause}`, [
    ...values,
  ])
  return rows.map(row => row.details)
}
