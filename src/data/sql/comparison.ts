import type { FunctionName } from '../../query/functions.js'

/** The comparisons of the language, each with that which holds where it does not. */
export const COMPLEMENT = { eq: 'ne', ne: 'eq', gt: 'le', ge: 'lt', lt: 'ge', le: 'gt' } as const
/** Each with that which says the same when the sides are exchanged. */
export const FLIPPED = { eq: 'eq', ne: 'ne', gt: 'lt', ge: 'le', lt: 'gt', le: 'ge' } as const

export type Comparison = keyof typeof COMPLEMENT

export const isComparison = (fn: FunctionName): fn is Comparison => Object.hasOwn(COMPLEMENT, fn)
/** Whether it asks for more or less, and not for sameness: of null it is always false. */
export const isOrder = (fn: Comparison) => fn !== 'eq' && fn !== 'ne'
