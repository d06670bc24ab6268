import sql, { empty, join, type Sql } from 'sql-template-tag'
import { type Expansion, rowSource } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'
import { quoteIdentifier, toColumn } from '../columns.js'
import { toLimitOffset, toOrderBy } from '../limit-offset.js'
import {
  memoizeByShape,
  type RecordMember,
  toExpansionRows,
  toRecordMembers,
  toRestrictionAnnotations,
  type ValueMember,
} from './record-members.js'

/** The JSON of one record of a plan, as PostgreSQL builds it. The plan's row must be in scope. */
export const toRecordObject = memoizeByShape(function toRecordObject(shape, representation): Sql {
  const object = rowToJson(toRecordMembers(shape, representation).map(m => toObjectMember(m, representation)))
  const notes = toRestrictionAnnotations(shape, representation)
  // An object built by PostgreSQL cannot leave out a member: what is said of some records only is appended to
  // the text of just those.
  return notes.length === 0 ? object : sql`concat(left(${object}::text, -1), ${join(notes)}, '}')::json`
})

/** A member as a value that PostgreSQL turns into JSON. */
type JsonObjectMember = Pick<ValueMember, 'name' | 'value'>

export const toObjectMember = (member: RecordMember, representation: Representation): JsonObjectMember =>
  member.kind === 'value'
    ? member
    : { name: member.name, value: toExpansionJson(member.expansion, representation) }

export function rowToJson(members: readonly JsonObjectMember[]): Sql {
  const columns = nestByPath(members, (name, inner) => ({ name, value: rowToJson(inner) })).map(
    m => sql`${m.value} as ${quoteIdentifier(m.name)}`,
  )
  return sql`(select row_to_json(record) from (select ${columns.length === 0 ? empty : join(columns)}) record)`
}

/** A value of a path, as groups have it, stands where the path leads: `A/B` is `B` in the object `A`. */
export function nestByPath<M extends { readonly name: string }>(
  members: readonly M[],
  toInner: (name: string, inner: readonly M[]) => M,
): readonly M[] {
  const firstSegmentOf = ({ name }: M) => name.split('/', 1)[0] ?? name
  const isFirst = (m: M, i: number) =>
    !m.name.includes('/') || members.findIndex(other => firstSegmentOf(other) === firstSegmentOf(m)) === i
  return members.filter(isFirst).map(m => {
    const segment = firstSegmentOf(m)
    if (segment === m.name) return m
    const inner = members.filter(other => firstSegmentOf(other) === segment)
    return toInner(
      segment,
      inner.map(other => ({ ...other, name: other.name.slice(segment.length + 1) })),
    )
  })
}

/** The related records as one JSON value. */
export function toExpansionJson(expansion: Expansion, representation: Representation): Sql {
  const { navigation, form, plan } = expansion
  const record =
    form === 'references' ? toReferenceObject(plan, representation) : toRecordObject(plan, representation)
  if (!navigation.collection) return sql`(select ${record} ${toExpansionRows(expansion)})`
  return sql`(select coalesce(json_agg(listed.record), '[]') from (select ${record} as record ${toExpansionRows(expansion)} order by ${toOrderBy(plan)}${toLimitOffset(plan.skip, plan.top)}) listed)`
}

const toReferenceObject = ({ entity, row }: Expansion['plan'], representation: Representation) =>
  sql`json_build_object(${representation.reference}::text, record_url(${entity.name}::text, ${toColumn(entity.key, rowSource(row))}::text))`
