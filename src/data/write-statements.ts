import { type Listing, NO_LISTING } from '../domain/listing.js'
import type { Keys } from '../domain/references.js'
import type { Values } from '../domain/values.js'
import { entity, type Scalar, scalar } from '../model/model.js'
import type { Notation } from '../query/notation.js'
import { type Expr, type Plan, rowSource } from '../query/plan.js'
import { numberText, timestampText } from './casts.js'
import { Prisma } from './client/client.js'
import { identifier, pgType, toColumn } from './columns.js'
import { toRecordColumns } from './page.js'
import type { Sql } from './render.js'
import { toCondition } from './sql.js'

const { sql, raw, join, empty } = Prisma
const PROPERTY = entity('Property')
const TABLE = raw('"Property" r0')
const ROW = rowSource('r0')

/** A record as it was written, in the form of its reader: the plan reads nothing but its row. */
export interface Shown {
  readonly plan: Plan
  readonly notation: Notation
}

export interface KeyRow {
  readonly members?: readonly string[]
  readonly offices?: readonly string[]
}

export interface ListingRow extends Listing, KeyRow {
  readonly version: string
}

/** Those of the keys that there are. */
export const toKeysStatement = (keys: Keys): Sql => sql`select ${join(toKeyColumns(keys))}`

/** What a write must know of a record, if the condition holds for it, and on the way which of the keys there are. */
export function toFindStatement(key: string, condition: Expr, keys: Keys, isLocking: boolean): Sql {
  const columns = [...LISTING_COLUMNS, sql`r0."RecordVersion"::text as "version"`, ...toKeyColumns(keys)]
  const lock = isLocking ? raw(' for update') : empty
  return sql`select ${join(columns)} from ${TABLE} where r0."ListingKey" = ${key} and ${toCondition(condition)}${lock}`
}

/** Locks those of the records that there are, in one order for all. */
export const toLockStatement = (keys: readonly string[]): Sql =>
  sql`select 1 from "Property" where "ListingKey" = any(${[...keys]}::text[]) order by "ListingKey" for update`

export function toInsertStatement(values: Values, shown: Shown | undefined): Sql {
  const fields = toFields(values)
  const names = join(fields.map(({ name }) => identifier(name)))
  return sql`insert into "Property" as r0 (${names}) values (${join(fields.map(field => toValue(field, values)))}) returning ${toReturning(shown)}`
}

/** Writes nothing, and returns no row, if the record is no longer of that version. */
export function toUpdateStatement(key: string, version: string, values: Values, shown: Shown | undefined): Sql {
  const changes = join(toFields(values).map(field => sql`${identifier(field.name)} = ${toValue(field, values)}`))
  return sql`update ${TABLE} set ${changes} where ${isVersion(key, version)} returning ${toReturning(shown)}`
}

/** Removes nothing, and returns no row, if the record is no longer of that version. */
export const toDeleteStatement = (key: string, version: string): Sql => sql`delete from ${TABLE} where ${isVersion(key, version)} returning true as "removed"`

const isVersion = (key: string, version: string) => sql`r0."ListingKey" = ${key} and r0."RecordVersion" = ${version}::bigint`

/** What the statement has written, triggers included: there is no need to read it again. */
const toReturning = (shown: Shown | undefined) =>
  shown ? toRecordColumns(shown.plan, shown.notation) : raw(`'{}' as "json", r0."RecordVersion"::text as "version"`)

const ORDER: ReadonlyMap<string, number> = new Map([...PROPERTY.fields.keys()].map((name, i) => [name, i]))
const placeOf = (name: string) => ORDER.get(name) ?? ORDER.size

/** In the order of the model, so that the same fields make the same statement, which PostgreSQL knows by its text. */
const toFields = (values: Values): readonly Scalar[] =>
  Object.keys(values).sort((a, b) => placeOf(a) - placeOf(b)).map(name => scalar(PROPERTY, name)) // biome-ignore format: one line

function toValue({ name, type, collection }: Scalar, values: Values): Sql {
  const value = values[name]
  return sql`${value}::${raw(collection ? `${pgType(type)}[]` : pgType(type))}`
}

/** Exact numbers and times as the texts that `Listing` has. */
const LISTING_COLUMNS: readonly Sql[] = Object.keys(NO_LISTING).map(name => {
  const field = scalar(PROPERTY, name)
  const column = toColumn(field, ROW)
  const text = field.type === 'Decimal' ? numberText(column) : field.type === 'DateTimeOffset' ? timestampText(column) : column
  return sql`${text} as ${identifier(name)}`
})

function toKeyColumns({ Member, Office }: Keys): readonly Sql[] {
  return [
    ...(Member.size > 0 ? [sql`array(select "MemberKey" from "Member" where "MemberKey" = any(${[...Member]}::text[])) as "members"`] : []),
    ...(Office.size > 0 ? [sql`array(select "OfficeKey" from "Office" where "OfficeKey" = any(${[...Office]}::text[])) as "offices"`] : []),
  ]
}
