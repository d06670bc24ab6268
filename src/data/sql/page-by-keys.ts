import sql, { join, raw, type Sql } from 'sql-template-tag'
import { type Derived, type Expr, isRowColumn, type Plan } from '../../query/plan.js'
import { quoteIdentifier } from './columns.js'
import { toCondition, toSql } from './expression.js'
import { toFrom, toFromWhere } from './from.js'
import { equalityValuesOf } from './indexable.js'
import { toLimitOffset, toOrderBy } from './limit-offset.js'
import { conjuncts, isIndexRangePerValue } from './plan-cache-policy.js'

/** The key of a plan's record, as its rows name it. */
const keyColumnOf = ({ entity, row }: Plan): Sql => sql`${raw(row)}.${quoteIdentifier(entity.key.name)}`

/** The rows are records of the entity's table, all of them or some: no groups. */
export const hasKeys = ({ from }: Pick<Derived, 'from'>): boolean =>
  from === undefined || (from.transform.kind === 'window' && hasKeys(from))

/** The name of an order value in a query of keys: `o0` for the first term of the order, and so on. */
const orderValueName = (term: number) => `o${term}`

/**
 * The records of a page whose rows may have to be sorted: first their keys and order values, then the rest of
 * these records alone. A row that is sorted carries nothing else. PostgreSQL would read the document of every
 * row that it sorts, not of the page alone (docs/performance.md).
 *
 * `$orderby=OnMarketDate&$top=20` → `select record.* from (select r0."ListingKey" as key, r0."OnMarketDate" as
 * o0, … order by o0 … limit 21) keys, lateral (select … from "Property" r0 where r0."ListingKey" = keys.key
 * limit 1) record order by keys.o0 …`
 *
 * @param toColumns makes the columns of a record from the order values, which need not be computed again.
 */
export function selectByKeys(
  plan: Plan,
  bounds: readonly Sql[],
  limit: number,
  toColumns: (orderValues: readonly Sql[]) => Sql,
): Sql {
  const orderValues = plan.orderBy.map((_, i) => raw(`keys.${orderValueName(i)}`))
  // The limit says that there is one record, and has PostgreSQL look each of them up in the order of the keys.
  const record = sql`select ${toColumns(orderValues)} ${toFrom({ entity: plan.entity, row: plan.row })} where ${keyColumnOf(plan)} = keys.key limit 1`
  const keys =
    toKeyScanPerValue(plan, bounds, limit) ?? toKeyQuery(plan, toFromWhere(plan, 'few', bounds), limit)
  return sql`select record.* from (${keys}) keys, lateral (${record}) record order by ${toOrderBy(plan, i => orderValues[i])}`
}

/** The keys and order values of a page, from the rows of the plan. */
function toKeyQuery(plan: Plan, rows: Sql, limit: number): Sql {
  const orderValues = plan.orderBy.map(({ expr }, i) => sql`${toSql(expr)} as ${raw(orderValueName(i))}`)
  return sql`select ${keyColumnOf(plan)} as key, ${join(orderValues)} ${rows} order by ${toOrderBy(plan, i => raw(orderValueName(i)))}${toLimitOffset(plan.skip, limit)}`
}

/** A column of texts that has one of several values, and what else the filter says. */
interface InListCondition {
  readonly column: string
  readonly values: readonly string[]
  readonly otherConjuncts: readonly Expr[]
}

/** Beyond these so many scans cost more than they may save. */
const MAX_INDEX_SCANS = 20

/** Each scan reads what is skipped too: of more records than these the order is sorted once. */
const MAX_SKIP_PER_SCAN = 10_000

/**
 * The same for a plan whose records have one of several values of a column, where an index has those of each
 * value in the order of the plan: by one scan for each value, none longer than the page. PostgreSQL would read
 * the order until it has met enough of them, which for rare values is all of the table (18 s of two million
 * listings). Undefined for other plans.
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

/** The columns of the order, the key among them, each once: an index that serves the order holds them all. */
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

/** A term on one column of texts, whose values are known. */
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

/** The column that a term begins with. */
function firstArgumentColumnOf(expr: Expr | undefined): string | undefined {
  return expr?.kind === 'call'
    ? firstArgumentColumnOf(expr.args[0])
    : isRowColumn(expr)
      ? expr.scalar.name
      : undefined
}
