import { LRUCache } from 'lru-cache'
import { type Listing, NO_LISTING } from '../domain/listing.js'
import type { Keys } from '../domain/references.js'
import type { Values } from '../domain/values.js'
import { entity, type Scalar, scalar } from '../model/model.js'
import { given } from '../query/given.js'
import type { Notation } from '../query/notation.js'
import { type Expr, type Plan, rowSource, TRUE } from '../query/plan.js'
import { recall, remember } from '../query/remember.js'
import { numberText, timestampText } from './casts.js'
import { Prisma } from './client/client.js'
import { identifier, pgType, toColumn } from './columns.js'
import type { Statement } from './connection.js'
import { toRecordColumns } from './page.js'
import { fill, type Prepared, prepare } from './prepared.js'
import type { RecordRow } from './read.js'
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

/** A row of what was written: the record as it is shown, and what the next write must know of it. */
export interface WrittenRow extends RecordRow, Listing {
  readonly version: string
}

/** What a write takes for granted, so that the statement that writes must find it: what the record meets, and that all of the keys are there. */
export interface Assumed {
  readonly condition: Expr
  readonly keys: Keys
}

/** Those of the keys that there are. */
export const toKeysStatement = ({ Member, Office }: Keys): Sql => sql`select ${join(toKeyColumns({ Member: [...Member], Office: [...Office] }))}`

/** What a write must know of a record, if the condition holds for it, and on the way which of the keys there are. */
export function toFindStatement(key: string, condition: Expr, keys: Keys, isLocking: boolean): Statement {
  const form = { ...formOf(keys), isLocking }
  const statement = recall(findingWith(condition), JSON.stringify(form), () => makeFindStatement(condition, form))
  return fill(statement, [key, [...keys.Member], [...keys.Office]])
}

const findingWith = remember((_condition: Expr) => new Map<string, Prepared>())

/** Which keys are asked for. */
type KeyForm = Readonly<Record<keyof Keys, boolean>>
const formOf = ({ Member, Office }: Keys): KeyForm => ({ Member: Member.size > 0, Office: Office.size > 0 })

function makeFindStatement(condition: Expr, { Member, Office, isLocking }: KeyForm & { readonly isLocking: boolean }): Prepared {
  const keys = toKeyColumns({ Member: Member ? given(1) : NONE, Office: Office ? given(2) : NONE })
  const lock = isLocking ? raw(' for update') : empty
  return prepare(
    sql`select ${join([...LISTING_COLUMNS, VERSION, ...keys])} from ${TABLE} where r0."ListingKey" = ${given(0)} and ${toCondition(condition)}${lock}`,
    'once',
  )
}

/** Locks those of the records that there are, in one order for all. */
export const toLockStatement = (keys: readonly string[]): Sql =>
  sql`select 1 from "Property" where "ListingKey" = any(${[...keys]}::text[]) order by "ListingKey" for update`

export function toInsertStatement(values: Values, shown: Shown | undefined): Sql {
  const fields = toFields(values)
  const names = join(fields.map(({ name }) => identifier(name)))
  return sql`insert into "Property" as r0 (${names}) values (${join(fields.map(field => toValue(field, values[field.name])))}) returning ${toReturning(shown)}`
}

/** Writes nothing, and returns no row, if the record is no longer of that version, or something that was assumed is not so. */
export function toUpdateStatement(key: string, version: string, values: Values, shown: Shown | undefined, assumed = NOTHING): Statement {
  const fields = toFields(values)
  const names = fields.map(({ name }) => name)
  const form = formOf(assumed.keys)
  const known = updatesOf(assumed.condition, shown?.plan ?? TABLE, shown?.notation ?? TABLE)
  const statement = recall(known, JSON.stringify([form, names]), () => makeUpdateStatement(fields, shown, assumed.condition, form))
  return fill(statement, [key, version, [...assumed.keys.Member], [...assumed.keys.Office], ...names.map(name => values[name])])
}

const NOTHING: Assumed = { condition: TRUE, keys: { Member: new Set(), Office: new Set() } }

/** Clients mostly write the same few sets of fields. */
const updatesOf = remember((_condition: Expr, _plan: object, _notation: object) => new LRUCache<string, Prepared>({ max: 50 }))

function makeUpdateStatement(fields: readonly Scalar[], shown: Shown | undefined, condition: Expr, { Member, Office }: KeyForm): Prepared {
  const changes = join(fields.map((field, i) => sql`${identifier(field.name)} = ${toValue(field, given(i + 4))}`))
  const keys = [...(Member ? [areThere('Member', given(2))] : []), ...(Office ? [areThere('Office', given(3))] : [])]
  const conditions = join([isVersion(given(0), given(1)), toCondition(condition), ...keys], ' and ')
  return prepare(sql`update ${TABLE} set ${changes} where ${conditions} returning ${toReturning(shown)}`, 'once')
}

/** @param keys all different. */
const areThere = (name: keyof Keys, keys: string) => {
  const { key } = entity(name)
  return sql`(select count(*) from ${identifier(name)} where ${identifier(key.name)} = any(${keys}::text[])) = cardinality(${keys}::text[])`
}

/** Removes nothing, and returns no row, if the record is no longer of that version, or does not meet what was assumed. */
export const toDeleteStatement = (key: string, version: string, { condition } = NOTHING): Sql =>
  sql`delete from ${TABLE} where ${isVersion(key, version)} and ${toCondition(condition)} returning true as "removed"`

const isVersion = (key: string, version: string) => sql`r0."ListingKey" = ${key} and r0."RecordVersion" = ${version}::bigint`

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

const VERSION = sql`r0."RecordVersion"::text as "version"`

/** What the statement has written, triggers included: there is no need to read it again. */
const toReturning = (shown: Shown | undefined) =>
  join([...(shown ? [toRecordColumns(shown.plan, shown.notation)] : [sql`'{}' as "json"`, VERSION]), ...LISTING_COLUMNS])

const NONE: readonly string[] = []

/** @param keys of each entity, or what is given for them. */
function toKeyColumns({ Member, Office }: { readonly [E in keyof Keys]: readonly string[] | string }): readonly Sql[] {
  return [
    ...(Member.length > 0 ? [sql`array(select "MemberKey" from "Member" where "MemberKey" = any(${Member}::text[])) as "members"`] : []),
    ...(Office.length > 0 ? [sql`array(select "OfficeKey" from "Office" where "OfficeKey" = any(${Office}::text[])) as "offices"`] : []),
  ]
}
