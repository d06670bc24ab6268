import type { FunctionName } from '../query/functions.js'
import { type Expr, isRowColumn, type Plan } from '../query/plan.js'
import { Prisma } from './client/client.js'
import { toFrom } from './derived.js'
import { INDEXES } from './indexes.js'
import { toOrderBy, toWindow } from './order.js'
import { countKeys, isAmong, keyOf } from './page-keys.js'
import type { Sql } from './render.js'
import { toCondition } from './sql.js'
import { conjuncts, readOrder, readTerm } from './steady.js'

const { sql, join } = Prisma

/** Functions that look for something in a text: few records have it. */
const SEARCHES: ReadonlySet<FunctionName> = new Set(['contains', 'startswith', 'endswith', 'matchespattern'])

/**
 * The page of a plan that looks for something in texts, where an index has its order and all that it asks: as the keys that are found in the index alone.
 * PostgreSQL would look at each record on the way, or first collect all that may match and sort them (docs/performance.md). Undefined for other plans: what most
 * records meet is quicker found without a second look.
 */
export function toSearchedKeys(plan: Plan, bounds: readonly Sql[], most: number | undefined): Sql | undefined {
  const { filter } = plan
  const count = countKeys(plan, most)
  if (count === undefined || !filter || !isSearch(filter) || !isCovered(plan, filter)) return undefined
  const conditions = join([toCondition(filter), ...bounds], ' and ')
  return isAmong(plan, sql`select ${keyOf(plan)} ${toFrom(plan)} where ${conditions} order by ${toOrderBy(plan)}${toWindow(0, count)}`)
}

function isSearch(expr: Expr): boolean {
  if (expr.kind !== 'call') return false
  if (expr.fn === 'or') return expr.args.every(isSearch)
  return expr.fn === 'and' ? expr.args.some(isSearch) : SEARCHES.has(expr.fn)
}

/** Whether an index has the order of the plan, but for columns that have one value, and all columns of the filter. */
function isCovered({ entity, orderBy }: Plan, filter: Expr): boolean {
  const asked = columnsOf(filter)
  const equal = new Set(conjuncts(filter).map(readTerm).flatMap(term => (term?.fn === 'eq' ? [term.column] : []))) // biome-ignore format: one line
  const order = readOrder(orderBy)?.filter(name => !equal.has(name))
  if (!asked || !order) return false
  return (INDEXES[entity.name] ?? []).some(({ order: columns, carried }) => {
    const behind = columns.filter(name => !equal.has(name))
    return order.every((name, i) => behind[i] === name) && asked.every(name => columns.includes(name) || carried.includes(name))
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
