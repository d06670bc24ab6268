import type { Database } from '../database.js'

/** The usage of a client. */
export interface UsageNumbers {
  /** Requests that were served. */
  readonly requests: number
  /** Requests that a limit refused. */
  readonly refused: number
  /** Records in responses. */
  readonly rows: number
}

/** The usage of a client since the last write. */
export interface UsageCount extends UsageNumbers {
  readonly clientId: string
}

/** A row of the usage of a client on one day in UTC. */
export interface UsageRow extends UsageNumbers {
  /** `YYYY-MM-DD`. */
  readonly day: string
  readonly clientId: string
  readonly name: string
}

/**
 * Adds counts to today's usage, and sets the time of the last use of clients and secrets. Rows are locked in
 * the order of their keys, so that processes that write at the same time do not deadlock.
 */
export async function addUsage(
  database: Pick<Database, 'queryControl'>,
  counts: readonly UsageCount[],
  secretIds: readonly string[],
): Promise<void> {
  await database.queryControl({
    text: `with used as (
  update "admin"."ClientSecret" set "LastUsedTimestamp" = clock_timestamp()
  where "SecretId" in (select "SecretId" from "admin"."ClientSecret" where "SecretId" = any($4::text[]) order by "SecretId" for no key update)
)
insert into "admin"."ClientUsage" as stored ("ClientId", "Day", "Requests", "RefusedRequests", "Rows", "LastUsedTimestamp")
select id, (clock_timestamp() at time zone 'UTC')::date, requests, refused, rows, clock_timestamp()
from unnest($1::text[], $2::bigint[], $3::bigint[], $5::bigint[]) as added(id, requests, refused, rows) order by id collate "C"
on conflict ("ClientId", "Day") do update set "Requests" = stored."Requests" + excluded."Requests",
  "RefusedRequests" = stored."RefusedRequests" + excluded."RefusedRequests", "Rows" = stored."Rows" + excluded."Rows", "LastUsedTimestamp" = excluded."LastUsedTimestamp"`,
    values: [
      counts.map(({ clientId }) => clientId),
      counts.map(({ requests }) => requests),
      counts.map(({ refused }) => refused),
      secretIds,
      counts.map(({ rows }) => rows),
    ],
  })
}

/** Reads the usage of the last days, today included, the newest first. */
export function readUsage(
  database: Pick<Database, 'queryControl'>,
  { days, clientId }: { readonly days: number; readonly clientId?: string | undefined },
): Promise<readonly UsageRow[]> {
  return database.queryControl<UsageRow>({
    text: `select u."Day"::text as "day", u."ClientId" as "clientId", c."Name" as "name", u."Requests"::float8 as "requests", u."RefusedRequests"::float8 as "refused", u."Rows"::float8 as "rows"
from "admin"."ClientUsage" u join "admin"."Client" c on c."ClientId" = u."ClientId"
where u."Day" > (clock_timestamp() at time zone 'UTC')::date - $1::int and ($2::text is null or u."ClientId" = $2)
order by u."Day" desc, u."Requests" + u."RefusedRequests" desc, u."ClientId"`,
    values: [days, clientId ?? null],
  })
}
