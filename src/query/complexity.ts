import { COMPLEXITY_UNITS } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import { MAX_COMPUTED_PARTS, MAX_EVALUATIONS, MAX_PATTERNS } from './limits.js'
import { type Collection, type Expr, MODEL_MEMBERS, type Plan } from './plan.js'

type ExpressionMembers = readonly (readonly [name: string, part: unknown])[]

/** Returns the count of a part of a plan, given the sum of the counts of the parts in it. */
type CountFunction = (part: Partial<Expr>, countOfParts: number) => number

/**
 * Returns a function that counts something in a value and all parts of it. Objects of the model are not
 * counted. The count of a shared part is computed once and added at each use.
 */
function createCounter(count: CountFunction): (part: unknown) => number {
  const counts = new WeakMap<object, number>()
  const countOf = (part: unknown): number => {
    if (typeof part !== 'object' || part === null) return 0
    const known = counts.get(part)
    if (known !== undefined) return known
    const parts: ExpressionMembers = Object.entries(part)
    const result = count(
      part,
      parts.reduce((sum, [name, inner]) => (MODEL_MEMBERS.has(name) ? sum : sum + countOf(inner)), 0),
    )
    counts.set(part, result)
    return result
  }
  return countOf
}

/** The number of parts of a value or a plan, where a shared part counts at each use. */
export const countParts = createCounter((_, parts) => parts + 1)

/** The number of patterns in a value. */
const countPatterns = createCounter((part, patterns) => patterns + (isPattern(part) ? 1 : 0))

/**
 * The number of functions and operators that PostgreSQL evaluates for one record. A lambda evaluates its body
 * for each item of its collection, so lambdas within each other multiply: `Media/any(a:Media/any(b:a/Order gt
 * b/Order))` is 10 * (1 + 10 * (1 + 1)).
 */
const countEvaluations = createCounter((part, evaluations) => {
  if (part.kind === 'lambda' || part.kind === 'count') return itemCountOf(part.over) * (1 + evaluations)
  if (isPattern(part)) return evaluations + EVALUATIONS_OF_PATTERN
  return part.kind === 'call' ? evaluations + 1 : evaluations
})

/** A search by pattern takes as long as this number of comparisons (measured on remarks of 500 characters). */
const EVALUATIONS_OF_PATTERN = 50
/** The assumed number of items in a collection. */
const RELATED_RECORDS = 10
const COLLECTION_VALUES = 5

const itemCountOf = (over: Collection | undefined): number =>
  over?.kind === 'values' ? COLLECTION_VALUES : RELATED_RECORDS

const isPattern = (part: Partial<Expr>): boolean => part.kind === 'call' && part.fn === 'matchespattern'

/** Refuses a computed value (`QueryTooComplex`) that is too large together with the computed values it uses. */
export function checkComplexity(value: Expr, at: SourceLocation): void {
  if (countParts(value) > MAX_COMPUTED_PARTS)
    fail({ kind: 'QueryTooComplex', what: COMPLEXITY_UNITS.computedParts, limit: MAX_COMPUTED_PARTS, at })
}

/**
 * Refuses a query (`QueryTooComplex`) that would exceed the statement limit even with few records. Expansions
 * are checked as separate queries.
 */
export function checkEvaluations(
  plan: Pick<Plan, 'from' | 'filter' | 'orderBy' | 'select'>,
  at: SourceLocation,
): void {
  if (countPatterns(plan) > MAX_PATTERNS)
    fail({ kind: 'QueryTooComplex', what: COMPLEXITY_UNITS.patterns, limit: MAX_PATTERNS, at })
  if (countEvaluations(plan) > MAX_EVALUATIONS)
    fail({
      kind: 'QueryTooComplex',
      what: COMPLEXITY_UNITS.evaluations,
      limit: MAX_EVALUATIONS,
      at,
    })
}
