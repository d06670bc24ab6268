import { fail, type SourceLocation } from '../errors/problem.js'
import { MAX_COMPUTED_PARTS } from './limits.js'
import { type Expr, MODEL_MEMBERS } from './plan.js'

const PART_COUNTS = new WeakMap<object, number>()

/**
 * Returns the number of parts of a value when it is written out. Objects of the model are not counted. Shared
 * parts are traversed once and counted each time.
 */
function countParts(part: unknown): number {
  if (typeof part !== 'object' || part === null) return 0
  const cached = PART_COUNTS.get(part)
  if (cached !== undefined) return cached
  const weight = Object.entries(part).reduce(
    (sum, [name, inner]) => (MODEL_MEMBERS.has(name) ? sum : sum + countParts(inner)),
    1,
  )
  PART_COUNTS.set(part, weight)
  return weight
}

/**
 * Refuses a computed value (`QueryTooComplex`) that is too large together with the computed values it uses.
 */
export function checkComplexity(value: Expr, at: SourceLocation): void {
  if (countParts(value) > MAX_COMPUTED_PARTS)
    fail({ kind: 'QueryTooComplex', what: 'parts in a computed value', limit: MAX_COMPUTED_PARTS, at })
}
