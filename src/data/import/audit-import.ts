import type { RecordChanges, RowChange } from './find-changes.js'

/**
 * Writes the audit entries of one transaction of an import. `$1` is a list of resources and values, `$2` the
 * author. An empty author means the user of the database.
 */
export const INSERT_IMPORT_ENTRIES = `select "admin".write_audit_entry(lower(entry.resource) || '.import', entry.resource, '', null, null, entry.after)
from (select set_config('listing.writer', $2, true) as name) writer, json_to_recordset($1::json) entry(resource text, after text) where writer.name is not null`

interface ImportEntry {
  readonly resource: string
  /** Keys of the records as a JSON object. */
  readonly after: string
}

/**
 * Returns one entry for each entity with the keys of the records that a transaction creates, updates and removes. An
 * entry for each record would take as long as the import itself.
 */
export function toImportEntries(
  rows: readonly RowChange[],
  removals: RecordChanges['removals'],
): readonly ImportEntry[] {
  const entities = new Set([...rows, ...removals].map(({ entity }) => entity))
  return [...entities].map(entity => {
    const own = rows.filter(row => row.entity === entity)
    const keys = {
      Created: own.filter(row => row.isNew).map(row => row.key),
      Updated: own.filter(row => !row.isNew).map(row => row.key),
      Removed: removals.filter(row => row.entity === entity).map(row => row.key),
    }
    const listed = Object.entries(keys).filter(([, list]) => list.length > 0)
    return { resource: entity, after: JSON.stringify(Object.fromEntries(listed)) }
  })
}
