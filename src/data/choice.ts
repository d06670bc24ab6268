import { type Expr, isRowColumn, type Plan } from '../query/plan.js'
import { Prisma } from './client/client.js'
import { identifier } from './columns.js'
import { toFrom } from './derived.js'
import { toOrderBy, toWindow } from './order.js'
import { countKeys, isAmong, keyOf } from './page-keys.js'
import type { Sql } from './render.js'
import { alternativesOf } from './served.js'
import { toCondition, toSql } from './sql.js'
import { conjuncts, isServedWith } from './steady.js'

const { sql, raw, join } = Prisma

/** A column of texts that has one of several values, and what else the filter says. */
interface Choice {
  readonly column: string
  readonly values: readonly string[]
  readonly others: readonly Expr[]
}

/** Beyond these so many scans cost more than they may save. */
const MOST_VALUES = 20

/**
 * The page of a plan whose records have one of several values of a column, where an index has those of each value in the order of the plan: as the keys that are
 * found by one scan for each value, none longer than the page. PostgreSQL would read the order until it has met enough of them, which for rare values
 * is all of the table (18 s of two million listings). Undefined for other plans.
 */
export function toChosenKeys(plan: Plan, bounds: readonly Sql[], most: number | undefined): Sql | undefined {
  const count = countKeys(plan, most)
  const choice = count === undefined ? undefined : findChoice(plan)
  if (!choice) return undefined
  const { column, values, others } = choice
  const row = raw(plan.row)
  const page = sql`order by ${toOrderBy(plan)}${toWindow(0, count)}`
  const conditions = [sql`${row}.${identifier(column)} = (choice.value collate "C")`, ...others.map(term => toCondition(term)), ...bounds]
  const ofValue = sql`select ${join(columnsOf(plan))} ${toFrom(plan)} where ${join(conditions, ' and ')} ${page}`
  return isAmong(plan, sql`select ${keyOf(plan)} from unnest(${values}::text[]) choice(value), lateral (${ofValue}) ${row} ${page}`)
}

/** The columns of the order, the key among them, each once: an index that serves the order holds them all. */
const columnsOf = ({ orderBy }: Plan): readonly Sql[] => [...new Map(orderBy.map(({ expr }) => toSql(expr)).map(column => [column.text, column])).values()]

function findChoice(plan: Plan): Choice | undefined {
  const terms = conjuncts(plan.filter)
  for (const term of terms) {
    const choice = readChoice(term)
    if (choice && choice.values.length > 1 && choice.values.length <= MOST_VALUES) {
      const others = terms.filter(other => other !== term)
      if (choice.column !== plan.entity.key.name && isServedWith(plan, others, choice.column)) return { ...choice, others }
    }
  }
  return undefined
}

/** A term on one column of texts, whose values are known. */
function readChoice(term: Expr): Pick<Choice, 'column' | 'values'> | undefined {
  const column = firstColumnOf(term)
  const literals = column === undefined ? undefined : alternativesOf(term, expr => isRowColumn(expr) && expr.type === 'String' && expr.scalar.name === column)
  return column === undefined || literals === undefined ? undefined : { column, values: [...new Set(literals.map(({ value }) => String(value)))] }
}

/** The column that a term begins with. */
function firstColumnOf(expr: Expr | undefined): string | undefined {
  return expr?.kind === 'call' ? firstColumnOf(expr.args[0]) : isRowColumn(expr) ? expr.scalar.name : undefined
}
