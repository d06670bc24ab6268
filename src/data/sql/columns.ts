import sql, { join, raw, type Sql } from 'sql-template-tag'
import { type Entity, getEntity, getScalar, type Navigation, type Scalar } from '../../model/model.js'
import type { Value } from '../../query/ast.js'
import type { ExprType, ValueType } from '../../query/functions.js'
import {
  type Collection,
  type ColumnSource,
  type Expr,
  ParameterRef,
  type RowName,
} from '../../query/plan.js'
import { isPointInTime, truncateToMicroseconds } from '../../query/sub-microsecond.js'

const PG_TYPE: Readonly<Record<ValueType, string>> = {
  Boolean: 'boolean', Int32: 'int', Int64: 'bigint', Decimal: 'numeric', Double: 'double precision', String: 'text',
  DateTimeOffset: 'timestamptz', Date: 'date', TimeOfDay: 'time', Duration: 'numeric', GeographyPoint: 'jsonb', GeographyPolygon: 'polygon[]',
} // biome-ignore format: table

/** Returns the PostgreSQL type of a column. `Collection(String)` → `text[]` */
export const pgType = (type: ExprType): string =>
  PG_TYPE[type as ValueType] ?? `${PG_TYPE[type.slice('Collection('.length, -1) as ValueType]}[]` // every type is a value type or a collection of one

/**
 * Returns the PostgreSQL type of an expression. Integers are computed as numeric and can exceed their own
 * type. `Int32` → `numeric`
 */
export const computedPgType = (type: ExprType): string =>
  type === 'Int32' || type === 'Int64' ? PG_TYPE.Decimal : pgType(type)

/**
 * Quotes an identifier: a name of the model, or of a computed value, which clients choose. `City` → `"City"`
 */
export const quoteIdentifier = (name: string) => raw(`"${name.replaceAll('"', '""')}"`)
/** Quotes the table or view of an entity. `Property` → `"Property"`, `Client` → `"admin"."ClientResource"` */
export const quoteTable = ({ name, table }: Entity) =>
  table
    ? raw(`${quoteIdentifier(table.schema).sql}.${quoteIdentifier(table.name).sql}`)
    : quoteIdentifier(name)
const qualifiedColumn = (row: string, name: string) => raw(`${row}."${name}"`)

/** Escapes the wildcards of LIKE. `50%` → `50\%` */
export const escapeLike = (text: string) => text.replaceAll(/[\\%_]/g, String.raw`\$&`)

/**
 * Renders a literal as a bound parameter.
 *   `'Vail'` → `($1::text collate "C")`, `5` as Decimal → `$1::numeric`
 */
export function toSqlLiteral(value: Value, type: ValueType): Sql {
  if (value === null) return raw(`null::${PG_TYPE[type]}`)
  if (type === 'GeographyPoint') return toPointLiteral(String(value))
  if (type === 'GeographyPolygon') return toPolygonLiteral(String(value))
  // Literals use code point order, also when compared with each other.
  return type === 'String'
    ? sql`(${value}::text collate "C")`
    : sql`${toParameter(value, type)}::${raw(PG_TYPE[type])}`
}

/**
 * Renders a parameter, a value that each request provides. A text → `($1::text collate "C")`, a date →
 * `$1::date`
 */
export const toParameterSql = (index: number, type: ValueType): Sql =>
  type === 'String'
    ? sql`(${new ParameterRef(index)}::text collate "C")`
    : sql`${new ParameterRef(index)}::${raw(PG_TYPE[type])}`

/** A value as a parameter. PostgreSQL would round a point in time to microseconds. */
export const toParameter = (value: Value, type: ExprType): Value =>
  isPointInTime(type) && typeof value === 'string' ? truncateToMicroseconds(value) : value

/**
 * Renders a point. `value` is "longitude latitude", as the parser returns it. `-106.37 39.64` →
 * `geo_json($1::numeric, $2::numeric)`
 */
function toPointLiteral(value: string): Sql {
  const [longitude, latitude] = value.split(' ')
  return sql`geo_json(${longitude}::numeric, ${latitude}::numeric)`
}

/**
 * Returns the rings of a polygon in PostgreSQL's syntax, the outer ring first. `value` is "lon lat,lon
 * lat,...;ring", as the parser returns it.
 *   `0 0,1 0,1 1,0 0` → `((0,0),(1,0),(1,1),(0,0))`
 */
export const polygonRingsOf = (value: string): readonly string[] =>
  value.split(';').map(
    ring =>
      `(${ring
        .split(',')
        .map(p => `(${p.replace(' ', ',')})`)
        .join(',')})`,
  )
const toPolygonLiteral = (value: string) =>
  sql`array[${join(polygonRingsOf(value).map(ring => sql`${ring}::polygon`))}]`

/**
 * Renders a column. A related record is the single row of a subquery named `via`.
 *   `City` → `r0."City"`
 *   `ListOffice/OfficeName` → `(select via."OfficeName" from "Office" via where via."OfficeKey" =
 *     r0."ListOfficeKey")`
 */
export function toColumn({ name }: Scalar, source: ColumnSource): Sql {
  if (source.kind === 'row') return qualifiedColumn(source.row, name)
  if (source.kind === 'key')
    return sql`(select ${qualifiedColumn('via', name)} from ${quoteTable(source.entity)} via where ${qualifiedColumn('via', source.entity.key.name)} = ${toKeySql(source.key)})`
  return sql`(select ${qualifiedColumn('via', name)} from ${quoteTable(getEntity(source.navigation.target))} via where ${qualifiedColumn('via', source.navigation.foreign)} = ${localJoinColumn(source.navigation, source.from)})`
}

/** Returns the column of the outer record in a navigation's join. */
function localJoinColumn(navigation: Navigation, from: ColumnSource): Sql {
  const sourceEntity =
    from.kind === 'via' ? getEntity(from.navigation.target) : from.kind === 'key' ? from.entity : undefined
  return sourceEntity
    ? toColumn(getScalar(sourceEntity, navigation.local), from)
    : qualifiedColumn(from.kind === 'row' ? from.row : '', navigation.local)
}

/**
 * Returns `from` item and join condition of a collection, named `row`.
 *   `Media` → `"Media" r1` and `r1."PropertyKey" = r0."ListingKey"`
 */
export function toCollectionRows(over: Collection, row: RowName): { readonly from: Sql; readonly join: Sql } {
  if (over.kind === 'values')
    return {
      from: sql`unnest(${toColumn(over.scalar, over.source)}) ${raw(`${row}(value)`)}`,
      join: raw('true'),
    }
  const { navigation, source } = over
  return {
    from: sql`${quoteTable(getEntity(navigation.target))} ${raw(row)}`,
    join: sql`${qualifiedColumn(row, navigation.foreign)} = ${localJoinColumn(navigation, source)}`,
  }
}

/** The key of a record: a literal in queries, also a parameter or a column in the rules of writes. */
function toKeySql(key: Expr): Sql {
  if (key.kind === 'literal') return toSqlLiteral(key.value, key.type)
  if (key.kind === 'parameter') return toParameterSql(key.index, key.type)
  return key.kind === 'column' ? toColumn(key.scalar, key.source) : raw('null')
}
