import {
  type ColumnExpr,
  type Expr,
  isNonNullLiteral,
  isRowColumn,
  type LiteralExpr,
} from '../../query/plan.js'
import {
  COMMUTATORS,
  type ComparisonOperator,
  isComparisonOperator,
  isOrderingOperator,
} from './comparison.js'

/** A comparison of columns of one record with values: `(a, b) > (1, 2)`. */
export interface RowComparison {
  readonly columns: readonly ColumnExpr[]
  readonly values: readonly LiteralExpr[]
  readonly operator: ComparisonOperator
}

/** A comparison of a column with a value that is not null. */
interface Comparison {
  readonly column: ColumnExpr
  readonly value: LiteralExpr
  readonly operator: ComparisonOperator
}

/**
 * Recognizes the condition that clients send to continue after the last record they have read, and returns it
 * as a row comparison, which an index serves. It also accepts more columns, `lt`, and `ge` or `le` in the
 * last position. Both forms are true for the same records, including those with nulls. Returns undefined for
 * other conditions.
 *   `a gt 1 or (a eq 1 and b gt 2)` → `(a, b) > (1, 2)`
 */
export function readRowComparison(expr: Expr): RowComparison | undefined {
  return expr.kind === 'call' && expr.fn === 'or'
    ? readAlternatives(flatten(expr, 'or').map(toTerms))
    : undefined
}

/** @param alternatives the operands of `or`, each as the operands of its `and` */
function readAlternatives(alternatives: readonly (readonly Expr[])[]): RowComparison | undefined {
  const [terms = [], ...others] = alternatives
  if (others.length === 0) return terms.length === 1 && terms[0] ? readLastTerm(terms[0]) : undefined
  for (const [i, [term, ...more]] of alternatives.entries()) {
    const first = term && more.length === 0 ? readOrdering(term) : undefined
    if (!first || (first.operator !== 'gt' && first.operator !== 'lt')) continue
    const rest = readAfterEquality(first, alternatives.toSpliced(i, 1))
    if (rest)
      return { ...rest, columns: [first.column, ...rest.columns], values: [first.value, ...rest.values] }
  }
  return undefined
}

/**
 * Returns the comparison that the alternatives add for an equal first column, or undefined if some do not
 * compare it.
 */
function readAfterEquality(
  first: Comparison,
  alternatives: readonly (readonly Expr[])[],
): RowComparison | undefined {
  const rests = alternatives.map(terms => {
    const rest = terms.filter(term => !isEquality(term, first))
    return rest.length === terms.length - 1 ? rest : undefined
  })
  const rest = rests.every(terms => terms !== undefined) ? readAlternatives(rests) : undefined
  const isSameRow = rest?.columns[0]?.source === first.column.source
  return rest && isSameRow && rest.operator.startsWith(first.operator.charAt(0)) ? rest : undefined
}

const readLastTerm = (term: Expr): RowComparison | undefined => {
  const comparison = readOrdering(term)
  return comparison
    ? { columns: [comparison.column], values: [comparison.value], operator: comparison.operator }
    : readRowComparison(term)
}

const isEquality = (term: Expr, { column, value }: Comparison): boolean => {
  const found = readComparison(term)
  return (
    found?.operator === 'eq' &&
    found.column.scalar === column.scalar &&
    found.column.source === column.source &&
    found.value.value === value.value &&
    found.value.type === value.type
  )
}

function readOrdering(term: Expr): Comparison | undefined {
  const comparison = readComparison(term)
  return comparison && isOrderingOperator(comparison.operator) ? comparison : undefined
}

/** Reads a comparison. Doubles are excluded because of NaN. */
function readComparison(expr: Expr): Comparison | undefined {
  if (expr.kind !== 'call' || !isComparisonOperator(expr.fn)) return undefined
  const [left, right] = expr.args
  if (left?.type === 'Double' || right?.type === 'Double') return undefined
  if (isRowColumn(left) && isNonNullLiteral(right)) return { column: left, value: right, operator: expr.fn }
  return isNonNullLiteral(left) && isRowColumn(right)
    ? { column: right, value: left, operator: COMMUTATORS[expr.fn] }
    : undefined
}

const toTerms = (expr: Expr) => flatten(expr, 'and')

const flatten = (expr: Expr, fn: 'and' | 'or'): readonly Expr[] =>
  expr.kind === 'call' && expr.fn === fn ? expr.args.flatMap(arg => flatten(arg, fn)) : [expr]
