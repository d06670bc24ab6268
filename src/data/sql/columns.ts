import sql, { join, raw, type Sql } from 'sql-template-tag'
import { entity, type Navigation, type Scalar, scalar } from '../../model/model.js'
import type { Value } from '../../query/ast.js'
import type { Type, ValueType } from '../../query/functions.js'
import type { Collection, Expr, RowName, Source } from '../../query/plan.js'

const PG_TYPE: Readonly<Record<ValueType, string>> = {
  Boolean: 'boolean', Int32: 'int', Int64: 'bigint', Decimal: 'numeric', Double: 'double precision', String: 'text',
  DateTimeOffset: 'timestamptz', Date: 'date', TimeOfDay: 'time', Duration: 'numeric', GeographyPoint: 'jsonb', GeographyPolygon: 'polygon[]',
} // biome-ignore format: table

export const pgType = (type: Type): string =>
  PG_TYPE[type as ValueType] ?? `${PG_TYPE[type.slice('Collection('.length, -1) as ValueType]}[]` // a Type is one or the other

/**
 * The type of what an expression comes to: integers are computed as numeric, and may be larger than their own
 * type holds.
 */
export const computedType = (type: Type): string =>
  type === 'Int32' || type === 'Int64' ? PG_TYPE.Decimal : pgType(type)

/** A name of the model, or that of a computed value: clients choose the latter. */
export const identifier = (name: string) => raw(`"${name.replaceAll('"', '""')}"`)
const columnAt = (row: string, name: string) => raw(`${row}."${name}"`)

/** The text as LIKE finds it, sign for sign. */
export const escapeLike = (text: string) => text.replaceAll(/[\\%_]/g, String.raw`\$&`)

export function toLiteral(value: Value, type: ValueType): Sql {
  if (value === null) return raw(`null::${PG_TYPE[type]}`)
  if (type === 'GeographyPoint') return pointLiteral(String(value))
  if (type === 'GeographyPolygon') return polygonLiteral(String(value))
  // Literals compare by code point too, also with one another.
  return type === 'String' ? sql`(${value}::text collate "C")` : sql`${value}::${raw(PG_TYPE[type])}`
}

/** `value` is "longitude latitude", as the parser leaves it. */
function pointLiteral(value: string): Sql {
  const [longitude, latitude] = value.split(' ')
  return sql`geo_json(${longitude}::numeric, ${latitude}::numeric)`
}

/**
 * The rings of a polygon, the outer one first; `value` is "lon lat,lon lat,...;ring", as the parser leaves
 * it.
 */
export const ringsOf = (value: string): readonly string[] =>
  value.split(';').map(
    ring =>
      `(${ring
        .split(',')
        .map(p => `(${p.replace(' ', ',')})`)
        .join(',')})`,
  )
const polygonLiteral = (value: string) =>
  sql`array[${join(ringsOf(value).map(ring => sql`${ring}::polygon`))}]`

/** The record that a source leads to is the one row of `via`. */
export function toColumn({ name }: Scalar, source: Source): Sql {
  if (source.kind === 'row') return columnAt(source.row, name)
  if (source.kind === 'key')
    return sql`(select ${columnAt('via', name)} from ${identifier(source.entity.name)} via where ${columnAt('via', source.entity.key.name)} = ${toKeyLiteral(source.key)})`
  return sql`(select ${columnAt('via', name)} from ${identifier(source.navigation.target)} via where ${columnAt('via', source.navigation.foreign)} = ${joinColumn(source.navigation, source.from)})`
}

/** The column of this side of a navigation's join. */
function joinColumn(navigation: Navigation, from: Source): Sql {
  const of =
    from.kind === 'via' ? entity(from.navigation.target) : from.kind === 'key' ? from.entity : undefined
  return of
    ? toColumn(scalar(of, navigation.local), from)
    : columnAt(from.kind === 'row' ? from.row : '', navigation.local)
}

/** `from` and join condition of the rows or values of a collection, under the given name. */
export function toRows(over: Collection, row: RowName): { readonly from: Sql; readonly join: Sql } {
  if (over.kind === 'values')
    return {
      from: sql`unnest(${toColumn(over.scalar, over.source)}) ${raw(`${row}(value)`)}`,
      join: raw('true'),
    }
  const { navigation, source } = over
  return {
    from: sql`${identifier(navigation.target)} ${raw(row)}`,
    join: sql`${columnAt(row, navigation.foreign)} = ${joinColumn(navigation, source)}`,
  }
}

/** A key is a literal: the binder takes no other. */
const toKeyLiteral = (key: Expr) => (key.kind === 'literal' ? toLiteral(key.value, key.type) : raw('null'))
