import {
  type Expansion,
  type Expr,
  isNonNullValue,
  isRowColumn,
  type OrderByTerm,
  type Plan,
} from '../../query/plan.js'
import { type ComparisonOperator, isComparisonOperator, isOrderingOperator } from './comparison.js'
import { INDEXES, type Index } from './indexes.js'
import { readRowComparison } from './row-comparison.js'
import type { PlanCacheMode } from './statement.js'

// Decides which statements may use a generic plan: those for which one plan is best for all values. That is
// the case if an index contains the requested records next to each other and in their order, so that reading
// a page is one range scan.

/** Returns the plan cache mode of the statement that reads a page or a record. */
export const planCacheModeOfPage = (plan: Plan): PlanCacheMode =>
  isGenericPlanSafe(plan) ? 'generic' : 'custom'

/** Returns the plan cache mode of the statement that counts the records. */
export const planCacheModeOfCount = ({ from, ...plan }: Plan): PlanCacheMode => {
  const constraints = readColumnConstraints(conjuncts(plan.filter))
  return !from && constraints && isIndexRange(plan, constraints, []) ? 'generic' : 'custom'
}

/**
 * Returns true if an index has the records that meet the conditions and have one value of the column next to
 * each other, in the order of the plan. Conditions on included columns are allowed: the scan filters them.
 */
export function isIndexRangePerValue(plan: Plan, conditions: readonly Expr[], column: string): boolean {
  const constraints = readColumnConstraints(conditions)
  if (!constraints) return false
  return (INDEXES[plan.entity.name] ?? []).some(index => {
    const ofKey = [...constraints.equalityColumns].filter(name => !index.includedColumns.includes(name))
    return isRangeOf(index, { ...constraints, equalityColumns: new Set([...ofKey, column]) }, plan.orderBy)
  })
}

/** Returns true if a feed selects the rows. */
export const isReadThroughFeed = ({ filter }: Pick<Plan, 'filter'>): boolean =>
  conjuncts(filter).some(isFeedTest)

const isFeedTest = ({ kind }: Expr): boolean => kind === 'inFeed'

/** The id of a feed is part of the text, so that PostgreSQL knows its size without the values. */
function isGenericPlanSafe({ from, before, expand, ...plan }: Plan): boolean {
  const constraints = readColumnConstraints(conjuncts(plan.filter).filter(term => !isFeedTest(term)))
  if (from || before || !constraints || !expand.every(isGenericPlanSafeForExpansion)) return false
  return (
    constraints.equalityColumns.has(plan.entity.key.name) || isIndexRange(plan, constraints, plan.orderBy)
  )
}

/**
 * Related records are found by their record with any plan. Further conditions on them could have a better
 * plan.
 */
const isGenericPlanSafeForExpansion = ({ plan }: Expansion): boolean => {
  const constraints = readColumnConstraints(conjuncts(plan.filter))
  return (
    constraints !== undefined &&
    constraints.equalityColumns.size === 0 &&
    constraints.rangeColumns.size === 0 &&
    plan.expand.every(isGenericPlanSafeForExpansion)
  )
}

/** The conditions of a filter, if all of them are comparisons of columns. */
interface ColumnConstraints {
  /** Columns with one value. */
  readonly equalityColumns: ReadonlySet<string>
  /** Columns with a range of values. */
  readonly rangeColumns: ReadonlySet<string>
}

function readColumnConstraints(conditions: readonly Expr[]): ColumnConstraints | undefined {
  const comparisons = conditions.filter(term => !isNonSelective(term)).map(readConstraint)
  if (!comparisons.every(term => term !== undefined)) return undefined
  const columns = (isRange: boolean) =>
    new Set(
      comparisons
        .filter(({ operator }) => isOrderingOperator(operator) === isRange)
        .map(({ column }) => column),
    )
  return { equalityColumns: columns(false), rangeColumns: columns(true) }
}

/** A row comparison is one range of its first column, like a comparison of that column alone. */
function readConstraint(term: Expr): ColumnComparison | undefined {
  const rows = readRowComparison(term)
  const [first] = rows?.columns ?? []
  return rows && first ? { column: first.scalar.name, operator: rows.operator } : readColumnComparison(term)
}

/** Returns the conditions that `and` joins. */
export const conjuncts = (expr: Expr | undefined): readonly Expr[] => {
  if (expr === undefined) return []
  return expr.kind === 'call' && expr.fn === 'and' ? expr.args.flatMap(conjuncts) : [expr]
}

/** Returns true for a condition that most records meet, such as `ne`. No index is used for it. */
function isNonSelective(expr: Expr): boolean {
  if (expr.kind !== 'call') return false
  if (expr.fn === 'or') return expr.args.some(isNonSelective)
  if (expr.fn === 'and') return expr.args.every(isNonSelective)
  return readColumnComparison(expr)?.operator === 'ne'
}

interface ColumnComparison {
  readonly column: string
  readonly operator: ComparisonOperator
}

/** Reads a comparison of a column with a value that is not null. */
function readColumnComparison(expr: Expr): ColumnComparison | undefined {
  if (expr.kind !== 'call' || !isComparisonOperator(expr.fn)) return undefined
  const [left, right] = expr.args
  return isRowColumn(left) && isNonNullValue(right)
    ? { column: left.scalar.name, operator: expr.fn }
    : undefined
}

/** Returns true if an index contains the selected records next to each other and in this order. */
const isIndexRange = (
  { entity }: Pick<Plan, 'entity'>,
  constraints: ColumnConstraints,
  orderBy: readonly OrderByTerm[],
): boolean => (INDEXES[entity.name] ?? []).some(index => isRangeOf(index, constraints, orderBy))

function isRangeOf(
  { keyColumns }: Index,
  { equalityColumns, rangeColumns }: ColumnConstraints,
  orderBy: readonly OrderByTerm[],
): boolean {
  const remainingOrder = toIndexOrder(orderBy)?.filter(name => !equalityColumns.has(name))
  if (!remainingOrder || rangeColumns.size > 1) return false
  const [rangeColumn] = rangeColumns
  const remainingColumns = keyColumns.slice(equalityColumns.size)
  const isPrefix =
    keyColumns.slice(0, equalityColumns.size).every(name => equalityColumns.has(name)) &&
    keyColumns.length >= equalityColumns.size
  return (
    isPrefix &&
    remainingOrder.every((name, i) => remainingColumns[i] === name) &&
    (rangeColumn === undefined || remainingColumns[0] === rangeColumn)
  )
}

/** Returns the columns of an order that an index can have, scanned in either direction. */
function toIndexOrder(orderBy: readonly OrderByTerm[]): readonly string[] | undefined {
  const names = orderBy.map(({ expr, descending }) =>
    isRowColumn(expr) && descending === orderBy[0]?.descending ? expr.scalar.name : undefined,
  )
  return names.every(name => name !== undefined) ? names : undefined
}
