import { LRUCache } from 'lru-cache'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import { type Listing, NO_LISTING } from '../../domain/listing.js'
import type { Keys } from '../../domain/references.js'
import type { Values } from '../../domain/values.js'
import { entity, type Scalar, scalar } from '../../model/model.js'
import { numberOf, recall, remember } from '../../query/memoize.js'
import { given } from '../../query/placeholder.js'
import { type Expr, type Plan, rowSource } from '../../query/plan.js'
import type { Notation } from '../../query/representation.js'
import { numberText, timestampText } from './casts.js'
import { identifier, pgType, toColumn } from './columns.js'
import { toCondition } from './expression.js'
import type { RecordRow } from './json/records.js'
import { toRecordColumns } from './page-statement.js'
import type { Statement } from './statement.js'
import { fill, type Prepared, prepare } from './statement-template.js'

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

/** What a write takes for granted, so that the statement that writes must find it so. */
export interface Assumed {
  /** What the record meets. */
  readonly condition: Expr
  readonly listing: Listing
  /** Keys of members that there are. */
  readonly members: ReadonlySet<string>
}

/** Those of the keys that there are. */
export const toKeysStatement = ({ Member, Office }: Keys): Sql =>
  sql`select ${join(toKeyColumns({ Member: [...Member], Office: [...Office] }))}`

/**
 * What a write must know of a record, if the condition holds for it, and on the way which of the keys there
 * are.
 */
export function toFindStatement(
  key: string,
  condition: Expr,
  { Member, Office }: Keys,
  isLocking: boolean,
): Statement {
  const form = { Member: Member.size > 0, Office: Office.size > 0, isLocking }
  const statement = recall(findingWith(condition), JSON.stringify(form), () =>
    makeFindStatement(condition, form),
  )
  return fill(statement, [key, [...Member], [...Office]])
}

const findingWith = remember((_condition: Expr) => new Map<string, Prepared>())

/**
 * What finding statements differ in, beside the condition: which keys are asked for, and whether the record
 * is locked.
 */
type FindForm = Readonly<Record<keyof Keys | 'isLocking', boolean>>

function makeFindStatement(condition: Expr, { Member, Office, isLocking }: FindForm): Prepared {
  const keys = toKeyColumns({ Member: Member ? given(1) : NONE, Office: Office ? given(2) : NONE })
  const columns = [...LISTING_COLUMNS, VERSION, ...keys]
  const lock = isLocking ? raw(' for update') : empty
  return prepare(
    sql`select ${join(columns)} from ${TABLE} where r0."ListingKey" = ${given(0)} and ${toCondition(condition)}${lock}`,
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

/**
 * Writes nothing, and returns no row, if the record is no longer of that version, or something that was
 * assumed is not so.
 */
export function toUpdateStatement(
  key: string,
  version: string,
  values: Values,
  shown: Shown | undefined,
  assumed?: Assumed,
): Statement {
  const fields = toFields(values)
  const names = fields.map(({ name }) => name)
  const form = [shown && [numberOf(shown.plan), numberOf(shown.notation)], formOf(assumed), names]
  const statement = recall(UPDATES, JSON.stringify(form), () => makeUpdateStatement(fields, shown, assumed))
  return fill(statement, [...toGiven(key, version, assumed), ...names.map(name => values[name])])
}

/** Clients mostly write the same few sets of fields. */
const UPDATES = new LRUCache<string, Prepared>({ max: 500 })

function makeUpdateStatement(
  fields: readonly Scalar[],
  shown: Shown | undefined,
  assumed: Assumed | undefined,
): Prepared {
  const changes = join(
    fields.map((field, i) => sql`${identifier(field.name)} = ${toValue(field, given(FIRST_VALUE + i))}`),
  )
  return prepare(
    sql`update ${TABLE} set ${changes} where ${isAsFound(assumed)} returning ${toReturning(shown)}`,
    'once',
  )
}

/**
 * Removes nothing, and returns no row, if the record is no longer of that version, or something that was
 * assumed is not so.
 */
export function toDeleteStatement(key: string, version: string, assumed?: Assumed): Statement {
  const statement = recall(DELETES, JSON.stringify(formOf(assumed) ?? null), () =>
    makeDeleteStatement(assumed),
  )
  return fill(statement, toGiven(key, version, assumed))
}

const DELETES = new LRUCache<string, Prepared>({ max: 500 })

const makeDeleteStatement = (assumed: Assumed | undefined): Prepared =>
  prepare(sql`delete from ${TABLE} where ${isAsFound(assumed)} returning true as "removed"`, 'once')

/** What `isAsFound` differs in. */
const formOf = (assumed: Assumed | undefined) =>
  assumed && [numberOf(assumed.condition), assumed.members.size > 0]

/** The fields of a listing that its next write must know. */
const KNOWN: readonly Scalar[] = Object.keys(NO_LISTING).map(name => scalar(PROPERTY, name))

/** What `isAsFound` stands for, in the order of its marks. */
const toGiven = (key: string, version: string, assumed: Assumed | undefined): readonly unknown[] => {
  const listing: Readonly<Record<string, unknown>> = { ...(assumed?.listing ?? NO_LISTING) }
  return [key, version, [...(assumed?.members ?? [])], ...KNOWN.map(({ name }) => listing[name])]
}
const FIRST_KNOWN = 3
const FIRST_VALUE = FIRST_KNOWN + KNOWN.length

/**
 * The same version is the same record, unless the database was set back or somebody writes without triggers:
 * so what was remembered of it is compared too.
 */
function isAsFound(assumed: Assumed | undefined): Sql {
  const version = sql`r0."ListingKey" = ${given(0)} and r0."RecordVersion" = ${given(1)}::bigint`
  if (!assumed) return version
  const seen = KNOWN.map(
    (field, i) => sql`${toColumn(field, ROW)} is not distinct from ${toValue(field, given(FIRST_KNOWN + i))}`,
  )
  const members = sql`(select count(*) from "Member" where "MemberKey" = any(${given(2)}::text[])) = cardinality(${given(2)}::text[])`
  return join(
    [version, toCondition(assumed.condition), ...seen, ...(assumed.members.size > 0 ? [members] : [])],
    ' and ',
  )
}

const ORDER: ReadonlyMap<string, number> = new Map([...PROPERTY.fields.keys()].map((name, i) => [name, i]))
const placeOf = (name: string) => ORDER.get(name) ?? ORDER.size

/**
 * In the order of the model, so that the same fields make the same statement, which PostgreSQL knows by its
 * text.
 */
const toFields = (values: Values): readonly Scalar[] =>
  Object.keys(values)
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map(name => scalar(PROPERTY, name))

function toValue({ type, collection }: Scalar, value: Values[string] | undefined): Sql {
  return sql`${value}::${raw(collection ? `${pgType(type)}[]` : pgType(type))}`
}

/** Exact numbers and times as the texts that `Listing` has. */
const LISTING_COLUMNS: readonly Sql[] = KNOWN.map(field => {
  const column = toColumn(field, ROW)
  const text =
    field.type === 'Decimal'
      ? numberText(column)
      : field.type === 'DateTimeOffset'
        ? timestampText(column)
        : column
  return sql`${text} as ${identifier(field.name)}`
})

const VERSION = sql`r0."RecordVersion"::text as "version"`

/** What the statement has written, triggers included: there is no need to read it again. */
const toReturning = (shown: Shown | undefined) =>
  join([
    ...(shown ? [toRecordColumns(shown.plan, shown.notation)] : [sql`'{}' as "json"`, VERSION]),
    ...LISTING_COLUMNS,
  ])

const NONE: readonly string[] = []

/** @param keys of each entity, or what is given for them. */
function toKeyColumns({
  Member,
  Office,
}: { readonly [E in keyof Keys]: readonly string[] | string }): readonly Sql[] {
  return [
    ...(Member.length > 0
      ? [sql`array(select "MemberKey" from "Member" where "MemberKey" = any(${Member}::text[])) as "members"`]
      : []),
    ...(Office.length > 0
      ? [sql`array(select "OfficeKey" from "Office" where "OfficeKey" = any(${Office}::text[])) as "offices"`]
      : []),
  ]
}
