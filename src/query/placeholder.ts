import { randomUUID } from 'node:crypto'
import { recall, remember } from './memoize.js'
import { allOf, call, columnOf, type Plan, type Position, rowSource } from './plan.js'

/** PostgreSQL has no text with NUL, and nobody else knows the rest. */
const MARK = `\0${randomUUID()} `

/**
 * Stands in a plan or a statement for what each request gives: so requests that are otherwise the same share
 * it, and all that is made of it.
 */
export const given = (index: number): string => MARK + index

/** Which of what is given a value stands for; undefined: it is a value. */
export const indexOfGiven = (value: unknown): number | undefined =>
  typeof value === 'string' && value.startsWith(MARK) ? Number(value.slice(MARK.length)) : undefined

/** What a request gives, by index. */
export type Given = readonly unknown[]

/** The plan of the record with the key that is given: one for all keys. */
export const withKey = remember((plan: Plan): Plan => {
  const { key } = plan.entity
  // Keys are text, but for the log's numbers.
  const isKey = call('eq', columnOf(key, rowSource('r0')), {
    kind: 'literal',
    value: given(0),
    type: key.type,
  })
  return { ...plan, filter: allOf(plan.filter, isKey) }
})

/**
 * The plan of the records behind a place whose values are given: one for all places with nulls in the same
 * terms.
 */
export function behind(plan: Plan, place: Position): Plan {
  const nulls = place.map(value => (value === null ? 'n' : 'v')).join('')
  return recall(
    plansBehind(plan),
    nulls,
    (): Plan => ({ ...plan, after: place.map((value, i) => (value === null ? null : given(i))), skip: 0 }),
  )
}

const plansBehind = remember((_plan: Plan) => new Map<string, Plan>())
