import type { ImportRecord, TableRow } from './record.js'
import { LOAD_STATEMENTS } from './statements.js'

/** Runs a load statement. `name` identifies its prepared statement. */
export type RunStatement = (
  name: string,
  text: string,
  values: readonly unknown[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>

export interface RowChange {
  readonly entity: string
  readonly key: string
  readonly row: TableRow
  readonly isNew: boolean
}

/** Stored children of one parent that are missing in the file. */
export interface RowRemoval {
  readonly entity: string
  readonly key: string
  readonly parent: string
}

/** The changes that load a record. */
export interface RecordChanges {
  readonly record: ImportRecord
  readonly rows: readonly RowChange[]
  readonly removals: readonly RowRemoval[]
}

/**
 * Returns true for a child that is listed under its own entity set. Replacing its parent does not remove it.
 */
export type IsListed = (entity: string, key: string) => boolean

const idOf = (entity: string, key: string): string => `${entity} ${key}`

/** Returns the records with their nested records. */
export const withNestedRecords = (records: readonly ImportRecord[]): readonly ImportRecord[] =>
  records.flatMap(record => [record, ...record.nested])

/** Returns the changes that load a new record. */
export const toNewRecord = (record: ImportRecord): RecordChanges => ({
  record,
  rows: withNestedRecords([record]).map(({ entity, key, row }) => ({ entity, key, row, isNew: true })),
  removals: [],
})

/**
 * Compares records with the database, without a lock, and returns the changes of those that differ. If
 * another program changes a record after the comparison, its change is the later one.
 */
export async function findChanges(
  run: RunStatement,
  records: readonly ImportRecord[],
  isListed: IsListed,
): Promise<readonly RecordChanges[]> {
  const rows = await findRowChanges(run, withNestedRecords(records))
  const removals = await findRemovals(run, records, isListed)
  return records.flatMap(record => {
    const changes = {
      record,
      rows: withNestedRecords([record]).flatMap(({ entity, key, row }) => {
        const change = rows.get(idOf(entity, key))
        // If two records contain a child with the same key, the last one gets it.
        return change?.row === row ? [change] : []
      }),
      removals: removals.get(idOf(record.entity, record.key)) ?? [],
    }
    return changes.rows.length + changes.removals.length > 0 ? [changes] : []
  })
}

/** Returns the rows that differ from the stored ones, by `idOf`. */
async function findRowChanges(
  run: RunStatement,
  records: readonly ImportRecord[],
): Promise<ReadonlyMap<string, RowChange>> {
  const changes = new Map<string, RowChange>()
  for (const { entity, findChanged } of LOAD_STATEMENTS) {
    const rows = new Map(records.filter(record => record.entity === entity).map(({ key, row }) => [key, row]))
    if (rows.size === 0) continue
    const values = [JSON.stringify([...rows.values()])]
    for (const found of await run(`find ${entity}`, findChanged, values)) {
      const key = String(found['key'])
      const row = rows.get(key)
      if (row) changes.set(idOf(entity, key), { entity, key, row, isNew: found['isNew'] === true })
    }
  }
  return changes
}

/** Returns the stored children that the records no longer contain, by `idOf` of their parents. */
async function findRemovals(
  run: RunStatement,
  records: readonly ImportRecord[],
  isListed: IsListed,
): Promise<ReadonlyMap<string, readonly RowRemoval[]>> {
  const removals = new Map<string, RowRemoval[]>()
  const add = (id: string, removal: RowRemoval) => removals.set(id, [...(removals.get(id) ?? []), removal])
  for (const { entity, children } of LOAD_STATEMENTS) {
    const parents = records.filter(record => record.entity === entity)
    for (const child of parents.length > 0 ? children : []) {
      const nested = parents.flatMap(parent => parent.nested.filter(record => record.entity === child.entity))
      const values = [parents.map(({ key }) => key), nested.map(({ key }) => key)]
      for (const found of await run(`others ${entity} ${child.entity}`, child.findOthers, values)) {
        const [key, parent] = [String(found['key']), String(found['parent'])]
        if (!isListed(child.entity, key)) add(idOf(entity, parent), { entity: child.entity, key, parent })
      }
    }
  }
  return removals
}
