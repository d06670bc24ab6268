import type { Problem } from '../errors/problem.js'
import { allOf, type Expr, isFalse } from '../query/plan.js'
import { type EvaluationContext, isMet } from './evaluate.js'
import { type Assignment, assignmentsOf } from './field-assignments.js'
import type { JsonObject } from './json.js'
import { NO_LISTING, type ReferencedRecords, type StoredListing } from './listing.js'
import { type FieldFault, sortFaults } from './listing-changes.js'
import { RULE_STAGES, rulesOf, type WriteRule } from './write-rules.js'
import type { WriteRequest, WriteShape } from './write-shape.js'

/** The rules and derived fields of all writes of one shape. */
export interface WritePlan {
  readonly shape: WriteShape
  readonly rules: readonly WriteRule[]
  /** The condition under which the write is done. */
  readonly condition: Expr
  readonly assignments: readonly Assignment[]
}

export function toWritePlan(shape: WriteShape): WritePlan {
  const rules = rulesOf(shape)
  return {
    shape,
    rules,
    // An actor that may write a listing can see it, so visibility needs no condition of its own.
    condition: allOf(...rules.filter(r => r.stage !== 'visibility').map(r => r.condition)),
    assignments: assignmentsOf(shape),
  }
}

/** Returns true if no record could make the write valid. Such a write is not sent to the database. */
export const isAlwaysRefused = ({ shape, condition }: WritePlan): boolean =>
  shape.faultyFields.size > 0 || isFalse(condition)

/** The data that the rules of a write read. */
export interface RuleInputs extends ReferencedRecords {
  /** Undefined for a record that does not exist. */
  readonly stored: StoredListing | undefined
}

/** The inputs of a write that creates a record and refers to none. */
export const EMPTY_RULE_INPUTS: RuleInputs = { stored: undefined, members: new Map(), offices: new Set() }

/**
 * Returns the reasons to refuse a write, none if the rules allow it: not found, then permissions, then
 * preconditions, then all faults of the body in its order.
 */
export function refusalsOf(
  plan: WritePlan,
  { changes, body }: Pick<WriteRequest, 'changes'> & { readonly body: JsonObject },
  key: string,
  parameters: readonly unknown[],
  inputs: RuleInputs,
): readonly Problem[] {
  const refused = { key, stored: inputs.stored ?? NO_LISTING, written: changes.values }
  if (!inputs.stored && plan.shape.mode !== 'create')
    return plan.rules.filter(r => r.stage === 'visibility').map(r => r.toProblem(refused))
  const context = toEvaluationContext(inputs, parameters)
  const broken = plan.rules.filter(({ condition }) => !isMet(condition, context))
  for (const stage of RULE_STAGES) {
    const first = broken.find(rule => rule.stage === stage)
    if (first && stage !== 'body') return [first.toProblem(refused)]
  }
  const faults = broken.map((rule): FieldFault => ({ at: rule.at ?? '', problem: rule.toProblem(refused) }))
  return sortFaults([...changes.faults, ...faults], body)
}

/** Returns the context in which the rules and assignments of a write are evaluated. */
export const toEvaluationContext = (
  { stored, members, offices }: RuleInputs,
  parameters: readonly unknown[],
): EvaluationContext => ({
  record: { ...(stored ?? NO_LISTING) },
  find: (entity, key) => {
    if (entity === 'Office') return offices.has(key) ? { OfficeKey: key } : undefined
    const office = members.get(key)
    return office === undefined ? undefined : { MemberKey: key, OfficeKey: office }
  },
  parameters,
})
