import type { FunctionName } from '../../query/functions.js'

/** The comparison operators, each with its negation. */
export const NEGATORS = { eq: 'ne', ne: 'eq', gt: 'le', ge: 'lt', lt: 'ge', le: 'gt' } as const
/** The operator for exchanged operands. */
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
/** Returns true for `gt`, `ge`, `lt` and `le`, which are false for null. */
export const isOrderingOperator = (fn: ComparisonOperator) => fn !== 'eq' && fn !== 'ne'
