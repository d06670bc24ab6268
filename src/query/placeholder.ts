import { randomUUID } from 'node:crypto'
import { getOrCreate, memoize } from './memoize.js'
import { allOf, columnOf, type KeysetPosition, type Plan, predicate, rowSource } from './plan.js'

/** PostgreSQL has no text with NUL, and nobody else knows the rest. */
const PLACEHOLDER_PREFIX = `\0${randomUUID()} `

/**
 * Stands in a plan or a statement for what each request gives: so requests that are otherwise the same share
 * it, and all that is made of it.
 */
export const placeholder = (index: number): string => PLACEHOLDER_PREFIX + index

/** Which of what is given a value stands for; undefined: it is a value. */
export const placeholderIndex = (value: unknown): number | undefined =>
  typeof value === 'string' && value.startsWith(PLACEHOLDER_PREFIX)
    ? Number(value.slice(PLACEHOLDER_PREFIX.length))
    : undefined

/** What a request gives, by index. */
export type PlaceholderValues = readonly unknown[]

/** The plan of the record with the key that is given: one for all keys. */
export const withKeyPlaceholder = memoize(function withKeyPlaceholder(plan: Plan): Plan {
  const { key } = plan.entity
  // Keys are text, but for the log's numbers.
  const isKey = predicate('eq', columnOf(key, rowSource('r0')), {
    kind: 'literal',
    value: placeholder(0),
    type: key.type,
  })
  return { ...plan, filter: allOf(plan.filter, isKey) }
})

/**
 * The plan of the records behind a place whose values are given: one for all places with nulls in the same
 * terms.
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
