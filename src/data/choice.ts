import type { Expr, Plan } from '../query/plan.js'
import { Prisma } from './client/client.js'
import { identifier } from './columns.js'
import type { Sql } from './render.js'
import { toOrderBy } from './shape.js'
import { toCondition, toSql } from './sql.js'
import { conjuncts, isServedWith } from './steady.js'

const { sql, raw, join } = Prisma

/** A column of texts that has one of several values, and what else the filter says. */
interface Choice {
  readonly column: string
  readonly values: readonly string[]
  readonly others: readonly Expr[]
}

/** Beyond these so many scans, or scans so long, cost more than they may save. */
const MOST_VALUES = 20
const MOST_SKIPPED = 10_000

/**
 * The page of a plan whose records have one of several values of a column, where an index has those of each value in the order of the plan: as the keys that are
 * found by one scan for each value, none longer than the page. PostgreSQL would read the order until it has met enough of them, which for rare values
 * is all of the table (18 s of two million listings). Undefined for other plans.
 */
export function toChosenKeys(plan: Plan, bounds: readonly Sql[], most: number | undefined): Sql | undefined {
  const choice = most === undefined || plan.from || plan.skip > MOST_SKIPPED ? undefined : findChoice(plan)
  if (!choice) return undefined
  const { column, values, others } = choice
  const row = raw(plan.row)
  const key = identifier(plan.entity.key.name)
  const page = sql`order by ${toOrderBy(plan)} limit ${raw(String((most ?? 0) + plan.skip))}`
  const conditions = [sql`${row}.${identifier(column)} = (choice.value collate "C")`, ...others.map(term => toCondition(term)), ...bounds]
  const ofValue = sql`select ${join(columnsOf(plan))} from ${identifier(plan.entity.name)} ${row} where ${join(conditions, ' and ')} ${page}`
  return sql`(${row}.${key} = any(array(select ${row}.${key} from unnest(${values}::text[]) choice(value), lateral (${ofValue}) ${row} ${page})))`
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

/** `c in ('a','b')`, or `c eq 'a' or c eq 'b'`. */
function readChoice(term: Expr): Pick<Choice, 'column' | 'values'> | undefined {
  if (term.kind !== 'call') return undefined
  const [left, right] = term.args
  if (term.fn === 'in' && right?.kind === 'list') return readValues(left, right.items)
  if (term.fn !== 'or') return undefined
  const equal = term.args.map(arg => (arg.kind === 'call' && arg.fn === 'eq' ? arg.args : []))
  const columns = equal.map(([column]) => nameOf(column))
  return columns.every(name => name !== undefined && name === columns[0]) ? readValues(equal[0]?.[0], equal.flatMap(([, value]) => value ?? [])) : undefined // biome-ignore format: one line
}

function readValues(column: Expr | undefined, items: readonly Expr[]): Pick<Choice, 'column' | 'values'> | undefined {
  const name = nameOf(column)
  const values = items.map(item => (item.kind === 'literal' && typeof item.value === 'string' ? item.value : undefined))
  if (name === undefined || !values.every(value => value !== undefined)) return undefined
  return { column: name, values: [...new Set(values)] }
}

const nameOf = (expr: Expr | undefined): string | undefined =>
  expr?.kind === 'column' && expr.type === 'String' && expr.source.kind === 'row' ? expr.scalar.name : undefined
