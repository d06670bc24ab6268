import { isDeepStrictEqual } from 'node:util'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { Navigation } from '../../../model/model.js'
import type { ControlInformation } from '../../../query/ast.js'
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
import type { FullMetadata, Representation } from '../../../query/representation.js'
import { toCollectionRows, toColumn } from '../columns.js'
import { toCondition, toSql } from '../expression.js'
import { toEditLink, toNavigationLinks, toTypeAndId, toTypeAnnotation } from './full-metadata.js'
import {
  type JsonExpression,
  jsonByTextCast,
  jsonByToJson,
  jsonIf,
  jsonStringWithoutEscapes,
  toColumnJson,
  toJsonInput,
} from './json-value.js'

/** A member with a value. */
export interface ValueMember extends JsonExpression {
  readonly kind: 'value'
  readonly name: string
}

/** A member with related records: an array, an object or null. */
export interface ExpansionMember {
  readonly kind: 'records'
  readonly name: string
  readonly expansion: Expansion
}

/** One member of a record's JSON. */
export type RecordMember = ValueMember | ExpansionMember

/**
 * The parts of a plan that determine the JSON of its records. Queries that select the same parts share cached
 * SQL.
 */
export type RecordShape = Pick<Plan, 'entity' | 'row' | 'select' | 'expand'> &
  Required<Pick<Plan, 'links' | 'controlInformation' | 'memberOrder'>>

/** Memoizes a function of a plan by the parts of the plan that are its shape. */
export function memoizeByShape<R>(
  compute: (shape: RecordShape, representation: Representation) => R,
): (plan: Plan, representation: Representation) => R {
  const memoized = memoize(function computeForShape(
    entity: RecordShape['entity'],
    { row }: RowSource,
    select: RecordShape['select'],
    expand: RecordShape['expand'],
    links: RecordShape['links'],
    controlInformation: RecordShape['controlInformation'],
    memberOrder: RecordShape['memberOrder'],
    representation: Representation,
  ) {
    return compute({ entity, row, select, expand, links, controlInformation, memberOrder }, representation)
  })
  return (plan, representation) => {
    const {
      entity,
      row,
      select,
      expand,
      controlInformation = NO_CONTROL_INFORMATION,
      memberOrder = NO_LAYOUT,
    } = plan
    // Without links in the representation, plans that differ in them share their SQL.
    const links = (representation.full && plan.links) ?? NO_LINKS
    return memoized(
      entity,
      rowSource(row),
      select,
      expand,
      links,
      controlInformation,
      memberOrder,
      representation,
    )
  }
}

const NO_LINKS: readonly Navigation[] = []

const NO_CONTROL_INFORMATION: readonly ControlInformation[] = []
/** No explicit order of members. */
const NO_LAYOUT: readonly string[] = []

/**
 * Returns the members of a record: control information, fields in the order of the plan, related records. The
 * plan's row must be in scope.
 */
export function toRecordMembers(shape: RecordShape, representation: Representation): readonly RecordMember[] {
  const members = [
    ...toControlInformation(shape, representation),
    ...shape.controlInformation.map(m => toControlInformationMember(m, shape)),
    ...shape.select.flatMap(s => [
      ...toFullMembers(representation, full => toTypeAnnotation(s, full)),
      ...toFieldMembers(s, shape, representation),
    ]),
    ...toFullMembers(representation, full => toNavigationLinks(shape, full)),
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

/**
 * Returns the version column of a record. The log has none, since its entries never change. Property →
 * `r0."RecordVersion"`
 */
export const toVersionColumn = ({ entity, row }: Pick<Plan, 'entity' | 'row'>): Sql | undefined =>
  entity.hidden.has('RecordVersion') ? raw(`${row}."RecordVersion"`) : undefined

function toControlInformation(shape: RecordShape, representation: Representation): readonly RecordMember[] {
  const { etag } = representation
  const value = toEtagJson(shape)
  return [
    ...toFullMembers(representation, full => toTypeAndId(shape, full)),
    ...(etag !== undefined && value ? [toValueMember(etag, value)] : []),
    ...toFullMembers(representation, full => toEditLink(shape, full)),
  ]
}

/** Returns the members of `odata.metadata=full`, if the representation has them. */
const toFullMembers = (
  { full }: Representation,
  render: (full: FullMetadata) => readonly (readonly [name: string, value: JsonExpression])[],
): readonly RecordMember[] => (full ? render(full).map(([name, value]) => toValueMember(name, value)) : [])

function toEtagJson(shape: RecordShape): JsonExpression | undefined {
  const version = toVersionColumn(shape)
  return version && { value: sql`'W/"' || ${version} || '"'`, json: sql`'"W/\\"' || ${version} || '\\""'` }
}

function toControlInformationMember({ kind, as }: ControlInformation, shape: RecordShape): RecordMember {
  const { entity, row } = shape
  if (kind === 'type') return toValueMember(as, jsonStringWithoutEscapes(sql`${entity.typeName}::text`))
  if (kind === 'etag') return toValueMember(as, toEtagJson(shape) ?? JSON_NULL_TEXT)
  return toValueMember(
    as,
    jsonStringWithoutEscapes(
      toBase64Url(sql`${`${entity.typeName}:`}::text || ${toColumn(entity.key, rowSource(row))}::text`),
    ),
  )
}

const JSON_NULL_TEXT = jsonStringWithoutEscapes(raw('null::text'))

/** PostgreSQL's base64 has line feeds and padding. */
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

/**
 * Renders FROM and WHERE of an expansion's records.
 *   `$expand=Media` → `from "Media" r1 where r1."PropertyKey" = r0."ListingKey"`
 */
export function toExpansionRows({ navigation, plan: { row, filter } }: Expansion): Sql {
  const { from, join: on } = toCollectionRows(
    { kind: 'records', navigation, source: rowSource(outerRowOf(row)) },
    row,
  )
  return sql`from ${from} where ${on}${filter ? sql` and ${toCondition(filter)}` : empty}`
}

/** Rows are numbered by depth, so the outer row has the number below. */
const outerRowOf = (row: Plan['row']): Plan['row'] => `r${Number(row.slice(1)) - 1}`

/**
 * Renders annotations for fields that are hidden in some records: one text per condition, appended to the
 * members, or null if the fields are readable.
 *   `UnparsedAddress` → `case when (r0."InternetAddressDisplayYN" is distinct from $1::boolean) then null
 *     else $2::text end` with $2 = `,"UnparsedAddress@Core.Permissions":"None"`
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
 * Groups fields by the condition under which they are readable, so that each condition is evaluated once per
 * record.
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
