import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { AggregateMethod, ExprType } from '../../query/functions.js'
import type { Aggregate, DerivedTable, GroupByTransform, Plan, WindowTransform } from '../../query/plan.js'
import { computedPgType, quoteIdentifier, quoteTable } from './columns.js'
import { type RowEstimate, toCondition, toSql } from './expression.js'
import { toOrderBy } from './order.js'

/**
 * Renders FROM, named by the plan's row: the entity's table, or a subquery for transformations.
 *   `groupby((City),aggregate(ListPrice with average as Mean))` → `from (select r0."City" as
 *     "g0",(avg(r0."ListPrice"))::numeric as "a0" from "Property" r0 group by 1) r0`
 */
export const toFrom = ({ entity, from, row }: Pick<Plan, 'entity' | 'from' | 'row'>): Sql =>
  from ? sql`from (${toSubquery(from)}) ${raw(row)}` : sql`from ${quoteTable(entity)} ${raw(row)}`

/**
 * Renders FROM and WHERE.
 *   `$filter=City eq 'Vail'` → `from "Property" r0 where (r0."City" = ($1::text collate "C"))`
 * @param bounds further conditions
 */
export function toFromWhere(
  plan: Pick<Plan, 'entity' | 'from' | 'row' | 'filter'>,
  rowEstimate: RowEstimate,
  bounds: readonly Sql[] = [],
): Sql {
  const conditions = [...(plan.filter ? [toCondition(plan.filter, false, rowEstimate)] : []), ...bounds]
  return sql`${toFrom(plan)}${conditions.length > 0 ? sql` where ${join(conditions, ' and ')}` : empty}`
}

function toSubquery(derived: DerivedTable): Sql {
  const { row, transform } = derived
  const rows = toFromWhere(derived, 'all')
  return transform.kind === 'groups'
    ? toGroupBy(transform, rows)
    : sql`select ${raw(row)}.* ${rows} ${toOrderLimitOffset(transform)}`
}

/** The numbers are part of the text: they are integers and can exceed the range of a bound LIMIT. */
function toOrderLimitOffset({ orderBy, top, skip }: WindowTransform): Sql {
  return sql`order by ${toOrderBy({ orderBy })}${raw(top === undefined ? '' : ` limit ${top}`)}${raw(skip === undefined ? '' : ` offset ${skip}`)}`
}

/**
 * Groups are referenced by position: a repeated expression would have different parameters and not match its
 * group.
 */
function toGroupBy({ groups, aggregates }: GroupByTransform, rows: Sql): Sql {
  const columns = [
    ...groups.map((g, i) => sql`${toSql(g)} as ${quoteIdentifier(`g${i}`)}`),
    ...aggregates.map((a, i) => sql`${toAggregate(a)} as ${quoteIdentifier(`a${i}`)}`),
  ]
  return sql`select ${join(columns)} ${rows}${raw(groups.length > 0 ? ` group by ${groups.map((_, i) => i + 1).join(', ')}` : '')}`
}

const toAggregate = ({ of, type }: Aggregate): Sql =>
  of
    ? sql`(${SQL_AGGREGATES[of.method](toSql(of.expr), of.expr.type)})::${raw(computedPgType(type))}`
    : raw('count(*)')

const aggregateFunction = (f: string) => (a: Sql) => sql`${raw(f)}(${a})`
/** PostgreSQL's min and max do not accept Boolean values. False sorts before true. */
const minOrMax = (f: string, booleanAggregate: string) => (a: Sql, type: ExprType) =>
  sql`${raw(type === 'Boolean' ? booleanAggregate : f)}(${a})`

/**
 * The SQL of each aggregate method. Nulls do not count. The aggregate of no values is null, except for a
 * count (OData Data Aggregation 4.0, 3.1.3).
 */
const SQL_AGGREGATES: Readonly<Record<AggregateMethod, (value: Sql, type: ExprType) => Sql>> = {
  sum: aggregateFunction('sum'),
  average: aggregateFunction('avg'),
  min: minOrMax('min', 'bool_and'),
  max: minOrMax('max', 'bool_or'),
  countdistinct: a => sql`count(distinct ${a})`,
}
