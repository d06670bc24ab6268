import { randomUUID } from 'node:crypto'
import { getOrCreate, memoize } from './memoize.js'
import { allOf, columnOf, type KeysetPosition, type Plan, predicate, rowSource } from './plan.js'

/** Text that no value can have: PostgreSQL has no text with NUL, and the rest is random. */
const PLACEHOLDER_PREFIX = `\0${randomUUID()} `

/**
 * Returns a text that marks the place of a request's value in a plan or statement. Requests that differ only
 * in such values share the plan and everything that is cached by it.
 */
export const placeholder = (index: number): string => PLACEHOLDER_PREFIX + index

/** Returns the index of the placeholder, or undefined for an ordinary value. */
export const placeholderIndex = (value: unknown): number | undefined =>
  typeof value === 'string' && value.startsWith(PLACEHOLDER_PREFIX)
    ? Number(value.slice(PLACEHOLDER_PREFIX.length))
    : undefined

/** The values of a request, by placeholder index. */
export type PlaceholderValues = readonly unknown[]

/** Returns the plan that reads the record with the key of placeholder 0, shared by all keys. */
export const withKeyPlaceholder = memoize(function withKeyPlaceholder(plan: Plan): Plan {
  const { key } = plan.entity
  // Keys are text, except in the log.
  const isKey = predicate('eq', columnOf(key, rowSource('r0')), {
    kind: 'literal',
    value: placeholder(0),
    type: key.type,
  })
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
      after: position.map((value, i) => (value === null ? null : placeholder(i))),
      skip: 0,
    }),
  )
}

const plansAfterCursor = memoize(function plansAfterCursor(_plan: Plan) {
  return new Map<string, Plan>()
})
