import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { FunctionName } from '../../query/functions.js'
import { type Expr, isRowColumn, type Plan } from '../../query/plan.js'
import { quoteIdentifier } from './columns.js'
import { toCondition, toSql } from './expression.js'
import { toFrom } from './from.js'
import { equalityValuesOf } from './indexable.js'
import { INDEXES } from './indexes.js'
import { toLimitOffset, toOrderBy } from './limit-offset.js'
import { conjuncts, isIndexRangePerValue, readColumnComparison, toIndexOrder } from './plan-cache-policy.js'

/** Keys of more records than these are not looked up one by one. */
const MAX_KEYSET_SKIP = 10_000

/** The key of a plan's record, as its rows name it. */
export const keyColumnOf = ({ entity, row }: Plan): Sql =>
  sql`${raw(row)}.${quoteIdentifier(entity.key.name)}`

/** How many keys a page and what is skipped before it take, if it may be found as keys first. */
export const keyLimitOf = ({ from, skip }: Plan, limit: number | undefined): number | undefined =>
  limit === undefined || from || skip > MAX_KEYSET_SKIP ? undefined : limit + skip

/** The records whose keys a subquery finds. */
export const toKeyInSubquery = (plan: Plan, keySubquery: Sql): Sql =>
  sql`(${keyColumnOf(plan)} = any(array(${keySubquery})))`

/** A column of texts that has one of several values, and what else the filter says. */
interface InListCondition {
  readonly column: string
  readonly values: readonly string[]
  readonly otherConjuncts: readonly Expr[]
}

/** Beyond these so many scans cost more than they may save. */
const MAX_INDEX_SCANS = 20

/**
 * The page of a plan whose records have one of several values of a column, where an index has those of each
 * value in the order of the plan: as the keys that are found by one scan for each value, none longer than the
 * page. PostgreSQL would read the order until it has met enough of them, which for rare values is all of the
 * table (18 s of two million listings). Undefined for other plans.
 */
export function keysByIndexScanPerValue(
  plan: Plan,
  bounds: readonly Sql[],
  limit: number | undefined,
): Sql | undefined {
  const keyLimit = keyLimitOf(plan, limit)
  const inList = keyLimit === undefined ? undefined : findInListCondition(plan)
  if (!inList) return undefined
  const { column, values, otherConjuncts } = inList
  const row = raw(plan.row)
  const orderAndLimit = sql`order by ${toOrderBy(plan)}${toLimitOffset(0, keyLimit)}`
  const conditions = [
    sql`${row}.${quoteIdentifier(column)} = (choice.value collate "C")`,
    ...otherConjuncts.map(term => toCondition(term)),
    ...bounds,
  ]
  const scanOfOneValue = sql`select ${join(orderByColumns(plan))} ${toFrom(plan)} where ${join(conditions, ' and ')} ${orderAndLimit}`
  return toKeyInSubquery(
    plan,
    sql`select ${keyColumnOf(plan)} from unnest(${values}::text[]) choice(value), lateral (${scanOfOneValue}) ${row} ${orderAndLimit}`,
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

/** Functions that look for something in a text: few records have it. */
const STRING_MATCH_FUNCTIONS: ReadonlySet<FunctionName> = new Set([
  'contains',
  'startswith',
  'endswith',
  'matchespattern',
])

/**
 * The page of a plan that looks for something in texts, where an index has its order and all that it asks: as
 * the keys that are found in the index alone. PostgreSQL would look at each record on the way, or first
 * collect all that may match and sort them (docs/performance.md). Undefined for other plans: what most
 * records meet is quicker found without a second look.
 */
export function keysByIndexOnlyScan(
  plan: Plan,
  bounds: readonly Sql[],
  limit: number | undefined,
): Sql | undefined {
  const { filter } = plan
  const keyLimit = keyLimitOf(plan, limit)
  if (keyLimit === undefined || !filter || !isStringMatch(filter) || !isCoveredByIndex(plan, filter))
    return undefined
  const conditions = join([toCondition(filter), ...bounds], ' and ')
  return toKeyInSubquery(
    plan,
    sql`select ${keyColumnOf(plan)} ${toFrom(plan)} where ${conditions} order by ${toOrderBy(plan)}${toLimitOffset(0, keyLimit)}`,
  )
}

function isStringMatch(expr: Expr): boolean {
  if (expr.kind !== 'call') return false
  if (expr.fn === 'or') return expr.args.every(isStringMatch)
  return expr.fn === 'and' ? expr.args.some(isStringMatch) : STRING_MATCH_FUNCTIONS.has(expr.fn)
}

/**
 * Whether an index has the order of the plan, but for columns that have one value, and all columns of the
 * filter.
 */
function isCoveredByIndex({ entity, orderBy }: Plan, filter: Expr): boolean {
  const filterColumns = rowColumnsOf(filter)
  const equalityColumns = new Set(
    conjuncts(filter)
      .map(readColumnComparison)
      .flatMap(term => (term?.operator === 'eq' ? [term.column] : [])),
  )
  const remainingOrder = toIndexOrder(orderBy)?.filter(name => !equalityColumns.has(name))
  if (!filterColumns || !remainingOrder) return false
  return (INDEXES[entity.name] ?? []).some(({ keyColumns: columns, includedColumns }) => {
    const remainingColumns = columns.filter(name => !equalityColumns.has(name))
    return (
      remainingOrder.every((name, i) => remainingColumns[i] === name) &&
      filterColumns.every(name => columns.includes(name) || includedColumns.includes(name))
    )
  })
}

/** The columns of the record that an expression reads; undefined: it reads something else too. */
function rowColumnsOf(expr: Expr): readonly string[] | undefined {
  switch (expr.kind) {
    case 'literal':
      return []
    case 'column':
      return isRowColumn(expr) ? [expr.scalar.name] : undefined
    case 'list':
      return rowColumnsOfAll(expr.items)
    case 'call':
      return rowColumnsOfAll(expr.args)
    case 'cast':
      return rowColumnsOf(expr.arg)
    case 'nullUnless':
      return rowColumnsOfAll([expr.when, expr.value])
    default:
      return undefined
  }
}

function rowColumnsOfAll(exprs: readonly Expr[]): readonly string[] | undefined {
  const columnLists = exprs.map(rowColumnsOf)
  return columnLists.every(columns => columns !== undefined) ? columnLists.flat() : undefined
}
