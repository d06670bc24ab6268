import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { AggregateMethod, Type } from '../../query/functions.js'
import type { Aggregate, Derived, Groups, Plan, Window } from '../../query/plan.js'
import { computedType, identifier } from './columns.js'
import { toCondition, toSql } from './expression.js'
import { toOrderBy } from './limit-offset.js'

/**
 * `from` with all that a plan selects from, under the name of its row: the entity's table, or what
 * transformations make of it.
 */
export const toFrom = ({ entity, from, row }: Pick<Plan, 'entity' | 'from' | 'row'>): Sql =>
  from ? sql`from (${toRelation(from)}) ${raw(row)}` : sql`from ${identifier(entity.name)} ${raw(row)}`

function toRelation(derived: Derived): Sql {
  const { filter, row, makes } = derived
  const rows = sql`${toFrom(derived)}${filter ? sql` where ${toCondition(filter, false, 'all')}` : empty}`
  return makes.kind === 'groups'
    ? toGroups(makes, rows)
    : sql`select ${raw(row)}.* ${rows} ${toWindow(makes)}`
}

/** The numbers are written out: they are whole, and may be larger than what a bound limit can be. */
function toWindow({ orderBy, top, skip }: Window): Sql {
  return sql`order by ${toOrderBy({ orderBy })}${raw(top === undefined ? '' : ` limit ${top}`)}${raw(skip === undefined ? '' : ` offset ${skip}`)}`
}

/**
 * Groups are named by their place in the list: an expression that is written twice has parameters of its own
 * each time.
 */
function toGroups({ groups, aggregates }: Groups, rows: Sql): Sql {
  const columns = [
    ...groups.map((g, i) => sql`${toSql(g)} as ${identifier(`g${i}`)}`),
    ...aggregates.map((a, i) => sql`${toAggregate(a)} as ${identifier(`a${i}`)}`),
  ]
  return sql`select ${join(columns)} ${rows}${raw(groups.length > 0 ? ` group by ${groups.map((_, i) => i + 1).join(', ')}` : '')}`
}

const toAggregate = ({ of, type }: Aggregate): Sql =>
  of
    ? sql`(${AGGREGATE[of.method](toSql(of.expr), of.expr.type)})::${raw(computedType(type))}`
    : raw('count(*)')

const aggregate = (f: string) => (a: Sql) => sql`${raw(f)}(${a})`
/** False is below true, which PostgreSQL's min and max do not know. */
const extreme = (f: string, ofTruth: string) => (a: Sql, type: Type) =>
  sql`${raw(type === 'Boolean' ? ofTruth : f)}(${a})`

/**
 * How PostgreSQL says each method: nulls do not count, and of nothing there is null, but for how many (OData
 * Data Aggregation 4.0, 3.1.3).
 */
const AGGREGATE: Readonly<Record<AggregateMethod, (value: Sql, type: Type) => Sql>> = {
  sum: aggregate('sum'),
  average: aggregate('avg'),
  min: extreme('min', 'bool_and'),
  max: extreme('max', 'bool_or'),
  countdistinct: a => sql`count(distinct ${a})`,
}
