import { LRUCache } from 'lru-cache'
import { type Listing, NO_LISTING } from '../domain/listing.js'
import type { Keys } from '../domain/references.js'
import type { Values } from '../domain/values.js'
import { entity, type Scalar, scalar } from '../model/model.js'
import { given } from '../query/given.js'
import type { Notation } from '../query/notation.js'
import { type Expr, type Plan, rowSource } from '../query/plan.js'
import { recall, remember } from '../query/remember.js'
import { numberText, timestampText } from './casts.js'
import { Prisma } from './client/client.js'
import { identifier, pgType, toColumn } from './columns.js'
import type { Statement } from './connection.js'
import { toRecordColumns } from './page.js'
import { fill, type Prepared, prepare } from './prepared.js'
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
export const toKeysStatement = ({ Member, Office }: Keys): Sql => sql`select ${join(toKeyColumns({ Member: [...Member], Office: [...Office] }))}`

/** What a write must know of a record, if the condition holds for it, and on the way which of the keys there are. */
export function toFindStatement(key: string, condition: Expr, { Member, Office }: Keys, isLocking: boolean): Statement {
  const form = { Member: Member.size > 0, Office: Office.size > 0, isLocking }
  const statement = recall(findingWith(condition), JSON.stringify(form), () => makeFindStatement(condition, form))
  return fill(statement, [key, [...Member], [...Office]])
}

const findingWith = remember((_condition: Expr) => new Map<string, Prepared>())

/** What finding statements differ in, beside the condition: which keys are asked for, and whether the record is locked. */
type FindForm = Readonly<Record<keyof Keys | 'isLocking', boolean>>

function makeFindStatement(condition: Expr, { Member, Office, isLocking }: FindForm): Prepared {
  const keys = toKeyColumns({ Member: Member ? given(1) : NONE, Office: Office ? given(2) : NONE })
  const columns = [...LISTING_COLUMNS, sql`r0."RecordVersion"::text as "version"`, ...keys]
  const lock = isLocking ? raw(' for update') : empty
  return prepare(sql`select ${join(columns)} from ${TABLE} where r0."ListingKey" = ${given(0)} and ${toCondition(condition)}${lock}`, 'once')
}

/** Locks those of the records that there are, in one order for all. */
export const toLockStatement = (keys: readonly string[]): Sql =>
  sql`select 1 from "Property" where "ListingKey" = any(${[...keys]}::text[]) order by "ListingKey" for update`

export function toInsertStatement(values: Values, shown: Shown | undefined): Sql {
  const fields = toFields(values)
  const names = join(fields.map(({ name }) => identifier(name)))
  return sql`insert into "Property" as r0 (${names}) values (${join(fields.map(field => toValue(field, values[field.name])))}) returning ${toReturning(shown)}`
}

/** Writes nothing, and returns no row, if the record is no longer of that version. */
export function toUpdateStatement(key: string, version: string, values: Values, shown: Shown | undefined): Statement {
  const fields = toFields(values)
  const names = fields.map(({ name }) => name)
  const known = shown ? updatesShowing(shown.plan, shown.notation) : UPDATES
  const statement = recall(known, names.join(), () => makeUpdateStatement(fields, shown))
  return fill(statement, [key, version, ...names.map(name => values[name])])
}

function makeUpdateStatement(fields: readonly Scalar[], shown: Shown | undefined): Prepared {
  const changes = join(fields.map((field, i) => sql`${identifier(field.name)} = ${toValue(field, given(i + 2))}`))
  return prepare(sql`update ${TABLE} set ${changes} where ${isVersion(given(0), given(1))} returning ${toReturning(shown)}`, 'once')
}

/** Clients mostly write the same few sets of fields. */
const newUpdates = () => new LRUCache<string, Prepared>({ max: 50 })
const UPDATES = newUpdates()
const updatesShowing = remember((_plan: Plan, _notation: Notation) => newUpdates())

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

function toValue({ type, collection }: Scalar, value: Values[string] | undefined): Sql {
  return sql`${value}::${raw(collection ? `${pgType(type)}[]` : pgType(type))}`
}

/** Exact numbers and times as the texts that `Listing` has. */
const LISTING_COLUMNS: readonly Sql[] = Object.keys(NO_LISTING).map(name => {
  const field = scalar(PROPERTY, name)
  const column = toColumn(field, ROW)
  const text = field.type === 'Decimal' ? numberText(column) : field.type === 'DateTimeOffset' ? timestampText(column) : column
  return sql`${text} as ${identifier(name)}`
})

const NONE: readonly string[] = []

/** @param keys of each entity, or what is given for them. */
function toKeyColumns({ Member, Office }: { readonly [E in keyof Keys]: readonly string[] | string }): readonly Sql[] {
  return [
    ...(Member.length > 0 ? [sql`array(select "MemberKey" from "Member" where "MemberKey" = any(${Member}::text[])) as "members"`] : []),
    ...(Office.length > 0 ? [sql`array(select "OfficeKey" from "Office" where "OfficeKey" = any(${Office}::text[])) as "offices"`] : []),
  ]
}
