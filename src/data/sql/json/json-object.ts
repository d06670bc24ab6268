import sql, { empty, join, type Sql } from 'sql-template-tag'
import { type Expansion, rowSource } from '../../../query/plan.js'
import type { Notation } from '../../../query/representation.js'
import { identifier, toColumn } from '../columns.js'
import { toOrderBy, toWindow } from '../limit-offset.js'
import { type Member, ofShape, rowsOf, toMembers, toNotes, type ValueMember } from './record-members.js'

/** The JSON of one record of a plan, as PostgreSQL builds it. The plan's row must be in scope. */
export const toRecordJson = ofShape((shape, notation): Sql => {
  const object = toObject(toMembers(shape, notation).map(m => toJsonMember(m, notation)))
  const notes = toNotes(shape, notation)
  // An object built by PostgreSQL cannot leave out a member: what is said of some records only is appended to
  // the text of just those.
  return notes.length === 0 ? object : sql`concat(left(${object}::text, -1), ${join(notes)}, '}')::json`
})

/** A member as a value that PostgreSQL turns into JSON. */
type JsonMember = Pick<ValueMember, 'name' | 'value'>

export const toJsonMember = (member: Member, notation: Notation): JsonMember =>
  member.kind === 'value' ? member : { name: member.name, value: toRecordsJson(member.expansion, notation) }

export function toObject(members: readonly JsonMember[]): Sql {
  const columns = nest(members, (name, inner) => ({ name, value: toObject(inner) })).map(
    m => sql`${m.value} as ${identifier(m.name)}`,
  )
  return sql`(select row_to_json(record) from (select ${columns.length === 0 ? empty : join(columns)}) record)`
}

/** A value of a path, as groups have it, stands where the path leads: `A/B` is `B` in the object `A`. */
export function nest<M extends { readonly name: string }>(
  members: readonly M[],
  toInner: (name: string, inner: readonly M[]) => M,
): readonly M[] {
  const headOf = ({ name }: M) => name.split('/', 1)[0] ?? name
  const isFirst = (m: M, i: number) =>
    !m.name.includes('/') || members.findIndex(other => headOf(other) === headOf(m)) === i
  return members.filter(isFirst).map(m => {
    const head = headOf(m)
    if (head === m.name) return m
    const inner = members.filter(other => headOf(other) === head)
    return toInner(
      head,
      inner.map(other => ({ ...other, name: other.name.slice(head.length + 1) })),
    )
  })
}

/** The related records as one JSON value. */
export function toRecordsJson(expansion: Expansion, notation: Notation): Sql {
  const { navigation, form, plan } = expansion
  const record = form === 'references' ? reference(plan, notation) : toRecordJson(plan, notation)
  if (!navigation.collection) return sql`(select ${record} ${rowsOf(expansion)})`
  return sql`(select coalesce(json_agg(listed.record), '[]') from (select ${record} as record ${rowsOf(expansion)} order by ${toOrderBy(plan)}${toWindow(plan.skip, plan.top)}) listed)`
}

const reference = ({ entity, row }: Expansion['plan'], notation: Notation) =>
  sql`json_build_object(${notation.reference}::text, record_url(${entity.name}::text, ${toColumn(entity.key, rowSource(row))}::text))`
