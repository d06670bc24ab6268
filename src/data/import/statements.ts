import type { Entity, Scalar } from '../../model/model.js'
import { quoteIdentifier } from '../sql/columns.js'
import { isStampedByClock } from './check-value.js'
import { ENTITIES_IN_LOAD_ORDER, isChildNavigation } from './record.js'

// Statements take the rows of one table as one JSON text, which `json_populate_recordset` turns into rows of the
// table's own types, numbers digit by digit; a missing member is null. The same with jsonb took a third longer.

/** The rows that belong to the records of an entity. */
export interface ChildStatements {
  readonly entity: string
  /**
   * `$1` keys of parents, `$2` keys of children → the children (`key`, `parent`) of these parents that are not
   * among them.
   */
  readonly findOthers: string
  /** `$1` keys of children, `$2` keys of parents. */
  readonly remove: string
}

export interface LoadStatements {
  readonly entity: string
  /** Rows → the `key` of each that differs from the stored row, and `isNew` if there is none. */
  readonly findChanged: string
  /** Rows that are stored: writes those that differ. */
  readonly update: string
  /** Rows that are not stored; one that another program has stored meanwhile is updated. */
  readonly insert: string
  readonly children: readonly ChildStatements[]
}

const identifier = (name: string): string => quoteIdentifier(name).sql

/**
 * Columns that a record can bring: not those that the database computes or keeps for itself, but
 * ChangedByMemberKey, which nobody can read.
 */
const writableColumnsOf = (entityType: Entity): readonly Scalar[] =>
  [...entityType.fields.values()].filter(f => f.kind === 'scalar').filter(f => !f.generated)

/** The rows of `$1` as `r`. */
const rowsOf = (table: string): string => `json_populate_recordset(null::${table}, $1::json) r`

/** A record that does not say when it changed gets the time of the clock, as a change by the service does. */
function toStoredValue(field: Scalar): string {
  const column = `r.${identifier(field.name)}`
  if (field.collection) return `coalesce(${column}, '{}')`
  return isStampedByClock(field) ? `coalesce(${column}, next_change_time())` : column
}

/** Fields that a file need not know: when a record changed, and who changed it, which no reader is shown. */
const isOptionalInComparison = (field: Scalar): boolean =>
  isStampedByClock(field) || field.name === 'ChangedByMemberKey'

/** Whether the row `r` differs from the stored row `t`. */
function toDifference(columns: readonly Scalar[]): string {
  const differences = columns.map(field => {
    const column = identifier(field.name)
    const value = field.collection ? `coalesce(r.${column}, '{}')` : `r.${column}`
    const difference = `t.${column} is distinct from ${value}`
    return isOptionalInComparison(field) ? `(r.${column} is not null and ${difference})` : difference
  })
  return `(${differences.join(' or ')})`
}

/** Two changes never have the same time, and the time of a record rises. */
function toUpdatedValue(field: Scalar): string {
  if (!isStampedByClock(field)) return toStoredValue(field)
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

/** The statements of every entity, parents before their children. */
export const LOAD_STATEMENTS: readonly LoadStatements[] = ENTITIES_IN_LOAD_ORDER.map(toLoadStatements)
