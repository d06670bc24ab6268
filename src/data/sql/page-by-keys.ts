import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { FunctionName } from '../../query/functions.js'
import { type Expr, isRowColumn, type Plan } from '../../query/plan.js'
import { identifier } from './columns.js'
import { toCondition, toSql } from './expression.js'
import { toFrom } from './from.js'
import { alternativesOf } from './indexable.js'
import { INDEXES } from './indexes.js'
import { toOrderBy, toWindow } from './limit-offset.js'
import { conjuncts, isServedWith, readOrder, readTerm } from './plan-cache-policy.js'

/** Keys of more records than these are not looked up one by one. */
const MOST_SKIPPED = 10_000

/** The key of a plan's record, as its rows name it. */
export const keyOf = ({ entity, row }: Plan): Sql => sql`${raw(row)}.${identifier(entity.key.name)}`

/** How many keys a page and what is skipped before it take, if it may be found as keys first. */
export const countKeys = ({ from, skip }: Plan, most: number | undefined): number | undefined =>
  most === undefined || from || skip > MOST_SKIPPED ? undefined : most + skip

/** The records whose keys a subquery finds. */
export const isAmong = (plan: Plan, keys: Sql): Sql => sql`(${keyOf(plan)} = any(array(${keys})))`

/** A column of texts that has one of several values, and what else the filter says. */
interface Choice {
  readonly column: string
  readonly values: readonly string[]
  readonly others: readonly Expr[]
}

/** Beyond these so many scans cost more than they may save. */
const MOST_VALUES = 20

/**
 * The page of a plan whose records have one of several values of a column, where an index has those of each
 * value in the order of the plan: as the keys that are found by one scan for each value, none longer than the
 * page. PostgreSQL would read the order until it has met enough of them, which for rare values is all of the
 * table (18 s of two million listings). Undefined for other plans.
 */
export function toChosenKeys(plan: Plan, bounds: readonly Sql[], most: number | undefined): Sql | undefined {
  const count = countKeys(plan, most)
  const choice = count === undefined ? undefined : findChoice(plan)
  if (!choice) return undefined
  const { column, values, others } = choice
  const row = raw(plan.row)
  const page = sql`order by ${toOrderBy(plan)}${toWindow(0, count)}`
  const conditions = [
    sql`${row}.${identifier(column)} = (choice.value collate "C")`,
    ...others.map(term => toCondition(term)),
    ...bounds,
  ]
  const ofValue = sql`select ${join(orderColumns(plan))} ${toFrom(plan)} where ${join(conditions, ' and ')} ${page}`
  return isAmong(
    plan,
    sql`select ${keyOf(plan)} from unnest(${values}::text[]) choice(value), lateral (${ofValue}) ${row} ${page}`,
  )
}

/** The columns of the order, the key among them, each once: an index that serves the order holds them all. */
const orderColumns = ({ orderBy }: Plan): readonly Sql[] => [
  ...new Map(orderBy.map(({ expr }) => toSql(expr)).map(column => [column.text, column])).values(),
]

function findChoice(plan: Plan): Choice | undefined {
  const terms = conjuncts(plan.filter)
  for (const term of terms) {
    const choice = readChoice(term)
    if (choice && choice.values.length > 1 && choice.values.length <= MOST_VALUES) {
      const others = terms.filter(other => other !== term)
      if (choice.column !== plan.entity.key.name && isServedWith(plan, others, choice.column))
        return { ...choice, others }
    }
  }
  return undefined
}

/** A term on one column of texts, whose values are known. */
function readChoice(term: Expr): Pick<Choice, 'column' | 'values'> | undefined {
  const column = firstColumnOf(term)
  const literals =
    column === undefined
      ? undefined
      : alternativesOf(
          term,
          expr => isRowColumn(expr) && expr.type === 'String' && expr.scalar.name === column,
        )
  return column === undefined || literals === undefined
    ? undefined
    : { column, values: [...new Set(literals.map(({ value }) => String(value)))] }
}

/** The column that a term begins with. */
function firstColumnOf(expr: Expr | undefined): string | undefined {
  return expr?.kind === 'call'
    ? firstColumnOf(expr.args[0])
    : isRowColumn(expr)
      ? expr.scalar.name
      : undefined
}

/** Functions that look for something in a text: few records have it. */
const SEARCHES: ReadonlySet<FunctionName> = new Set(['contains', 'startswith', 'endswith', 'matchespattern'])

/**
 * The page of a plan that looks for something in texts, where an index has its order and all that it asks: as
 * the keys that are found in the index alone. PostgreSQL would look at each record on the way, or first
 * collect all that may match and sort them (docs/performance.md). Undefined for other plans: what most
 * records meet is quicker found without a second look.
 */
export function toSearchedKeys(
  plan: Plan,
  bounds: readonly Sql[],
  most: number | undefined,
): Sql | undefined {
  const { filter } = plan
  const count = countKeys(plan, most)
  if (count === undefined || !filter || !isSearch(filter) || !isCovered(plan, filter)) return undefined
  const conditions = join([toCondition(filter), ...bounds], ' and ')
  return isAmong(
    plan,
    sql`select ${keyOf(plan)} ${toFrom(plan)} where ${conditions} order by ${toOrderBy(plan)}${toWindow(0, count)}`,
  )
}

function isSearch(expr: Expr): boolean {
  if (expr.kind !== 'call') return false
  if (expr.fn === 'or') return expr.args.every(isSearch)
  return expr.fn === 'and' ? expr.args.some(isSearch) : SEARCHES.has(expr.fn)
}

/**
 * Whether an index has the order of the plan, but for columns that have one value, and all columns of the
 * filter.
 */
function isCovered({ entity, orderBy }: Plan, filter: Expr): boolean {
  const asked = columnsOf(filter)
  const equal = new Set(
    conjuncts(filter)
      .map(readTerm)
      .flatMap(term => (term?.fn === 'eq' ? [term.column] : [])),
  )
  const order = readOrder(orderBy)?.filter(name => !equal.has(name))
  if (!asked || !order) return false
  return (INDEXES[entity.name] ?? []).some(({ order: columns, carried }) => {
    const behind = columns.filter(name => !equal.has(name))
    return (
      order.every((name, i) => behind[i] === name) &&
      asked.every(name => columns.includes(name) || carried.includes(name))
    )
  })
}

/** The columns of the record that an expression reads; undefined: it reads something else too. */
function columnsOf(expr: Expr): readonly string[] | undefined {
  switch (expr.kind) {
    case 'literal':
      return []
    case 'column':
      return isRowColumn(expr) ? [expr.scalar.name] : undefined
    case 'list':
      return columnsOfAll(expr.items)
    case 'call':
      return columnsOfAll(expr.args)
    case 'cast':
      return columnsOf(expr.arg)
    case 'guarded':
      return columnsOfAll([expr.when, expr.value])
    default:
      return undefined
  }
}

function columnsOfAll(exprs: readonly Expr[]): readonly string[] | undefined {
  const found = exprs.map(columnsOf)
  return found.every(columns => columns !== undefined) ? found.flat() : undefined
}
