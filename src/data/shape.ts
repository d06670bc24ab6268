import { isDeepStrictEqual } from 'node:util'
import type { Mark } from '../query/ast.js'
import type { Type } from '../query/functions.js'
import type { Notation } from '../query/notation.js'
import { type Expansion, type Expr, isFalse, type Plan, type RowSource, rowSource, type Selected } from '../query/plan.js'
import { remember } from '../query/remember.js'
import { numberText, timestampText } from './casts.js'
import { Prisma } from './client/client.js'
import { identifier, toColumn, toRows } from './columns.js'
import { toOrderBy, toWindow } from './order.js'
import type { Sql } from './render.js'
import { toCondition, toSql } from './sql.js'

const { sql, raw, join, empty } = Prisma

/** One member of a record's JSON: its name and the value that PostgreSQL turns into JSON. */
interface Member {
  readonly name: string
  readonly value: Sql
}

/**
 * The JSON text of one record of the plan, as PostgreSQL builds it: control information, fields in the order of the plan,
 * related records. `plan.row` must be in scope.
 */
export const toRecordJson = ({ entity, row, select, expand, marks = NO_MARKS, layout = NO_LAYOUT }: Plan, notation: Notation): Sql =>
  recordJson(entity, rowSource(row), select, expand, marks, layout, notation)

const NO_MARKS: readonly Mark[] = []
/** The members in their own order. */
const NO_LAYOUT: readonly string[] = []

/** What a record's JSON rests on: nothing of which records there are, so that queries that select the same share it. */
type Shape = Pick<Plan, 'entity' | 'row' | 'select' | 'expand'> & Required<Pick<Plan, 'marks' | 'layout'>>

const recordJson = remember(
  (
    entity: Plan['entity'],
    { row }: RowSource,
    select: Plan['select'],
    expand: Plan['expand'],
    marks: Shape['marks'],
    layout: Shape['layout'],
    notation: Notation,
  ) => makeRecordJson({ entity, row, select, expand, marks, layout }, notation),
)

function makeRecordJson(plan: Shape, notation: Notation): Sql {
  const members = [
    ...control(plan, notation),
    ...plan.marks.map(m => toMark(m, plan)),
    ...plan.select.flatMap(s => member(s, plan, notation)),
    ...plan.expand.flatMap(e => related(e, notation)),
  ]
  return withRestrictions(toObject(arrange(members, plan.layout)), plan, notation)
}

function arrange(members: readonly Member[], layout: Shape['layout']): readonly Member[] {
  if (layout === NO_LAYOUT) return members
  const byName = new Map(members.map(m => [m.name, m]))
  return layout.map(name => byName.get(name)).filter(m => m !== undefined)
}

function toObject(members: readonly Member[]): Sql {
  const columns = nest(members).map(m => sql`${m.value} as ${identifier(m.name)}`)
  return sql`(select row_to_json(record) from (select ${columns.length === 0 ? empty : join(columns)}) record)`
}

/** A value of a path, as groups have it, stands where the path leads: `A/B` is `B` in the object `A`. */
function nest(members: readonly Member[]): readonly Member[] {
  const headOf = ({ name }: Member) => name.split('/', 1)[0] ?? name
  const isFirst = (m: Member, i: number) => !m.name.includes('/') || members.findIndex(other => headOf(other) === headOf(m)) === i
  return members.filter(isFirst).map(m => {
    const head = headOf(m)
    if (head === m.name) return m
    const inner = members.filter(other => headOf(other) === head)
    return { name: head, value: toObject(inner.map(({ name, value }) => ({ name: name.slice(head.length + 1), value }))) }
  })
}

/** The version of a record; absent in the log, whose entries never change. */
export const toVersion = ({ entity, row }: Pick<Plan, 'entity' | 'row'>): Sql | undefined =>
  entity.hidden.has('RecordVersion') ? raw(`${row}."RecordVersion"`) : undefined

function control(plan: Shape, { etag }: Notation): readonly Member[] {
  const value = toEtag(plan)
  return etag !== undefined && value ? [{ name: etag, value }] : []
}

function toEtag(plan: Shape): Sql | undefined {
  const version = toVersion(plan)
  return version && sql`'W/"' || ${version} || '"'`
}

function toMark({ mark, as }: Mark, plan: Shape): Member {
  const { entity, row } = plan
  if (mark === 'type') return { name: as, value: sql`${entity.typeName}::text` }
  if (mark === 'etag') return { name: as, value: toEtag(plan) ?? raw('null::text') }
  return { name: as, value: base64url(sql`${`${entity.typeName}:`}::text || ${toColumn(entity.key, rowSource(row))}::text`) }
}

/** PostgreSQL breaks lines of base64, and ends it with padding. */
const base64url = (value: Sql) => sql`translate(encode(convert_to(${value}, 'UTF8'), 'base64'), E'+/=\n', '-_')`

function member(selected: Selected, plan: Shape, notation: Notation): readonly Member[] {
  if (selected.kind === 'computed') return [{ name: selected.name, value: toJsonValue(toSql(selected.value), selected.value.type, notation) }]
  const { scalar, readableIf, as: name = scalar.name } = selected
  const value = toJsonValue(toColumn(scalar, rowSource(plan.row)), scalar.collection ? `Collection(${scalar.type})` : scalar.type, notation)
  if (!readableIf) return [{ name, value }]
  if (!isFalse(readableIf)) return [{ name, value: sql`case when ${toCondition(readableIf)} then ${value} end` }]
  const note = notation.restricted
  const hidden: Member = { name, value: scalar.collection ? raw(`'{}'::text[]`) : raw('null::text') }
  return note ? [{ name: name + note.suffix, value: sql`${note.value}::text` }, hidden] : [hidden]
}

/** A value in the form that PostgreSQL turns into the right JSON (OData JSON 4.01, 7.1). */
function toJsonValue(value: Sql, type: Type, { numbersAsText }: Notation): Sql {
  switch (type) {
    case 'DateTimeOffset':
      return timestampText(value)
    case 'Decimal':
      return numbersAsText ? numberText(value) : sql`trim_scale(${value})`
    case 'Int32':
      return value
    case 'Int64':
      return numbersAsText ? numberText(value) : value
    case 'Double':
      return doubleJson(value)
    case 'TimeOfDay':
      return sql`(${value})::text`
    case 'Duration':
      return sql`'PT' || trim_scale(${value}) || 'S'`
    default:
      return value
  }
}

/** JSON has no numbers for what is not finite. */
const doubleJson = (value: Sql) =>
  sql`(case (${value})::text when 'Infinity' then '"INF"'::json when '-Infinity' then '"-INF"'::json when 'NaN' then '"NaN"'::json else to_json(${value}) end)`

function related({ navigation, as: name = navigation.name, form, plan }: Expansion, notation: Notation): readonly Member[] {
  const count: Member = {
    name: name + notation.countSuffix,
    value: sql`(select ${raw(notation.numbersAsText ? 'count(*)::text' : 'count(*)')} ${rowsOf(navigation, plan)})`,
  }
  if (form === 'count') return [count]
  const record = form === 'references' ? reference(plan, notation) : toRecordJson(plan, notation)
  const records: Member = {
    name,
    value: navigation.collection ? recordList(navigation, plan, record) : sql`(select ${record} ${rowsOf(navigation, plan)})`,
  }
  return plan.count && navigation.collection ? [count, records] : [records]
}

function recordList(navigation: Expansion['navigation'], plan: Plan, record: Sql): Sql {
  return sql`(select coalesce(json_agg(listed.record), '[]') from (select ${record} as record ${rowsOf(navigation, plan)} order by ${toOrderBy(plan)}${toWindow(plan.skip, plan.top)}) listed)`
}

function rowsOf(navigation: Expansion['navigation'], { row, filter }: Plan): Sql {
  const { from, join: on } = toRows({ kind: 'records', navigation, source: rowSource(outer(row)) }, row)
  return sql`from ${from} where ${on}${filter ? sql` and ${toCondition(filter)}` : empty}`
}

/** Rows are numbered by depth: an expansion stands in the row one above its own. */
const outer = (row: Plan['row']): Plan['row'] => `r${Number(row.slice(1)) - 1}`

const reference = ({ entity, row }: Plan, notation: Notation) =>
  sql`json_build_object(${notation.reference}::text, record_url(${entity.name}::text, ${toColumn(entity.key, rowSource(row))}::text))`

/**
 * Where it depends on the record whether a field may be read, the notes on hidden fields are appended to the JSON text of just
 * those records that hide them: an object built by PostgreSQL cannot leave out a member.
 */
function withRestrictions(object: Sql, { select }: Shape, { restricted }: Notation): Sql {
  if (!restricted) return object
  const notes = groupByCondition(select).map(({ readableIf, names }) => {
    const note = names.map(name => `,${JSON.stringify(name + restricted.suffix)}:${JSON.stringify(restricted.value)}`).join('')
    return sql`case when ${toCondition(readableIf)} then '' else ${note}::text end`
  })
  return notes.length === 0 ? object : sql`(left(${object}::text, -1) || ${join(notes, ' || ')} || '}')::json`
}

/** The fields that only some records show, by the condition under which they do: a record is asked once for all that hang on one. */
function groupByCondition(select: Plan['select']): readonly { readonly readableIf: Expr; readonly names: readonly string[] }[] {
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
