import type { Client } from 'pg'
import { type FieldRecord, toFieldRecords } from '../model/field-record.js'

const COLUMNS: readonly (keyof FieldRecord)[] = [
  'ResourceName', 'FieldName', 'DisplayName', 'Definition', 'Type', 'LookupName', 'CollectionYN', 'ExpandableYN', 'NullableYN', 'Length', 'Precision', 'Scale',
  'ReadableYN', 'OrderableYN', 'UpdatableYN', 'SearchableYN', 'ReadableBy',
] // biome-ignore format: in the order of the table
const columnsOf = (row: string): string => COLUMNS.map(column => `${row}."${column}"`).join(', ')
const NAMES = COLUMNS.map(column => `"${column}"`).join(', ')

/** Writes the rows that differ from the model, and no others. */
const UPSERT_FIELDS = `insert into "Field" ("FieldKey", ${NAMES}, "ModificationTimestamp")
  select r."FieldKey", ${columnsOf('r')}, date_trunc('milliseconds', clock_timestamp()) from json_populate_recordset(null::"Field", $1::json) r
  where not exists (select from "Field" f where f."FieldKey" = r."FieldKey" and (${columnsOf('f')}) is not distinct from (${columnsOf('r')}))
  on conflict ("FieldKey") do update set (${NAMES}, "ModificationTimestamp") = (${columnsOf('excluded')}, excluded."ModificationTimestamp")`
const DELETE_FIELDS = `delete from "Field" where "FieldKey" <> all ($1::text[])`

/** Brings the table Field in line with the model, if the table exists. */
export async function saveFieldRecords(client: Pick<Client, 'query'>): Promise<void> {
  const { rows } = await client.query<{ readonly exists: boolean }>(
    `select to_regclass('"Field"') is not null as exists`,
  )
  if (!rows[0]?.exists) return
  const records = toFieldRecords()
  await client.query(UPSERT_FIELDS, [JSON.stringify(records)])
  await client.query(DELETE_FIELDS, [records.map(r => r.FieldKey)])
}
