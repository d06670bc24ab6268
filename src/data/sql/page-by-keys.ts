import sql, { join, raw, type Sql } from 'sql-template-tag'
import { splitAudienceTerms } from '../../domain/audiences.js'
import { type DerivedTable, type Expr, isRowColumn, type Plan } from '../../query/plan.js'
import { quoteIdentifier } from './columns.js'
import { toCondition, toSql } from './expression.js'
import { toFrom, toFromWhere } from './from.js'
import { equalityValuesOf } from './indexable.js'
import { toLimitOffset, toOrderBy } from './order.js'
import { conjuncts, isIndexRangePerValue } from './plan-cache-policy.js'

/** The key column of a plan's record. */
const keyColumnOf = ({ entity, row }: Plan): Sql => sql`${raw(row)}.${quoteIdentifier(entity.key.name)}`

/** Returns true if the rows are records of the entity's table, as opposed to groups. */
export const hasKeys = ({ from }: Pick<DerivedTable, 'from'>): boolean =>
  from === undefined || (from.transform.kind === 'window' && hasKeys(from))

/** The name of an order value in a query of keys: `o0` for the first term of the order, and so on. */
const orderValueName = (term: number) => `o${term}`

/**
 * Selects a page whose rows may need sorting. The query first finds keys and order values, then reads the
 * other columns of these records only. PostgreSQL would otherwise read the document of every row that it
 * sorts (docs/techniques.md).
 *   `$orderby=OnMarketDate&$top=20` → `select record.* from (select r0."ListingKey" as key,
 *     r0."OnMarketDate" as o0, … order by o0 … limit 21) keys, lateral (select … from "Property" r0 where
 *     r0."ListingKey" = keys.key limit 1) record order by keys.o0 …`
 * @param toColumns returns the columns of a record. It receives the order values, which need not be computed
 * again.
 */
export function selectByKeys(
  plan: Plan,
  bounds: readonly Sql[],
  limit: number,
  toColumns: (orderValues: readonly Sql[]) => Sql,
): Sql {
  const orderValues = plan.orderBy.map((_, i) => raw(`keys.${orderValueName(i)}`))
  // With the limit the planner expects one record, so that it looks up the records in the order of the
  // keys.
  const record = sql`select ${toColumns(orderValues)} ${toFrom({ entity: plan.entity, row: plan.row })} where ${keyColumnOf(plan)} = keys.key limit 1`
  const keys =
    toKeyScanPerAudience(plan, bounds, limit) ??
    toKeyScanPerValue(plan, bounds, limit) ??
    toKeyQuery(plan, toFromWhere(plan, 'few', bounds), limit)
  return sql`select record.* from (${keys}) keys, lateral (${record}) record order by ${toOrderBy(plan, i => orderValues[i])}`
}

/** Renders the query of a page's keys and order values. */
function toKeyQuery(plan: Plan, rows: Sql, limit: number): Sql {
  const orderValues = plan.orderBy.map(({ expr }, i) => sql`${toSql(expr)} as ${raw(orderValueName(i))}`)
  return sql`select ${keyColumnOf(plan)} as key, ${join(orderValues)} ${rows} order by ${toOrderBy(plan, i => raw(orderValueName(i)))}${toLimitOffset(plan.skip, limit)}`
}

/** A text column with a list of values, and the other conditions of the filter. */
interface InListCondition {
  readonly column: string
  readonly values: readonly string[]
  readonly otherConjuncts: readonly Expr[]
}

/** Above this number the scans cost more than they save. */
const MAX_INDEX_SCANS = 20

/** Each scan also reads the skipped records. Above this number sorting once is cheaper. */
const MAX_SKIP_PER_SCAN = 10_000

/**
 * Renders the query of keys for a plan whose filter has a list of values for a column, if an index has the
 * records of each value in the order of the plan. The query has one index scan per value, limited to the
 * page. PostgreSQL alone would scan the order until it has found enough records: for rare values that is the
 * whole table (18 s with two million listings). Returns undefined for other plans.
 *   `ResourceRecordKey in ('L1','L2')` → `… from unnest($1::text[]) choice(value), lateral (select … where
 *     r0."ResourceRecordKey" = (choice.value collate "C") order by … limit 1001) r0 …`
 */
function toKeyScanPerValue(plan: Plan, bounds: readonly Sql[], limit: number): Sql | undefined {
  const inList = plan.from || plan.skip > MAX_SKIP_PER_SCAN ? undefined : findInListCondition(plan)
  if (!inList) return undefined
  const { column, values, otherConjuncts } = inList
  const row = raw(plan.row)
  const conditions = [
    sql`${row}.${quoteIdentifier(column)} = (choice.value collate "C")`,
    ...otherConjuncts.map(term => toCondition(term)),
    ...bounds,
  ]
  const scanOfOneValue = sql`select ${join(orderByColumns(plan))} ${toFrom(plan)} where ${join(conditions, ' and ')} order by ${toOrderBy(plan)}${toLimitOffset(0, limit + plan.skip)}`
  return toKeyQuery(
    plan,
    sql`from unnest(${values}::text[]) choice(value), lateral (${scanOfOneValue}) ${row}`,
    limit,
  )
}

/**
 * Renders the query of keys for a reader of the change log with several audiences: one index scan for each
 * audience, limited to the page. Events of other audiences therefore do not make a page slower. An event with
 * several of the reader's audiences occurs in several scans. All its rows but the first are removed
 * afterwards. Returns undefined for other plans.
 *   `Audience in ('public','member')` → `… from unnest($1::text[]) choice(value), lateral (select … where
 *     r0."Audience" = (choice.value collate "C") order by … limit 101) r0 where not (r0."EarlierAudiences" && …)`
 */
function toKeyScanPerAudience(plan: Plan, bounds: readonly Sql[], limit: number): Sql | undefined {
  const terms = plan.from ? undefined : splitAudienceTerms(conjuncts(plan.filter))
  if (!terms) return undefined
  const row = raw(plan.row)
  const conditions = [
    sql`${row}."Audience" = (choice.value collate "C")`,
    ...terms.others.map(term => toCondition(term)),
    ...bounds,
  ]
  const columns = [...orderByColumns(plan), sql`${row}."EarlierAudiences"`]
  const scan = sql`select ${join(columns)} ${toFrom(plan)} where ${join(conditions, ' and ')} order by ${toOrderBy(plan)}${toLimitOffset(0, limit + plan.skip)}`
  return toKeyQuery(
    plan,
    sql`from unnest(${terms.audiences}::text[]) choice(value), lateral (${scan}) ${row} where ${toCondition(terms.isFirstRow)}`,
    limit,
  )
}

/**
 * The columns of the order, including the key, without duplicates. An index that serves the order contains
 * all of them.
 */
const orderByColumns = ({ orderBy }: Plan): readonly Sql[] => [
  ...new Map(orderBy.map(({ expr }) => toSql(expr)).map(column => [column.text, column])).values(),
]

function findInListCondition(plan: Plan): InListCondition | undefined {
  const terms = conjuncts(plan.filter)
  for (const term of terms) {
    const inList = readInListCondition(term)
    if (inList && inList.values.length > 1 && inList.values.length <= MAX_INDEX_SCANS) {
      const otherConjuncts = terms.filter(other => other !== term)
      if (inList.column !== plan.entity.key.name && isIndexRangePerValue(plan, otherConjuncts, inList.column))
        return { ...inList, otherConjuncts }
    }
  }
  return undefined
}

/** Reads a list of values for one text column from a conjunct. */
function readInListCondition(term: Expr): Pick<InListCondition, 'column' | 'values'> | undefined {
  const column = firstArgumentColumnOf(term)
  const literals =
    column === undefined
      ? undefined
      : equalityValuesOf(
          term,
          expr => isRowColumn(expr) && expr.type === 'String' && expr.scalar.name === column,
        )
  return column === undefined || literals === undefined
    ? undefined
    : { column, values: [...new Set(literals.map(({ value }) => String(value)))] }
}

/** Returns the column that is the first argument of a conjunct. */
function firstArgumentColumnOf(expr: Expr | undefined): string | undefined {
  return expr?.kind === 'call'
    ? firstArgumentColumnOf(expr.args[0])
    : isRowColumn(expr)
      ? expr.scalar.name
      : undefined
}
