import type { StatementExecutor } from '../sql/statement.js'

/** Adds the changes of one transaction of an import. `$1` is the list of `toImportEntries`. */
export const ADD_IMPORT_COUNTS = `insert into "admin"."ImportCount" ("ResourceName", "Created", "Updated", "Removed", "LastImportTimestamp")
select resource, json_array_length(coalesce(keys -> 'Created', '[]')), json_array_length(coalesce(keys -> 'Updated', '[]')), json_array_length(coalesce(keys -> 'Removed', '[]')), clock_timestamp()
from (select entry.resource, entry.after::json as keys from json_to_recordset($1::json) entry(resource text, after text)) e
on conflict ("ResourceName") do update set "Created" = "ImportCount"."Created" + excluded."Created", "Updated" = "ImportCount"."Updated" + excluded."Updated",
  "Removed" = "ImportCount"."Removed" + excluded."Removed", "LastImportTimestamp" = excluded."LastImportTimestamp"`

/** The changes of all imports of an entity set. */
export interface ImportCounts {
  readonly entity: string
  readonly created: number
  readonly updated: number
  readonly removed: number
  /** Time of the last change, in seconds since 1970. */
  readonly lastChangeAt: number
}

const SELECT_IMPORT_COUNTS = `select "ResourceName" as entity, "Created"::float8 as created, "Updated"::float8 as updated, "Removed"::float8 as removed,
  extract(epoch from "LastImportTimestamp")::float8 as "lastChangeAt" from "admin"."ImportCount"`

/** Returns the changes of all imports, by entity set. */
export const readImportCounts = (executor: StatementExecutor): Promise<readonly ImportCounts[]> =>
  executor.query<ImportCounts>({ text: SELECT_IMPORT_COUNTS, values: [] })
