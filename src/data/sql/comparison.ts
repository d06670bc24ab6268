import type { FunctionName } from '../../query/functions.js'
import type { Expr } from '../../query/plan.js'

export type ColumnExpr = Expr & { kind: 'column' }
export type LiteralExpr = Expr & { kind: 'literal' }

/** The comparisons of the language, each with that which holds where it does not. */
export const NEGATORS = { eq: 'ne', ne: 'eq', gt: 'le', ge: 'lt', lt: 'ge', le: 'gt' } as const
/** Each with that which says the same when the sides are exchanged. */
export const COMMUTATORS = { eq: 'eq', ne: 'ne', gt: 'lt', ge: 'le', lt: 'gt', le: 'ge' } as const

export type ComparisonOperator = keyof typeof NEGATORS

export const SQL_OPERATORS: Readonly<Record<ComparisonOperator, string>> = {
  eq: '=',
  ne: '<>',
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
}

export const isComparisonOperator = (fn: FunctionName): fn is ComparisonOperator =>
  Object.hasOwn(NEGATORS, fn)
/** Whether it asks for more or less, and not for sameness: of null it is always false. */
export const isOrderingOperator = (fn: ComparisonOperator) => fn !== 'eq' && fn !== 'ne'
