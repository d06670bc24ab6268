import { type Expansion, type Expr, isRowColumn, isValue, type Order, type Plan } from '../../query/plan.js'
import { type Comparison, isComparison, isOrder } from './comparison.js'
import { INDEXES } from './indexes.js'
import type { Planning } from './statement.js'

// Which plans PostgreSQL may keep: those for which one way is best whatever the values are. That is so where
// an index holds the records asked for side by side and in their order, so that reading a page is reading a
// stretch of it.

/** How the statement that reads a page or a record of the plan is planned. */
export const pagePlanning = (plan: Plan): Planning => (isSteadyPage(plan) ? 'once' : 'each time')

/** How the statement that counts the records of the plan is planned. */
export const countPlanning = ({ from, ...plan }: Plan): Planning => {
  const terms = readTerms(conjuncts(plan.filter))
  return !from && terms && isServed(plan, terms, []) ? 'once' : 'each time'
}

/**
 * Whether an index holds the records that meet the conditions and have one value of the column side by side,
 * in the order of the plan.
 */
export function isServedWith(plan: Plan, conditions: readonly Expr[], column: string): boolean {
  const terms = readTerms(conditions)
  return (
    terms !== undefined &&
    isServed(plan, { ...terms, equal: new Set([...terms.equal, column]) }, plan.orderBy)
  )
}

function isSteadyPage({ from, before, expand, ...plan }: Plan): boolean {
  const terms = readTerms(conjuncts(plan.filter))
  if (from || before || !terms || !expand.every(isSteadyExpansion)) return false
  return terms.equal.has(plan.entity.key.name) || isServed(plan, terms, plan.orderBy)
}

/**
 * Related records are found by their record, whatever is asked; other conditions could be a better way to
 * them.
 */
const isSteadyExpansion = ({ plan }: Expansion): boolean => {
  const terms = readTerms(conjuncts(plan.filter))
  return (
    terms !== undefined &&
    terms.equal.size === 0 &&
    terms.within.size === 0 &&
    plan.expand.every(isSteadyExpansion)
  )
}

/** What a filter says of columns, if all that it says is of this kind. */
interface Terms {
  /** Columns that have one value. */
  readonly equal: ReadonlySet<string>
  /** Columns whose values lie within bounds. */
  readonly within: ReadonlySet<string>
}

function readTerms(conditions: readonly Expr[]): Terms | undefined {
  const terms = conditions.filter(term => !isWeak(term)).map(readTerm)
  if (!terms.every(term => term !== undefined)) return undefined
  const columns = (isWithin: boolean) =>
    new Set(terms.filter(({ fn }) => isOrder(fn) === isWithin).map(({ column }) => column))
  return { equal: columns(false), within: columns(true) }
}

/** The conditions that must all hold. */
export const conjuncts = (expr: Expr | undefined): readonly Expr[] => {
  if (expr === undefined) return []
  return expr.kind === 'call' && expr.fn === 'and' ? expr.args.flatMap(conjuncts) : [expr]
}

/**
 * What most records meet is no way to find them: that something is not one value, or one of several things of
 * which that is one.
 */
function isWeak(expr: Expr): boolean {
  if (expr.kind !== 'call') return false
  if (expr.fn === 'or') return expr.args.some(isWeak)
  if (expr.fn === 'and') return expr.args.every(isWeak)
  return readTerm(expr)?.fn === 'ne'
}

interface Term {
  readonly column: string
  readonly fn: Comparison
}

/** A column that is compared with a value that is there. */
export function readTerm(expr: Expr): Term | undefined {
  if (expr.kind !== 'call' || !isComparison(expr.fn)) return undefined
  const [left, right] = expr.args
  return isRowColumn(left) && isValue(right) ? { column: left.scalar.name, fn: expr.fn } : undefined
}

/** Whether an index holds what the terms select side by side, and in that order. */
function isServed(
  { entity }: Pick<Plan, 'entity'>,
  { equal, within }: Terms,
  orderBy: readonly Order[],
): boolean {
  const order = readOrder(orderBy)?.filter(name => !equal.has(name))
  if (!order || within.size > 1) return false
  const [bounded] = within
  return (INDEXES[entity.name] ?? []).some(index => {
    const behind = index.order.slice(equal.size)
    const isPrefix =
      index.order.slice(0, equal.size).every(name => equal.has(name)) && index.order.length >= equal.size
    return (
      isPrefix &&
      order.every((name, i) => behind[i] === name) &&
      (bounded === undefined || behind[0] === bounded)
    )
  })
}

/** The columns of an order that an index can have, read from one end or the other. */
export function readOrder(orderBy: readonly Order[]): readonly string[] | undefined {
  const names = orderBy.map(({ expr, descending }) =>
    isRowColumn(expr) && descending === orderBy[0]?.descending ? expr.scalar.name : undefined,
  )
  return names.every(name => name !== undefined) ? names : undefined
}
