import { readFile } from 'node:fs/promises'
import type { Database } from '../database.js'

/** A row of the RESO Lookup resource. */
interface LookupRow {
  readonly LookupKey: string
  readonly LookupName: string
  readonly LookupValue: string
  readonly StandardLookupValue: string
  readonly LegacyODataValue: string
}

/**
 * Values of the Data Dictionary and of the service, and values of lookups that the dictionary leaves to each
 * market.
 */
const LOOKUP_FILES = ['lookups.csv', 'lookups-local.csv'].map(
  name => new URL(`../../../prisma/seed/${name}`, import.meta.url),
)

/**
 * Date of the last change of these lists. Update it with every change. Rows with a later date are not
 * overwritten.
 */
const LAST_CHANGED = '2026-11-01T00:00:00.000Z'

/** Names that the service uses for values of the Data Dictionary. */
const STANDARD_LOOKUP_VALUES: ReadonlyMap<string, string> = new Map([['StandardStatus Sold', 'Closed']])

/** Returns the cells of a line (RFC 4180). No cell of these files contains a line break. */
const readCsvCells = (line: string): readonly string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  )

function toLookupRow(line: string): LookupRow {
  const [name = '', value = '', legacy = ''] = readCsvCells(line)
  return {
    LookupKey: `${name}-${legacy}`,
    LookupName: name,
    LookupValue: value,
    StandardLookupValue: STANDARD_LOOKUP_VALUES.get(`${name} ${value}`) ?? value,
    LegacyODataValue: legacy,
  }
}

/** Returns all lookup values of the project. */
export async function readLookups(): Promise<readonly LookupRow[]> {
  const texts = await Promise.all(LOOKUP_FILES.map(file => readFile(file, 'utf8')))
  return texts.flatMap(text => text.split(/\r?\n/).slice(1).filter(Boolean).map(toLookupRow))
}

const LOOKUP_COLUMNS = ['LookupName', 'LookupValue', 'StandardLookupValue', 'LegacyODataValue'].map(
  name => `"${name}"`,
)
const qualifiedColumns = (row: string) => LOOKUP_COLUMNS.map(column => `${row}.${column}`).join(', ')

const UPSERT_LOOKUPS = `insert into "Lookup" ("LookupKey", ${LOOKUP_COLUMNS.join(', ')}, "ModificationTimestamp")
  select r."LookupKey", ${qualifiedColumns('r')}, $2::timestamptz from json_populate_recordset(null::"Lookup", $1::json) r
  where not exists (
    select from "Lookup" l where l."LookupKey" = r."LookupKey" and ((${qualifiedColumns('l')}) is not distinct from (${qualifiedColumns('r')}) or l."ModificationTimestamp" > $2))
  on conflict ("LookupKey") do update set (${LOOKUP_COLUMNS.join(', ')}, "ModificationTimestamp") = (${qualifiedColumns('excluded')}, excluded."ModificationTimestamp")`

/**
 * Loads the lookup values of the project into a migrated database. They are reference data and do not depend
 * on the sample. Existing rows are not changed.
 */
export async function loadLookups(database: Database): Promise<void> {
  const rows = JSON.stringify(await readLookups())
  await database.withClient(async client => {
    await client.query(`begin; set local listing.import = 'on'`)
    await client.query(UPSERT_LOOKUPS, [rows, LAST_CHANGED])
    await client.query('commit')
  })
}
