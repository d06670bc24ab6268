import { isDeepStrictEqual } from 'node:util'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { Mark } from '../../../query/ast.js'
import { remember } from '../../../query/memoize.js'
import {
  type Expansion,
  type Expr,
  isFalse,
  type Plan,
  type RowSource,
  rowSource,
  type Selected,
} from '../../../query/plan.js'
import type { Notation } from '../../../query/representation.js'
import { toColumn, toRows } from '../columns.js'
import { toCondition, toSql } from '../expression.js'
import {
  type JsonValue,
  ofAny,
  ofItself,
  ofPlainText,
  shownIf,
  toColumnValue,
  toJsonValue,
} from './json-value.js'

/** A value of a record's JSON. */
export interface ValueMember extends JsonValue {
  readonly kind: 'value'
  readonly name: string
}

/** Records in a record: a list of them, or one or null. */
export interface RecordsMember {
  readonly kind: 'records'
  readonly name: string
  readonly expansion: Expansion
}

/** One member of a record's JSON. */
export type Member = ValueMember | RecordsMember

/**
 * What a record consists of: nothing of which records there are, so that queries that select the same share
 * what is made of it.
 */
export type Shape = Pick<Plan, 'entity' | 'row' | 'select' | 'expand'> &
  Required<Pick<Plan, 'marks' | 'layout'>>

/** The same for a plan, remembered for the parts of it that make its shape. */
export function ofShape<R>(
  make: (shape: Shape, notation: Notation) => R,
): (plan: Plan, notation: Notation) => R {
  const made = remember(
    (
      entity: Shape['entity'],
      { row }: RowSource,
      select: Shape['select'],
      expand: Shape['expand'],
      marks: Shape['marks'],
      layout: Shape['layout'],
      notation: Notation,
    ) => make({ entity, row, select, expand, marks, layout }, notation),
  )
  return ({ entity, row, select, expand, marks = NO_MARKS, layout = NO_LAYOUT }, notation) =>
    made(entity, rowSource(row), select, expand, marks, layout, notation)
}

const NO_MARKS: readonly Mark[] = []
/** The members in their own order. */
const NO_LAYOUT: readonly string[] = []

/**
 * The members of a record: control information, fields in the order of the plan, related records. `row` must
 * be in scope.
 */
export function toMembers(shape: Shape, notation: Notation): readonly Member[] {
  const members = [
    ...control(shape, notation),
    ...shape.marks.map(m => toMark(m, shape)),
    ...shape.select.flatMap(s => toField(s, shape, notation)),
    ...shape.expand.flatMap(e => toRelated(e, notation)),
  ]
  return arrange(members, shape.layout)
}

function arrange(members: readonly Member[], layout: Shape['layout']): readonly Member[] {
  if (layout === NO_LAYOUT) return members
  const byName = new Map(members.map(m => [m.name, m]))
  return layout.map(name => byName.get(name)).filter(m => m !== undefined)
}

const member = (name: string, value: JsonValue): ValueMember => ({ kind: 'value', name, ...value })

/** The version of a record; absent in the log, whose entries never change. */
export const toVersion = ({ entity, row }: Pick<Plan, 'entity' | 'row'>): Sql | undefined =>
  entity.hidden.has('RecordVersion') ? raw(`${row}."RecordVersion"`) : undefined

function control(shape: Shape, { etag }: Notation): readonly Member[] {
  const value = toEtag(shape)
  return etag !== undefined && value ? [member(etag, value)] : []
}

function toEtag(shape: Shape): JsonValue | undefined {
  const version = toVersion(shape)
  return version && { value: sql`'W/"' || ${version} || '"'`, json: sql`'"W/\\"' || ${version} || '\\""'` }
}

function toMark({ mark, as }: Mark, shape: Shape): Member {
  const { entity, row } = shape
  if (mark === 'type') return member(as, ofPlainText(sql`${entity.typeName}::text`))
  if (mark === 'etag') return member(as, toEtag(shape) ?? NOTHING)
  return member(
    as,
    ofPlainText(
      base64url(sql`${`${entity.typeName}:`}::text || ${toColumn(entity.key, rowSource(row))}::text`),
    ),
  )
}

const NOTHING = ofPlainText(raw('null::text'))

/** PostgreSQL breaks lines of base64, and ends it with padding. */
const base64url = (value: Sql) =>
  sql`translate(encode(convert_to(${value}, 'UTF8'), 'base64'), E'+/=\n', '-_')`

function toField(selected: Selected, { row }: Pick<Shape, 'row'>, notation: Notation): readonly Member[] {
  if (selected.kind === 'computed')
    return [member(selected.name, ofAny(toJsonValue(toSql(selected.value), selected.value.type, notation)))]
  const { scalar, readableIf, as: name = scalar.name } = selected
  const value = toColumnValue(scalar, row, notation)
  if (!readableIf) return [member(name, value)]
  if (!isFalse(readableIf)) return [member(name, shownIf(toCondition(readableIf), value))]
  const note = notation.restricted
  const hidden = member(name, scalar.collection ? ofAny(raw(`'{}'::text[]`)) : NOTHING)
  return note ? [member(name + note.suffix, ofPlainText(sql`${note.value}::text`)), hidden] : [hidden]
}

function toRelated(expansion: Expansion, notation: Notation): readonly Member[] {
  const { navigation, as: name = navigation.name, form, plan } = expansion
  const records: Member = { kind: 'records', name, expansion }
  if (form !== 'count' && !(plan.count && navigation.collection)) return [records]
  const counted = sql`(select ${raw(notation.numbersAsText ? 'count(*)::text' : 'count(*)')} ${rowsOf(expansion)})`
  const count = member(
    name + notation.countSuffix,
    notation.numbersAsText ? ofPlainText(counted) : ofItself(counted),
  )
  return form === 'count' ? [count] : [count, records]
}

/** `from` and `where` of the records that an expansion leads to. */
export function rowsOf({ navigation, plan: { row, filter } }: Expansion): Sql {
  const { from, join: on } = toRows({ kind: 'records', navigation, source: rowSource(outer(row)) }, row)
  return sql`from ${from} where ${on}${filter ? sql` and ${toCondition(filter)}` : empty}`
}

/** Rows are numbered by depth: an expansion stands in the row one above its own. */
const outer = (row: Plan['row']): Plan['row'] => `r${Number(row.slice(1)) - 1}`

/**
 * What stands beside a record of which the reader may not see all fields: for each reason one text, to be
 * appended to its members, or null where they are shown.
 */
export function toNotes({ select }: Shape, { restricted }: Notation): readonly Sql[] {
  if (!restricted) return []
  return groupByCondition(select).map(({ readableIf, names }) => {
    const note = names
      .map(name => `,${JSON.stringify(name + restricted.suffix)}:${JSON.stringify(restricted.value)}`)
      .join('')
    return sql`case when ${toCondition(readableIf)} then null else ${note}::text end`
  })
}

/**
 * The fields that only some records show, by the condition under which they do: a record is asked once for
 * all that hang on one.
 */
function groupByCondition(
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
