import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { Assignment } from '../../domain/field-assignments.js'
import { NO_LISTING, type StoredListing } from '../../domain/listing.js'
import type { Values } from '../../domain/values.js'
import type { WritePlan } from '../../domain/write-plan.js'
import { parameterIndex } from '../../domain/write-shape.js'
import { getEntity, getScalar, type Scalar } from '../../model/model.js'
import { getOrCreate, memoize } from '../../query/memoize.js'
import { isTrue, ParameterRef, type Plan, rowSource } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { toDecimalText, toTimestampText } from './casts.js'
import { pgType, quoteIdentifier, toColumn } from './columns.js'
import { toCondition, toSql } from './expression.js'
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

/** A row that a write returns. */
export interface WriteResultRow extends RecordRow {
  readonly version: string
}

/** The records that the rules of a write read. */
export interface RuleInputsRow extends StoredListing {
  /** The office of each existing member, by its key. */
  readonly members: Readonly<Record<string, string | null>> | null
  readonly offices: readonly string[]
}

/**
 * Renders an UPDATE that changes the record if the rules of the write hold for it, and returns it. Derived
 * fields are computed from the old row. If a rule does not hold, nothing changes and no row is returned.
 *   { ListPrice: 5 } of a token that writes its own listings → `update "Property" r0 set "ListPrice" =
 *     $1::numeric, "PreviousListPrice" = case when … then r0."ListPrice" else r0."PreviousListPrice" end, …
 *     where r0."ListingKey" = $2 and (r0."ListAgentKey" = …) returning …`
 */
export const toUpdateStatement = (
  plan: WritePlan,
  parameters: readonly unknown[],
  representation: RecordRepresentation | undefined,
): Statement =>
  bindTemplate(
    plan,
    'update',
    representation,
    () =>
      sql`update ${TABLE} set ${toAssignmentList(plan)} where ${toWhere(plan)} returning ${toReturningList(representation)}`,
    parameters,
  )

/**
 * Renders a DELETE that removes the record if the rules of the write hold for it.
 *   → `delete from "Property" r0 where r0."ListingKey" = $1 and … returning …`
 */
export const toDeleteStatement = (plan: WritePlan, parameters: readonly unknown[]): Statement =>
  bindTemplate(
    plan,
    'delete',
    undefined,
    () => sql`delete from ${TABLE} where ${toWhere(plan)} returning ${toReturningList(undefined)}`,
    parameters,
  )

/**
 * Renders an INSERT that adds the record if the rules of the write hold, and returns it.
 *   { ListingKey: 'L1', City: 'Austin' } → `insert into "Property" as r0 ("ListingKey","City") select
 *     $1::text,$2::text where … returning …`
 */
export function toInsertStatement(
  plan: WritePlan,
  parameters: readonly unknown[],
  values: Values,
  representation: RecordRepresentation | undefined,
): Statement {
  const fields = toFieldsInModelOrder(values)
  return bindTemplate(
    plan,
    `insert ${fields.map(f => f.name).join()}`,
    representation,
    () => {
      const names = join(fields.map(({ name }) => quoteIdentifier(name)))
      const list = join(
        fields.map((field, i) => toTypedParameter(field, new ParameterRef(parameters.length + i))),
      )
      return sql`insert into "Property" as r0 (${names}) select ${list} where ${toCondition(plan.condition)} and ${NAME_WRITER} returning ${toReturningList(representation)}`
    },
    [...parameters, ...fields.map(({ name }) => values[name])],
  )
}

/**
 * Returns the statement of a write with its values. The text depends only on the plan, the kind of statement
 * and the representation, so PostgreSQL can reuse its plan.
 */
function bindTemplate(
  plan: WritePlan,
  kind: string,
  representation: RecordRepresentation | undefined,
  render: () => Sql,
  parameters: readonly unknown[],
): Statement {
  const templates = templatesOf(plan, representation?.plan ?? plan, representation?.representation ?? plan)
  const template = getOrCreate(templates, kind, () => toStatementTemplate(render(), 'generic'))
  return bindParameters(template, parameters)
}

/**
 * The templates of a plan and a representation, by kind. Without a representation they are memoized by the
 * plan alone.
 */
const templatesOf = memoize(function templatesOf(
  _plan: WritePlan,
  _readPlan: Plan | WritePlan,
  _representation: Representation | WritePlan,
) {
  return new Map<string, StatementTemplate>()
})

/**
 * Renders the conditions of a write. `condition` is the literal true for a write without rules.
 */
const toWhere = ({ condition }: WritePlan): Sql =>
  sql`r0."ListingKey" = ${new ParameterRef(parameterIndex('key'))}${isTrue(condition) ? empty : sql` and ${toCondition(condition)}`} and ${NAME_WRITER}`

/**
 * Sets the author for the audit log, whose trigger runs after the row is written. The setting ends with the
 * transaction. It is a condition, since a statement of its own would be another round trip.
 */
const NAME_WRITER: Sql = sql`set_config('listing.writer', ${new ParameterRef(parameterIndex('writer'))}, true) is not null`

/**
 * Renders the SET list: values of the body, and derived fields.
 *   `"City" = $1::text,"CloseDate" = case when … then $2::date else r0."CloseDate" end`
 */
function toAssignmentList({ shape, assignments }: WritePlan): Sql {
  const names = new Set([...shape.fields.keys(), ...assignments.map(a => a.field.name)])
  const fields = [...names].sort((a, b) => fieldIndexOf(a) - fieldIndexOf(b))
  return join(
    fields.map(name => {
      const field = getScalar(PROPERTY, name)
      const written = shape.fields.has(name)
        ? toTypedParameter(field, new ParameterRef(parameterIndex(name)))
        : undefined
      const derived = assignments.filter(a => a.field === field)
      return sql`${quoteIdentifier(name)} = ${toNewValue(field, written, derived)}`
    }),
  )
}

/** The last assignment counts, so its condition comes first. */
function toNewValue(field: Scalar, written: Sql | undefined, assignments: readonly Assignment[]): Sql {
  const always = assignments.findLastIndex(({ when }) => isTrue(when))
  const fallback = assignments[always]
  const otherwise = fallback ? toSql(fallback.value) : (written ?? toColumn(field, ROW))
  const cases = assignments
    .slice(always + 1)
    .toReversed()
    .map(({ when, value }) => sql` when ${toCondition(when)} then ${toSql(value)}`)
  return cases.length === 0 ? otherwise : sql`case${join(cases, '')} else ${otherwise} end`
}

/**
 * Renders the statement that reads the inputs of the rules: the stored record, and the members and offices
 * with the given keys. The agent of the record is one of the members.
 *   ('L1', keys, true) → `select r0."StandardStatus" as "StandardStatus",…,(select json_object_agg(…) from
 *     "Member" …) as "members",… from "Property" r0 where r0."ListingKey" = $1 for update of r0`
 */
export const toRuleInputsStatement = (key: string, keys: readonly string[], forUpdate: boolean): Statement =>
  bindParameters(forUpdate ? LOCKING_RULE_INPUTS : RULE_INPUTS, [key, [...keys]])

/** Renders the same without a record, for a write that creates one. */
export const toReferencesStatement = (keys: readonly string[]): Statement =>
  bindParameters(REFERENCES, [undefined, [...keys]])

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

function toTypedParameter({ type, collection }: Scalar, value: Values[string] | ParameterRef): Sql {
  return sql`${value}::${raw(collection ? `${pgType(type)}[]` : pgType(type))}`
}

/** The fields of a listing that the rules of a write read. */
const RULE_FIELDS: readonly Scalar[] = Object.keys(NO_LISTING).map(name => getScalar(PROPERTY, name))

/** Decimals and timestamps have the text form of `Listing`. */
const RULE_COLUMNS: readonly Sql[] = RULE_FIELDS.map(field => {
  const column = toColumn(field, ROW)
  const text =
    field.type === 'Decimal'
      ? toDecimalText(column)
      : field.type === 'DateTimeOffset'
        ? toTimestampText(column)
        : column
  return sql`${text} as ${quoteIdentifier(field.name)}`
})

const KEYS = sql`${new ParameterRef(1)}::text[]`
const toReferenceColumns = (keys: Sql): readonly Sql[] => [
  sql`(select json_object_agg("MemberKey", "OfficeKey") from "Member" where "MemberKey" = any(${keys})) as "members"`,
  sql`array(select "OfficeKey" from "Office" where "OfficeKey" = any(${KEYS})) as "offices"`,
]

const toRuleInputsTemplate = (lock: Sql): StatementTemplate =>
  toStatementTemplate(
    sql`select ${join([
      ...RULE_COLUMNS,
      sql`r0."RecordVersion"::text as "RecordVersion"`,
      ...toReferenceColumns(sql`${KEYS} || r0."ListAgentKey"`),
    ])} from ${TABLE} where r0."ListingKey" = ${new ParameterRef(0)}${lock}`,
    'generic',
  )

const RULE_INPUTS = toRuleInputsTemplate(empty)
const LOCKING_RULE_INPUTS = toRuleInputsTemplate(raw(' for update of r0'))
const REFERENCES = toStatementTemplate(sql`select ${join(toReferenceColumns(KEYS))}`, 'generic')

/**
 * Renders the statement that locks the existing records among the given keys. The order is the same for all
 * transactions, so that they cannot deadlock.
 *   ['L1'] → `select 1 from "Property" where "ListingKey" = any($1::text[]) order by "ListingKey" for
 *     update`
 */
export const toLockStatement = (keys: readonly string[]): Sql =>
  sql`select 1 from "Property" where "ListingKey" = any(${[...keys]}::text[]) order by "ListingKey" for update`

/** Renders the RETURNING list: the record after the triggers, or its version alone. */
const toReturningList = (representation: RecordRepresentation | undefined): Sql =>
  representation
    ? toRecordColumns(representation.plan, representation.representation)
    : sql`'{}' as "json", r0."RecordVersion"::text as "version"`
