import type { ExprType, FunctionName } from './functions.js'
import { memoize } from './memoize.js'
import { type CallExpr, type Expr, isNull, type LiteralExpr, predicate } from './plan.js'

// Columns hold instants in milliseconds and PostgreSQL computes with microseconds. Literals have up to twelve
// digits of a second, and all of these digits are compared.

const SUB_MICROSECOND_DIGITS = /\.\d{7}/

/** Returns true for the types of points in time, which PostgreSQL rounds to microseconds. */
export const isPointInTime = (type: ExprType): boolean => type === 'DateTimeOffset' || type === 'TimeOfDay'

/** Returns true if a value may have digits below a microsecond. */
export function isSubMicrosecond(expr: Expr): boolean {
  switch (expr.kind) {
    case 'literal':
      return isTemporal(expr.type) && SUB_MICROSECOND_DIGITS.test(String(expr.value))
    case 'list':
      return expr.items.some(isSubMicrosecond)
    case 'nullUnless':
      return isSubMicrosecond(expr.value)
    case 'cast':
      return isSubMicrosecondCast(expr)
    case 'call':
      return isTemporal(expr.type) && isSubMicrosecondCall(expr)
    default:
      return false
  }
}

const isTemporal = (type: ExprType): boolean => isPointInTime(type) || type === 'Duration'

function isSubMicrosecondCast({ arg, type }: Expr & { readonly kind: 'cast' }): boolean {
  if (!isPointInTime(type)) return false
  if (arg.type !== 'String') return isSubMicrosecond(arg)
  return arg.kind !== 'literal' || SUB_MICROSECOND_DIGITS.test(String(arg.value))
}

const isSubMicrosecondCall = memoize(function isSubMicrosecondCall({ fn, args }: CallExpr): boolean {
  if (fn === 'div' || fn === 'divby') return true
  return args.some(arg => isSubMicrosecond(arg) || (fn === 'mul' && !isWholeNumber(arg)))
})

/** The factor of a duration, or the duration itself. */
const isWholeNumber = (expr: Expr): boolean =>
  expr.type === 'Decimal' ? expr.kind === 'literal' && /^-?\d+$/.test(String(expr.value)) : true

/** `2024-06-15T10:00:00.0009999Z` -> `2024-06-15T10:00:00.000999Z`. */
export const truncateToMicroseconds = (text: string): string =>
  text.replace(/\.(\d{6})\d+/, (_, digits: string) => `.${digits}`.replace(/\.?0+$/, ''))

/** The operator of a comparison after its literal was truncated to microseconds. */
const TRUNCATED_OPERATORS: { readonly [fn in FunctionName]?: FunctionName } = {
  gt: 'gt',
  ge: 'gt',
  lt: 'le',
  le: 'le',
}
const COMMUTED_OPERATORS: { readonly [fn in FunctionName]?: FunctionName } = {
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
}

/**
 * Rewrites a comparison of a value in microseconds with a more precise literal. The result is an equivalent
 * comparison with a literal in microseconds, which an index serves: `x gt 10:00:00.0009999` -> `x gt
 * 10:00:00.000999`, `x lt …` -> `x le …`, `x eq …` -> `x in ()`. The value remains in the result, since
 * permissions depend on the fields that a filter names. Other calls are returned as they are.
 */
export function compareInMicroseconds(call: CallExpr): Expr {
  const [left, right] = call.args
  if (!left || !right || !isPointInTime(left.type) || isNull(left) || isNull(right)) return call
  if (call.fn === 'in') return isSubMicrosecond(left) ? call : withoutSubMicrosecondItems(call, left, right)
  if (isSubMicrosecondLiteral(left) && !isSubMicrosecond(right))
    return compareWithTruncated({ ...call, fn: COMMUTED_OPERATORS[call.fn] ?? call.fn }, right, left)
  return isSubMicrosecondLiteral(right) && !isSubMicrosecond(left)
    ? compareWithTruncated(call, left, right)
    : call
}

const isSubMicrosecondLiteral = (expr: Expr): expr is LiteralExpr =>
  expr.kind === 'literal' && isSubMicrosecond(expr)

function compareWithTruncated(call: CallExpr, value: Expr, literal: LiteralExpr): Expr {
  if (call.fn === 'eq' || call.fn === 'ne') {
    const isEqual = predicate('in', value, { kind: 'list', items: [], type: `Collection(${literal.type})` })
    return call.fn === 'eq' ? isEqual : predicate('not', isEqual)
  }
  const fn = TRUNCATED_OPERATORS[call.fn]
  return fn
    ? { ...call, fn, args: [value, { ...literal, value: truncateToMicroseconds(String(literal.value)) }] }
    : call
}

/** No value in microseconds equals a more precise literal. */
function withoutSubMicrosecondItems(call: CallExpr, left: Expr, list: Expr): Expr {
  return list.kind === 'list' && list.items.some(isSubMicrosecondLiteral)
    ? { ...call, args: [left, { ...list, items: list.items.filter(i => !isSubMicrosecondLiteral(i)) }] }
    : call
}
