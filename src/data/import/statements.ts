import type { Entity, Scalar } from '../../model/model.js'
import { quoteIdentifier } from '../sql/columns.js'
import { isModificationTimestamp } from './check-value.js'
import { ENTITIES_IN_LOAD_ORDER, isChildNavigation } from './record.js'

// Each statement takes the rows of one table as one JSON text, which `json_populate_recordset` converts to
// rows of the table with exact numbers. A missing member is null. With jsonb the same took a third longer.

/** The rows that belong to the records of an entity. */
export interface ChildStatements {
  readonly entity: string
  /** `$1` keys of parents, `$2` keys of children → other children of these parents (`key`, `parent`). */
  readonly findOthers: string
  /** `$1` keys of children, `$2` keys of parents. */
  readonly remove: string
}

export interface LoadStatements {
  readonly entity: string
  /** Rows → the `key` of each row that differs from the stored one. `isNew` is true if none is stored. */
  readonly findChanged: string
  /** Updates stored rows that differ. */
  readonly update: string
  /** Inserts new rows. A row that another program has inserted meanwhile is updated. */
  readonly insert: string
  readonly children: readonly ChildStatements[]
}

const identifier = (name: string): string => quoteIdentifier(name).sql

/**
 * Returns the columns that a record can set. Columns that the database computes are excluded.
 * ChangedByMemberKey is included, although it cannot be read.
 */
const writableColumnsOf = (entityType: Entity): readonly Scalar[] =>
  [...entityType.fields.values()].filter(f => f.kind === 'scalar').filter(f => !f.generated)

/** Returns the FROM item for the rows of `$1` as `r`. */
const rowsOf = (table: string): string => `json_populate_recordset(null::${table}, $1::json) r`

/** Returns the value to store. A record without ModificationTimestamp gets the current time. */
function toStoredValue(field: Scalar): string {
  const column = `r.${identifier(field.name)}`
  if (field.collection) return `coalesce(${column}, '{}')`
  return isModificationTimestamp(field) ? `coalesce(${column}, next_change_time())` : column
}

/**
 * Returns true for fields that are compared only if the file contains them: the time of a change and its
 * author, which readers do not see.
 */
const isOptionalInComparison = (field: Scalar): boolean =>
  isModificationTimestamp(field) || field.name === 'ChangedByMemberKey'

/** Returns the condition under which row `r` differs from the stored row `t`. */
function toDifference(columns: readonly Scalar[]): string {
  const differences = columns.map(field => {
    const column = identifier(field.name)
    const value = field.collection ? `coalesce(r.${column}, '{}')` : `r.${column}`
    const difference = `t.${column} is distinct from ${value}`
    return isOptionalInComparison(field) ? `(r.${column} is not null and ${difference})` : difference
  })
  return `(${differences.join(' or ')})`
}

/**
 * Returns the new value of a column. Times of changes are unique, and the time of a record always increases.
 */
function toUpdatedValue(field: Scalar): string {
  if (!isModificationTimestamp(field)) return toStoredValue(field)
  const column = identifier(field.name)
  return `coalesce(r.${column}, greatest(next_change_time(), t.${column} + interval '1 millisecond'))`
}

/**
 * `Rooms` → `update "Rooms" t set "RoomType" = r."RoomType", … from json_populate_recordset(…) r where
 * t."RoomKey" = r."RoomKey" and (t."RoomType" is distinct from r."RoomType" or …)`
 */
function toLoadStatements(entityType: Entity): LoadStatements {
  const table = identifier(entityType.name)
  const key = identifier(entityType.key.name)
  const columns = writableColumnsOf(entityType)
  const others = columns.filter(({ name }) => name !== entityType.key.name)
  const names = columns.map(({ name }) => identifier(name)).join(', ')
  const assignments = others.map(field => `${identifier(field.name)} = ${toUpdatedValue(field)}`)
  const replacements = others.map(({ name }) => `${identifier(name)} = excluded.${identifier(name)}`)
  const difference = toDifference(others)
  return {
    entity: entityType.name,
    findChanged:
      `select r.${key} as key, t.${key} is null as "isNew" from ${rowsOf(table)} ` +
      `left join ${table} t on t.${key} = r.${key} where t.${key} is null or ${difference}`,
    update:
      `update ${table} t set ${assignments.join(', ')} from ${rowsOf(table)} ` +
      `where t.${key} = r.${key} and ${difference}`,
    insert:
      `insert into ${table} (${names}) select ${columns.map(toStoredValue).join(', ')} from ${rowsOf(table)} ` +
      `on conflict (${key}) do update set ${replacements.join(', ')}`,
    children: entityType.navigations.filter(isChildNavigation).map(({ target, foreign }) => {
      const [child, parent] = [identifier(target), identifier(foreign)]
      const childKey = identifier(ENTITIES_BY_NAME.get(target)?.key.name ?? '')
      return {
        entity: target,
        findOthers:
          `select c.${childKey} as key, c.${parent} as parent from ${child} c where c.${parent} = any($1::text[]) ` +
          `and not exists (select from unnest($2::text[]) k (key) where k.key = c.${childKey})`,
        remove: `delete from ${child} where ${childKey} = any($1::text[]) and ${parent} = any($2::text[])`,
      }
    }),
  }
}

const ENTITIES_BY_NAME: ReadonlyMap<string, Entity> = new Map(ENTITIES_IN_LOAD_ORDER.map(of => [of.name, of]))

/** The statements of every entity, parents before children. */
export const LOAD_STATEMENTS: readonly LoadStatements[] = ENTITIES_IN_LOAD_ORDER.map(toLoadStatements)
