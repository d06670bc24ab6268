import { psql } from './cluster.mjs'

// Multiplies listings. Generating millions one by one, with their search texts, would take hours.

/** Number of generated listings. Others are copies of these. */
export const GENERATED = 200_000

/** Columns that begin with the key of a listing. */
const KEYED = {
  Property: ['ListingKey'],
  PropertyText: ['ListingKey'],
  Media: ['MediaKey', 'ResourceRecordKey', 'PropertyKey'],
  Rooms: ['RoomKey', 'ListingKey'],
}

/**
 * Returns the SQL for the key of a copy: the number of the original plus an offset, in the same nine digits.
 */
const toKey = column =>
  `'L' || lpad((substr("${column}", 2, 9)::int + copy * ${GENERATED})::text, 9, '0') || substr("${column}", 11)`

function toValue(table, column) {
  if (KEYED[table].includes(column)) return toKey(column)
  // Distinct times, so that pages by time keep their length.
  if (column === 'ModificationTimestamp') return `"${column}" + copy * interval '1 millisecond'`
  return column === 'Document'
    ? `replace("${column}", '"ListingKey":"' || "ListingKey" || '"', '"ListingKey":"' || (${toKey('ListingKey')}) || '"')`
    : `"${column}"`
}

const columnsOf = (table, database) =>
  psql(
    `SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('"${table}"') AND attnum > 0 AND NOT attisdropped AND attname <> 'LastEventSequence' ORDER BY attnum`,
    database,
  )
    .split('\n')
    .filter(name => name !== '')

/**
 * Copies the generated listings with their media, rooms and texts, up to a number, under new keys and times.
 * Stored documents are copied too. Triggers do not run.
 */
export function multiply(database, listings) {
  const copies = Math.ceil(listings / GENERATED) - 1
  if (copies === 0) return
  for (const table of Object.keys(KEYED)) {
    const columns = columnsOf(table, database)
    if (columns.length === 0) continue
    const number = `substr("${KEYED[table][0]}", 2, 9)::int`
    const names = columns.map(column => `"${column}"`).join(', ')
    const values = columns.map(column => toValue(table, column)).join(', ')
    psql(
      `SET session_replication_role = replica;
INSERT INTO "${table}" (${names}) SELECT ${values} FROM generate_series(1, ${copies}) copy, "${table}" WHERE ${number} + copy * ${GENERATED} <= ${listings}`,
      database,
    )
  }
}
