import { getEntity, getScalar } from '../../model/model.js'
import {
  allOf,
  anyOf,
  type CallExpr,
  type ColumnSource,
  columnOf,
  type Expr,
  FALSE,
  isFalse,
  isTrue,
  nullLiteral,
  predicate,
  type RowName,
  rowSource,
  TRUE,
} from '../../query/plan.js'
import { isComparisonOperator } from '../sql/comparison.js'
import { notExpressible } from './not-expressible.js'

export type LambdaExpr = Expr & { readonly kind: 'lambda' }

/** Each outer condition doubles the size of the result. */
const MAX_OUTER_CONDITIONS = 4

/**
 * Moves the conditions of a lambda that do not use its variable out of it, since Prisma's `some` and `none`
 * can refer only to the related record.
 *   `Rooms/any(r:r/RoomType eq 'Den' and $it/City eq 'Vail')` →
 *   `City eq 'Vail' and Rooms/any(r:r/RoomType eq 'Den')`
 */
export function withoutOuterConditions(expr: Expr): Expr {
  switch (expr.kind) {
    case 'call':
      return foldCall({ ...expr, args: expr.args.map(withoutOuterConditions) })
    case 'nullUnless':
      return { ...expr, when: withoutOuterConditions(expr.when), value: withoutOuterConditions(expr.value) }
    case 'count':
      return expr.filter ? { ...expr, filter: withoutOuterConditions(expr.filter) } : expr
    case 'lambda':
      return expr.body
        ? moveConditions({ ...expr, body: withoutOuterConditions(withInnerJoin(expr)) }, 0)
        : expr
    default:
      return expr
  }
}

/** Replaces the outer column of the relation's join by the inner one, which has the same value. */
function withInnerJoin({ over, row, body = TRUE }: LambdaExpr): Expr {
  if (over.kind !== 'records' || over.source.kind !== 'row') return body
  const { navigation, source } = over
  return mapColumns(body, column =>
    column.source.kind === 'row' &&
    column.source.row === source.row &&
    column.scalar.name === navigation.local
      ? columnOf(getScalar(getEntity(navigation.target), navigation.foreign), rowSource(row))
      : column,
  )
}

function mapColumns(expr: Expr, map: (column: Expr & { kind: 'column' }) => Expr): Expr {
  if (expr.kind === 'column') return map(expr)
  if (expr.kind === 'call') return { ...expr, args: expr.args.map(arg => mapColumns(arg, map)) }
  return expr.kind === 'lambda' && expr.body ? { ...expr, body: mapColumns(expr.body, map) } : expr
}

/** Creates a lambda for each possible value of its first outer condition. */
function moveConditions(lambda: LambdaExpr, moved: number): Expr {
  const { body = TRUE, row, quantifier } = lambda
  const outer = findOuterCondition(body, new Set([row]))
  if (!outer) {
    const isConstant = quantifier === 'any' ? body.kind === 'literal' && !isTrue(body) : isTrue(body)
    return isConstant ? (quantifier === 'any' ? FALSE : TRUE) : lambda
  }
  if (moved === MAX_OUTER_CONDITIONS) return notExpressible('a lambda with many conditions on other records')
  const withValue = (value: Expr) =>
    moveConditions({ ...lambda, body: replace(body, outer, value) }, moved + 1)
  const whenTrue = allOf(isNeverNull(outer) ? outer : predicate('eq', outer, TRUE), withValue(TRUE))
  const whenFalse = allOf(
    isNeverNull(outer) ? predicate('not', outer) : predicate('eq', outer, FALSE),
    withValue(FALSE),
  )
  if (isNeverNull(outer)) return anyOf(whenTrue, whenFalse)
  const unknown = nullLiteral('Boolean')
  return anyOf(whenTrue, whenFalse, allOf(predicate('eq', outer, unknown), withValue(unknown)))
}

/** Returns the first condition that uses rows, but none that the expression binds. */
function findOuterCondition(expr: Expr, bound: ReadonlySet<RowName>): Expr | undefined {
  if (expr.type !== 'Boolean' || expr.kind === 'literal') return undefined
  const rows = rowsOf(expr)
  if (rows.length > 0 && !rows.some(row => bound.has(row))) return expr
  if (expr.kind !== 'call') return undefined
  for (const arg of expr.args) {
    const found = findOuterCondition(arg, bound)
    if (found) return found
  }
  return undefined
}

/** Returns the rows that an expression uses, without those of its own lambdas. */
function rowsOf(expr: Expr): readonly RowName[] {
  switch (expr.kind) {
    case 'column':
      return rowsOfSource(expr.source)
    case 'element':
    case 'result':
      return [expr.row]
    case 'call':
      return expr.args.flatMap(rowsOf)
    case 'list':
      return expr.items.flatMap(rowsOf)
    case 'cast':
      return rowsOf(expr.arg)
    case 'nullUnless':
      return [...rowsOf(expr.when), ...rowsOf(expr.value)]
    case 'search':
      return [expr.row]
    case 'inFeed':
      return rowsOf(expr.key)
    case 'lambda':
    case 'count': {
      const inner = expr.kind === 'lambda' ? expr.body : expr.filter
      const outer = inner ? rowsOf(inner).filter(row => row !== expr.row) : []
      return [...rowsOfSource(expr.over.source), ...outer]
    }
    default:
      return []
  }
}

function rowsOfSource(source: ColumnSource): readonly RowName[] {
  if (source.kind === 'row') return [source.row]
  return source.kind === 'via' ? rowsOfSource(source.from) : rowsOf(source.key)
}

function replace(expr: Expr, part: Expr, value: Expr): Expr {
  if (expr === part) return value
  return expr.kind === 'call'
    ? foldCall({ ...expr, args: expr.args.map(a => replace(a, part, value)) })
    : expr
}

/** Folds `and`, `or` and `not` with constants. */
function foldCall(call: CallExpr): Expr {
  if (call.fn === 'and') return allOf(...call.args)
  if (call.fn === 'or') return anyOf(...call.args)
  const [arg] = call.args
  if (call.fn !== 'not' || arg?.kind !== 'literal' || arg.value === null) return call
  return isFalse(arg) ? TRUE : FALSE
}

/** Returns true for a condition that is never null: comparisons, `in`, and lambdas. */
export function isNeverNull(expr: Expr): boolean {
  if (expr.kind === 'lambda') return true
  if (expr.kind !== 'call') return expr.kind === 'literal' && expr.value !== null
  return expr.fn === 'and' || expr.fn === 'or' || expr.fn === 'not'
    ? expr.args.every(isNeverNull)
    : isComparisonOperator(expr.fn) || expr.fn === 'in'
}
