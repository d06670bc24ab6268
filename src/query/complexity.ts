import { type At, fail } from '../errors/problem.js'
import { COMPUTED_PARTS_MAX } from './limits.js'
import { type Expr, MODEL_MEMBERS } from './plan.js'

const known = new WeakMap<object, number>()

/**
 * How many parts a value has when it is written out; what it names of the model costs nothing. Parts that
 * several others share are looked at once.
 */
function weigh(part: unknown): number {
  if (typeof part !== 'object' || part === null) return 0
  const before = known.get(part)
  if (before !== undefined) return before
  const weight = Object.entries(part).reduce(
    (sum, [name, inner]) => (MODEL_MEMBERS.has(name) ? sum : sum + weigh(inner)),
    1,
  )
  known.set(part, weight)
  return weight
}

/** Refuses a computed value (`QueryTooComplex`) that is too large together with those that it is made of. */
export function checkWeight(value: Expr, at: At): void {
  if (weigh(value) > COMPUTED_PARTS_MAX)
    fail({ kind: 'QueryTooComplex', what: 'parts in a computed value', limit: COMPUTED_PARTS_MAX, at })
}
