import { getOrCreate, memoize } from './memoize.js'
import {
  allOf,
  columnOf,
  type KeysetPosition,
  ParameterRef,
  type Plan,
  parameter,
  predicate,
  rowSource,
} from './plan.js'

/** The values of a request, by the index of the parameter. */
export type ParameterValues = readonly unknown[]

/** Returns the plan that reads the record with the key of parameter 0, shared by all keys. */
export const withKeyParameter = memoize(function withKeyParameter(plan: Plan): Plan {
  const { key } = plan.entity
  const isKey = predicate('eq', columnOf(key, rowSource('r0')), parameter(0, key.type))
  return { ...plan, filter: allOf(plan.filter, isKey) }
})

/**
 * Returns the plan that reads the records after a position. Positions with nulls in the same terms share the
 * plan.
 */
export function afterCursor(plan: Plan, position: KeysetPosition): Plan {
  const nulls = position.map(value => (value === null ? 'n' : 'v')).join('')
  return getOrCreate(
    plansAfterCursor(plan),
    nulls,
    (): Plan => ({
      ...plan,
      after: position.map((value, i) => (value === null ? null : new ParameterRef(i))),
      skip: 0,
    }),
  )
}

const plansAfterCursor = memoize(function plansAfterCursor(_plan: Plan) {
  return new Map<string, Plan>()
})
