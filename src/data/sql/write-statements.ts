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

/** Locks the change log until the end of the transaction. */
export const LOCK_CHANGE_LOG: Statement = sql`select lock_change_log()`

/** The representation in which a written record is returned. Its plan reads only the record's row. */
export interface RecordRepresentation {
  readonly plan: Plan
  readonly representation: Representation
}

/** The existing keys among the referenced ones. */
export interface ExistingKeysRow {
  readonly members?: readonly string[]
  readonly offices?: readonly string[]
}

export interface ListingRow extends Listing, ExistingKeysRow {
  readonly version: string
}

/** A row that a write returns: the record's JSON, and the fields that the next write checks. */
export interface WriteResultRow extends RecordRow, Listing {
  readonly version: string
}

/** Facts that a write assumes. The writing statement must find them true. */
export interface WritePrecondition {
  /** A condition that the record meets. */
  readonly condition: Expr
  readonly listing: Listing
  /** Keys of members that exist. */
  readonly memberKeys: ReadonlySet<string>
}

/**
 * Renders the statement that returns the existing keys among the given ones.
 *   Member {'M1'} → `select array(select "MemberKey" from "Member" where "MemberKey" = any($1::text[])) as
 *     "members"`
 */
export const toExistingKeysStatement = ({ Member, Office }: ReferencedKeys): Sql =>
  sql`select ${join(toExistingKeyColumns({ Member: [...Member], Office: [...Office] }))}`

/**
 * Renders the statement that reads the fields a write checks, if the record meets the condition. It also
 * returns the existing keys among the given ones.
 *   ('L1', TRUE, no keys, true) → `select r0."StandardStatus" as
 *     "StandardStatus",…,r0."RecordVersion"::text as "version" from "Property" r0 where r0."ListingKey" = $1
 *     and true for update`
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
 * Variants of the statement, besides its condition: the entities whose keys it looks up, and whether it locks
 * the record.
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

/**
 * Renders the statement that locks the existing records among the given keys. The order is the same for all
 * transactions, so that they cannot deadlock.
 *   ['L1'] → `select 1 from "Property" where "ListingKey" = any($1::text[]) order by "ListingKey" for
 *     update`
 */
export const toLockStatement = (keys: readonly string[]): Sql =>
  sql`select 1 from "Property" where "ListingKey" = any(${[...keys]}::text[]) order by "ListingKey" for update`

/**
 * Renders an INSERT that returns the record.
 *   { ListingKey: 'L1', City: 'Austin' } → `insert into "Property" as r0 ("ListingKey","City") values
 *     ($1::text,$2::text) returning …`
 */
export function toInsertStatement(values: Values, representation: RecordRepresentation | undefined): Sql {
  const fields = toFieldsInModelOrder(values)
  const names = join(fields.map(({ name }) => quoteIdentifier(name)))
  return sql`insert into "Property" as r0 (${names}) values (${join(fields.map(field => toTypedParameter(field, values[field.name])))}) returning ${toReturningList(representation)}`
}

/**
 * Renders an UPDATE that returns the record. It changes nothing and returns no row if the record has another
 * version or a precondition does not hold.
 *   ('L1', '7', { City: 'Austin' }) → `update "Property" r0 set "City" = $1::text where r0."ListingKey" =
 *     $2 and r0."RecordVersion" = $3::bigint returning …`
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

/** Clients usually write the same few sets of fields. */
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
 * Renders a DELETE. It deletes nothing and returns no row if the record has another version or a precondition
 * does not hold.
 *   ('L1', '7') → `delete from "Property" r0 where r0."ListingKey" = $1 and r0."RecordVersion" = $2::bigint
 *     returning true as "removed"`
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

/** Returns the cache key of a precondition: equal keys have equal SQL from `toPreconditionPredicate`. */
const preconditionCacheKey = (precondition: WritePrecondition | undefined) =>
  precondition && [objectId(precondition.condition), precondition.memberKeys.size > 0]

/** The fields of a listing that its next write checks. */
const SNAPSHOT_FIELDS: readonly Scalar[] = Object.keys(NO_LISTING).map(name => getScalar(PROPERTY, name))

/** Returns the values of the placeholders of `toPreconditionPredicate`, in their order. */
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
 * Renders the precondition of a write. The snapshot is compared too: the version alone does not identify the
 * record's state if the database was restored or a program wrote without triggers.
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
 * Returns the fields in the order of the model, so that the same fields give the same statement text, by
 * which PostgreSQL caches the plan.
 */
const toFieldsInModelOrder = (values: Values): readonly Scalar[] =>
  Object.keys(values)
    .sort((a, b) => fieldIndexOf(a) - fieldIndexOf(b))
    .map(name => getScalar(PROPERTY, name))

function toTypedParameter({ type, collection }: Scalar, value: Values[string] | undefined): Sql {
  return sql`${value}::${raw(collection ? `${pgType(type)}[]` : pgType(type))}`
}

/** Columns of the snapshot. Decimals and timestamps have the text form of `Listing`. */
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

/** Renders the RETURNING list: the record after the triggers, and the snapshot for the next write. */
const toReturningList = (representation: RecordRepresentation | undefined) =>
  join([
    ...(representation
      ? [toRecordColumns(representation.plan, representation.representation)]
      : [sql`'{}' as "json"`, VERSION_COLUMN]),
    ...SNAPSHOT_COLUMNS,
  ])

const EMPTY_KEY_LIST: readonly string[] = []

/** @param keys by entity, or their placeholders */
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
