import { LRUCache } from 'lru-cache'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import { type Listing, NO_LISTING } from '../../domain/listing.js'
import type { ReferencedKeys } from '../../domain/references.js'
import type { Values } from '../../domain/values.js'
import { getEntity, getScalar, type Scalar } from '../../model/model.js'
import { getOrCreate, memoize, objectId } from '../../query/memoize.js'
import { placeholder } from '../../query/placeholder.js'
import { type Expr, type Plan, rowSource } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { toDecimalText, toTimestampText } from './casts.js'
import { pgType, quoteIdentifier, toColumn } from './columns.js'
import { toCondition } from './expression.js'
import type { RecordRow } from './json/records.js'
import { toRecordColumns } from './page-statement.js'
import type { Statement } from './statement.js'
import { bindParameters, type StatementTemplate, toStatementTemplate } from './statement-template.js'

const PROPERTY = getEntity('Property')
const TABLE = raw('"Property" r0')
const ROW = rowSource('r0')

/** Takes the lock of the change log until the end of the transaction. */
export const LOCK_CHANGE_LOG: Statement = sql`select lock_change_log()`

/** A record as it was written, in the form of its reader: the plan reads nothing but its row. */
export interface RecordRepresentation {
  readonly plan: Plan
  readonly representation: Representation
}

export interface ExistingKeysRow {
  readonly members?: readonly string[]
  readonly offices?: readonly string[]
}

export interface ListingRow extends Listing, ExistingKeysRow {
  readonly version: string
}

/** A row of what was written: the record as it is shown, and what the next write must know of it. */
export interface WriteResultRow extends RecordRow, Listing {
  readonly version: string
}

/** What a write takes for granted, so that the statement that writes must find it so. */
export interface WritePrecondition {
  /** What the record meets. */
  readonly condition: Expr
  readonly listing: Listing
  /** Keys of members that there are. */
  readonly memberKeys: ReadonlySet<string>
}

/** Those of the keys that there are. */
export const toExistingKeysStatement = ({ Member, Office }: ReferencedKeys): Sql =>
  sql`select ${join(toExistingKeyColumns({ Member: [...Member], Office: [...Office] }))}`

/**
 * What a write must know of a record, if the condition holds for it, and on the way which of the keys there
 * are.
 */
export function toSelectStatement(
  key: string,
  condition: Expr,
  { Member, Office }: ReferencedKeys,
  forUpdate: boolean,
): Statement {
  const variant = { Member: Member.size > 0, Office: Office.size > 0, isLocking: forUpdate }
  const template = getOrCreate(selectTemplatesOf(condition), JSON.stringify(variant), () =>
    buildSelectTemplate(condition, variant),
  )
  return bindParameters(template, [key, [...Member], [...Office]])
}

const selectTemplatesOf = memoize(function selectTemplatesOf(_condition: Expr) {
  return new Map<string, StatementTemplate>()
})

/**
 * What finding statements differ in, beside the condition: which keys are asked for, and whether the record
 * is locked.
 */
type SelectVariant = Readonly<Record<keyof ReferencedKeys | 'isLocking', boolean>>

function buildSelectTemplate(
  condition: Expr,
  { Member, Office, isLocking }: SelectVariant,
): StatementTemplate {
  const keys = toExistingKeyColumns({
    Member: Member ? placeholder(1) : EMPTY_KEY_LIST,
    Office: Office ? placeholder(2) : EMPTY_KEY_LIST,
  })
  const columns = [...SNAPSHOT_COLUMNS, VERSION_COLUMN, ...keys]
  const lock = isLocking ? raw(' for update') : empty
  return toStatementTemplate(
    sql`select ${join(columns)} from ${TABLE} where r0."ListingKey" = ${placeholder(0)} and ${toCondition(condition)}${lock}`,
    'generic',
  )
}

/** Locks those of the records that there are, in one order for all. */
export const toLockStatement = (keys: readonly string[]): Sql =>
  sql`select 1 from "Property" where "ListingKey" = any(${[...keys]}::text[]) order by "ListingKey" for update`

export function toInsertStatement(values: Values, representation: RecordRepresentation | undefined): Sql {
  const fields = toFieldsInModelOrder(values)
  const names = join(fields.map(({ name }) => quoteIdentifier(name)))
  return sql`insert into "Property" as r0 (${names}) values (${join(fields.map(field => toTypedParameter(field, values[field.name])))}) returning ${toReturningList(representation)}`
}

/**
 * Writes nothing, and returns no row, if the record is no longer of that version, or something that was
 * assumed is not so.
 */
export function toUpdateStatement(
  key: string,
  version: string,
  values: Values,
  representation: RecordRepresentation | undefined,
  precondition?: WritePrecondition,
): Statement {
  const fields = toFieldsInModelOrder(values)
  const names = fields.map(({ name }) => name)
  const cacheKey = [
    representation && [objectId(representation.plan), objectId(representation.representation)],
    preconditionCacheKey(precondition),
    names,
  ]
  const template = getOrCreate(UPDATE_TEMPLATES, JSON.stringify(cacheKey), () =>
    buildUpdateTemplate(fields, representation, precondition),
  )
  return bindParameters(template, [
    ...toPreconditionParameters(key, version, precondition),
    ...names.map(name => values[name]),
  ])
}

/** Clients mostly write the same few sets of fields. */
const UPDATE_TEMPLATES = new LRUCache<string, StatementTemplate>({ max: 500 })

function buildUpdateTemplate(
  fields: readonly Scalar[],
  representation: RecordRepresentation | undefined,
  precondition: WritePrecondition | undefined,
): StatementTemplate {
  const assignments = join(
    fields.map(
      (field, i) =>
        sql`${quoteIdentifier(field.name)} = ${toTypedParameter(field, placeholder(FIRST_VALUE_PARAMETER + i))}`,
    ),
  )
  return toStatementTemplate(
    sql`update ${TABLE} set ${assignments} where ${toPreconditionPredicate(precondition)} returning ${toReturningList(representation)}`,
    'generic',
  )
}

/**
 * Removes nothing, and returns no row, if the record is no longer of that version, or something that was
 * assumed is not so.
 */
export function toDeleteStatement(key: string, version: string, precondition?: WritePrecondition): Statement {
  const template = getOrCreate(
    DELETE_TEMPLATES,
    JSON.stringify(preconditionCacheKey(precondition) ?? null),
    () => buildDeleteTemplate(precondition),
  )
  return bindParameters(template, toPreconditionParameters(key, version, precondition))
}

const DELETE_TEMPLATES = new LRUCache<string, StatementTemplate>({ max: 500 })

const buildDeleteTemplate = (precondition: WritePrecondition | undefined): StatementTemplate =>
  toStatementTemplate(
    sql`delete from ${TABLE} where ${toPreconditionPredicate(precondition)} returning true as "removed"`,
    'generic',
  )

/** What `isAsFound` differs in. */
const preconditionCacheKey = (precondition: WritePrecondition | undefined) =>
  precondition && [objectId(precondition.condition), precondition.memberKeys.size > 0]

/** The fields of a listing that its next write must know. */
const SNAPSHOT_FIELDS: readonly Scalar[] = Object.keys(NO_LISTING).map(name => getScalar(PROPERTY, name))

/** What `isAsFound` stands for, in the order of its marks. */
const toPreconditionParameters = (
  key: string,
  version: string,
  precondition: WritePrecondition | undefined,
): readonly unknown[] => {
  const listing: Readonly<Record<string, unknown>> = { ...(precondition?.listing ?? NO_LISTING) }
  return [
    key,
    version,
    [...(precondition?.memberKeys ?? [])],
    ...SNAPSHOT_FIELDS.map(({ name }) => listing[name]),
  ]
}
const FIRST_SNAPSHOT_PARAMETER = 3
const FIRST_VALUE_PARAMETER = FIRST_SNAPSHOT_PARAMETER + SNAPSHOT_FIELDS.length

/**
 * The same version is the same record, unless the database was set back or somebody writes without triggers:
 * so what was remembered of it is compared too.
 */
function toPreconditionPredicate(precondition: WritePrecondition | undefined): Sql {
  const versionMatches = sql`r0."ListingKey" = ${placeholder(0)} and r0."RecordVersion" = ${placeholder(1)}::bigint`
  if (!precondition) return versionMatches
  const snapshotMatches = SNAPSHOT_FIELDS.map(
    (field, i) =>
      sql`${toColumn(field, ROW)} is not distinct from ${toTypedParameter(field, placeholder(FIRST_SNAPSHOT_PARAMETER + i))}`,
  )
  const membersExist = sql`(select count(*) from "Member" where "MemberKey" = any(${placeholder(2)}::text[])) = cardinality(${placeholder(2)}::text[])`
  return join(
    [
      versionMatches,
      toCondition(precondition.condition),
      ...snapshotMatches,
      ...(precondition.memberKeys.size > 0 ? [membersExist] : []),
    ],
    ' and ',
  )
}

const FIELD_ORDER: ReadonlyMap<string, number> = new Map(
  [...PROPERTY.fields.keys()].map((name, i) => [name, i]),
)
const fieldIndexOf = (name: string) => FIELD_ORDER.get(name) ?? FIELD_ORDER.size

/**
 * In the order of the model, so that the same fields make the same statement, which PostgreSQL knows by its
 * text.
 */
const toFieldsInModelOrder = (values: Values): readonly Scalar[] =>
  Object.keys(values)
    .sort((a, b) => fieldIndexOf(a) - fieldIndexOf(b))
    .map(name => getScalar(PROPERTY, name))

function toTypedParameter({ type, collection }: Scalar, value: Values[string] | undefined): Sql {
  return sql`${value}::${raw(collection ? `${pgType(type)}[]` : pgType(type))}`
}

/** Exact numbers and times as the texts that `Listing` has. */
const SNAPSHOT_COLUMNS: readonly Sql[] = SNAPSHOT_FIELDS.map(field => {
  const column = toColumn(field, ROW)
  const text =
    field.type === 'Decimal'
      ? toDecimalText(column)
      : field.type === 'DateTimeOffset'
        ? toTimestampText(column)
        : column
  return sql`${text} as ${quoteIdentifier(field.name)}`
})

const VERSION_COLUMN = sql`r0."RecordVersion"::text as "version"`

/** What the statement has written, triggers included: there is no need to read it again. */
const toReturningList = (representation: RecordRepresentation | undefined) =>
  join([
    ...(representation
      ? [toRecordColumns(representation.plan, representation.representation)]
      : [sql`'{}' as "json"`, VERSION_COLUMN]),
    ...SNAPSHOT_COLUMNS,
  ])

const EMPTY_KEY_LIST: readonly string[] = []

/** @param keys of each entity, or what is given for them. */
function toExistingKeyColumns({
  Member,
  Office,
}: { readonly [E in keyof ReferencedKeys]: readonly string[] | string }): readonly Sql[] {
  return [
    ...(Member.length > 0
      ? [sql`array(select "MemberKey" from "Member" where "MemberKey" = any(${Member}::text[])) as "members"`]
      : []),
    ...(Office.length > 0
      ? [sql`array(select "OfficeKey" from "Office" where "OfficeKey" = any(${Office}::text[])) as "offices"`]
      : []),
  ]
}
