import sql, { empty, join, type Sql } from 'sql-template-tag'
import { type Expansion, rowSource } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'
import { quoteIdentifier, toColumn } from '../columns.js'
import { toLimitOffset, toOrderBy } from '../order.js'
import {
  memoizeByShape,
  type RecordMember,
  toExpansionRows,
  toRecordMembers,
  toRestrictionAnnotations,
  type ValueMember,
} from './record-members.js'

/**
 * Renders the JSON object of one record. The plan's row must be in scope.
 *   `$select=City,ListPrice` → `(select row_to_json(record) from (select r0."City" as "City",
 *     trim_scale(r0."ListPrice") as "ListPrice") record)`
 */
export const toRecordObject = memoizeByShape(function toRecordObject(shape, representation): Sql {
  const object = rowToJson(toRecordMembers(shape, representation).map(m => toObjectMember(m, representation)))
  const notes = toRestrictionAnnotations(shape, representation)
  // row_to_json cannot omit a member. Annotations of some records are therefore appended to the text.
  return notes.length === 0 ? object : sql`concat(left(${object}::text, -1), ${join(notes)}, '}')::json`
})

/** A member with a value that PostgreSQL converts to JSON. */
type JsonObjectMember = Pick<ValueMember, 'name' | 'value'>

/** Returns a member with its value: related records become one JSON value. */
export const toObjectMember = (member: RecordMember, representation: Representation): JsonObjectMember =>
  member.kind === 'value'
    ? member
    : { name: member.name, value: toExpansionJson(member.expansion, representation) }

/**
 * Renders a JSON object.
 *   City → `(select row_to_json(record) from (select r0."City" as "City") record)`
 */
export function rowToJson(members: readonly JsonObjectMember[]): Sql {
  const columns = nestByPath(members, (name, inner) => ({ name, value: rowToJson(inner) })).map(
    m => sql`${m.value} as ${quoteIdentifier(m.name)}`,
  )
  return sql`(select row_to_json(record) from (select ${columns.length === 0 ? empty : join(columns)}) record)`
}

/**
 * Groups members with a path as their name: `A/B` becomes `B` in an object `A`. Grouped records have such
 * names.
 */
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

/**
 * Renders the related records of an expansion as one JSON value.
 *   `$expand=Media($select=MediaKey;$top=3)` → `(select coalesce(json_agg(listed.record), '[]') from
 *     (select (select row_to_json(record) from (select r1."MediaKey" as "MediaKey") record) as record from
 *     "Media" r1 where r1."PropertyKey" = r0."ListingKey" order by r1."MediaKey" asc limit 3) listed)`
 */
export function toExpansionJson(expansion: Expansion, representation: Representation): Sql {
  const { navigation, form, plan } = expansion
  const record =
    form === 'references' ? toReferenceObject(plan, representation) : toRecordObject(plan, representation)
  if (!navigation.collection) return sql`(select ${record} ${toExpansionRows(expansion)})`
  return sql`(select coalesce(json_agg(listed.record), '[]') from (select ${record} as record ${toExpansionRows(expansion)} order by ${toOrderBy(plan)}${toLimitOffset(plan.skip, plan.top)}) listed)`
}

const toReferenceObject = ({ entity, row }: Expansion['plan'], representation: Representation) =>
  sql`json_build_object(${representation.reference}::text, record_url(${entity.name}::text, ${toColumn(entity.key, rowSource(row))}::text))`
