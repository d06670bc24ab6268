import { isDeepStrictEqual } from 'node:util'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { MetaField } from '../../../query/ast.js'
import { memoize } from '../../../query/memoize.js'
import {
  type Expansion,
  type Expr,
  isFalse,
  type Plan,
  type RowSource,
  rowSource,
  type SelectItem,
} from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'
import { toCollectionRows, toColumn } from '../columns.js'
import { toCondition, toSql } from '../expression.js'
import {
  type JsonExpression,
  jsonByTextCast,
  jsonByToJson,
  jsonIf,
  jsonStringWithoutEscapes,
  toColumnJson,
  toJsonInput,
} from './json-value.js'

/** A value of a record's JSON. */
export interface ValueMember extends JsonExpression {
  readonly kind: 'value'
  readonly name: string
}

/** Records in a record: a list of them, or one or null. */
export interface ExpansionMember {
  readonly kind: 'records'
  readonly name: string
  readonly expansion: Expansion
}

/** One member of a record's JSON. */
export type RecordMember = ValueMember | ExpansionMember

/**
 * What a record consists of: nothing of which records there are, so that queries that select the same share
 * what is made of it.
 */
export type RecordShape = Pick<Plan, 'entity' | 'row' | 'select' | 'expand'> &
  Required<Pick<Plan, 'metaFields' | 'memberOrder'>>

/** The same for a plan, remembered for the parts of it that make its shape. */
export function memoizeByShape<R>(
  compute: (shape: RecordShape, representation: Representation) => R,
): (plan: Plan, representation: Representation) => R {
  const memoized = memoize(function computeForShape(
    entity: RecordShape['entity'],
    { row }: RowSource,
    select: RecordShape['select'],
    expand: RecordShape['expand'],
    metaFields: RecordShape['metaFields'],
    memberOrder: RecordShape['memberOrder'],
    representation: Representation,
  ) {
    return compute({ entity, row, select, expand, metaFields, memberOrder }, representation)
  })
  return ({ entity, row, select, expand, metaFields = NO_MARKS, memberOrder = NO_LAYOUT }, representation) =>
    memoized(entity, rowSource(row), select, expand, metaFields, memberOrder, representation)
}

const NO_MARKS: readonly MetaField[] = []
/** The members in their own order. */
const NO_LAYOUT: readonly string[] = []

/**
 * The members of a record: control information, fields in the order of the plan, related records. `row` must
 * be in scope.
 */
export function toRecordMembers(shape: RecordShape, representation: Representation): readonly RecordMember[] {
  const members = [
    ...toControlInformation(shape, representation),
    ...shape.metaFields.map(m => toMarkMember(m, shape)),
    ...shape.select.flatMap(s => toFieldMembers(s, shape, representation)),
    ...shape.expand.flatMap(e => toExpansionMembers(e, representation)),
  ]
  return sortByLayout(members, shape.memberOrder)
}

function sortByLayout(
  members: readonly RecordMember[],
  layout: RecordShape['memberOrder'],
): readonly RecordMember[] {
  if (layout === NO_LAYOUT) return members
  const byName = new Map(members.map(m => [m.name, m]))
  return layout.map(name => byName.get(name)).filter(m => m !== undefined)
}

const toValueMember = (name: string, value: JsonExpression): ValueMember => ({
  kind: 'value',
  name,
  ...value,
})

/** The version of a record; absent in the log, whose entries never change. */
export const toVersionColumn = ({ entity, row }: Pick<Plan, 'entity' | 'row'>): Sql | undefined =>
  entity.hidden.has('RecordVersion') ? raw(`${row}."RecordVersion"`) : undefined

function toControlInformation(shape: RecordShape, { etag }: Representation): readonly RecordMember[] {
  const value = toEtagJson(shape)
  return etag !== undefined && value ? [toValueMember(etag, value)] : []
}

function toEtagJson(shape: RecordShape): JsonExpression | undefined {
  const version = toVersionColumn(shape)
  return version && { value: sql`'W/"' || ${version} || '"'`, json: sql`'"W/\\"' || ${version} || '\\""'` }
}

function toMarkMember({ meta, as }: MetaField, shape: RecordShape): RecordMember {
  const { entity, row } = shape
  if (meta === 'type') return toValueMember(as, jsonStringWithoutEscapes(sql`${entity.typeName}::text`))
  if (meta === 'etag') return toValueMember(as, toEtagJson(shape) ?? JSON_NULL_TEXT)
  return toValueMember(
    as,
    jsonStringWithoutEscapes(
      toBase64Url(sql`${`${entity.typeName}:`}::text || ${toColumn(entity.key, rowSource(row))}::text`),
    ),
  )
}

const JSON_NULL_TEXT = jsonStringWithoutEscapes(raw('null::text'))

/** PostgreSQL breaks lines of base64, and ends it with padding. */
const toBase64Url = (value: Sql) =>
  sql`translate(encode(convert_to(${value}, 'UTF8'), 'base64'), E'+/=\n', '-_')`

function toFieldMembers(
  selected: SelectItem,
  { row }: Pick<RecordShape, 'row'>,
  representation: Representation,
): readonly RecordMember[] {
  if (selected.kind === 'computed')
    return [
      toValueMember(
        selected.name,
        jsonByToJson(toJsonInput(toSql(selected.value), selected.value.type, representation)),
      ),
    ]
  const { scalar, readableIf, as: name = scalar.name } = selected
  const value = toColumnJson(scalar, row, representation)
  if (!readableIf) return [toValueMember(name, value)]
  if (!isFalse(readableIf)) return [toValueMember(name, jsonIf(toCondition(readableIf), value))]
  const annotation = representation.restricted
  const masked = toValueMember(name, scalar.collection ? jsonByToJson(raw(`'{}'::text[]`)) : JSON_NULL_TEXT)
  return annotation
    ? [
        toValueMember(name + annotation.suffix, jsonStringWithoutEscapes(sql`${annotation.value}::text`)),
        masked,
      ]
    : [masked]
}

function toExpansionMembers(expansion: Expansion, representation: Representation): readonly RecordMember[] {
  const { navigation, as: name = navigation.name, form, plan } = expansion
  const records: RecordMember = { kind: 'records', name, expansion }
  if (form !== 'count' && !(plan.count && navigation.collection)) return [records]
  const counted = sql`(select ${raw(representation.numbersAsText ? 'count(*)::text' : 'count(*)')} ${toExpansionRows(expansion)})`
  const count = toValueMember(
    name + representation.countSuffix,
    representation.numbersAsText ? jsonStringWithoutEscapes(counted) : jsonByTextCast(counted),
  )
  return form === 'count' ? [count] : [count, records]
}

/** `from` and `where` of the records that an expansion leads to. */
export function toExpansionRows({ navigation, plan: { row, filter } }: Expansion): Sql {
  const { from, join: on } = toCollectionRows(
    { kind: 'records', navigation, source: rowSource(outerRowOf(row)) },
    row,
  )
  return sql`from ${from} where ${on}${filter ? sql` and ${toCondition(filter)}` : empty}`
}

/** Rows are numbered by depth: an expansion stands in the row one above its own. */
const outerRowOf = (row: Plan['row']): Plan['row'] => `r${Number(row.slice(1)) - 1}`

/**
 * What stands beside a record of which the reader may not see all fields: for each reason one text, to be
 * appended to its members, or null where they are shown.
 */
export function toRestrictionAnnotations(
  { select }: RecordShape,
  { restricted }: Representation,
): readonly Sql[] {
  if (!restricted) return []
  return groupByReadableIf(select).map(({ readableIf, names }) => {
    const annotation = names
      .map(name => `,${JSON.stringify(name + restricted.suffix)}:${JSON.stringify(restricted.value)}`)
      .join('')
    return sql`case when ${toCondition(readableIf)} then null else ${annotation}::text end`
  })
}

/**
 * The fields that only some records show, by the condition under which they do: a record is asked once for
 * all that hang on one.
 */
function groupByReadableIf(
  select: Plan['select'],
): readonly { readonly readableIf: Expr; readonly names: readonly string[] }[] {
  const groups: { readonly readableIf: Expr; readonly names: string[] }[] = []
  for (const selected of select) {
    if (selected.kind !== 'field' || !selected.readableIf || isFalse(selected.readableIf)) continue
    const { readableIf, scalar, as = scalar.name } = selected
    const group = groups.find(g => isDeepStrictEqual(g.readableIf, readableIf))
    if (group) group.names.push(as)
    else groups.push({ readableIf, names: [as] })
  }
  return groups
}
