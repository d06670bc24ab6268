import type { Problem } from '../errors/problem.js'
import { type FieldFault, type ListingChanges, sortFaults } from './changes.js'
import type { JsonObject } from './json.js'
import { DRAFT, findTransition, TRANSITIONS } from './lifecycle.js'
import type { Listing } from './listing.js'
import { missingReferences, type ReferencedKeys } from './references.js'

/**
 * Every fault of a write, in the order of its body: those that `readChanges` found, references that lead
 * nowhere (1107), and what the stored record does not allow (1108, 1101). A field has one kind of fault: what
 * cannot be read is not looked up.
 * @param existingKeys those of the keys the changes refer to that there are.
 */
export function validateChanges(
  changes: ListingChanges,
  stored: Listing,
  existingKeys: ReferencedKeys,
  body: JsonObject,
): readonly Problem[] {
  const faultyFields = new Set(changes.faults.map(f => f.at))
  const references = missingReferences(changes.values, existingKeys).map(problem => ({
    at: problem.field,
    problem,
  }))
  const faults = [...references, ...transitionFaults(changes, stored), ...requirementFaults(changes, stored)]
  return sortFaults([...changes.faults, ...faults.filter(f => !faultyFields.has(f.at))], body)
}

/** A record that was imported without a status starts where a draft does. */
const statusOf = ({ StandardStatus }: Listing) => StandardStatus ?? DRAFT

function transitionFaults({ status }: ListingChanges, stored: Listing): readonly FieldFault[] {
  const from = statusOf(stored)
  return status === undefined || findTransition(from, status)
    ? []
    : [{ at: 'StandardStatus', problem: { kind: 'TransitionNotAllowed', from, to: status } }]
}

/**
 * What a status requires must be there when the listing comes into it, and cannot be taken away while it is
 * in it.
 */
function requirementFaults({ status, values }: ListingChanges, stored: Listing): readonly FieldFault[] {
  const from = statusOf(stored)
  const required = TRANSITIONS.find(t => t.to === (status ?? from))?.requires ?? []
  const affected = required.filter(field => field in values || (status !== undefined && status !== from))
  return affected.flatMap((field): readonly FieldFault[] => {
    const value = field in values ? values[field] : stored[field]
    if (value === null || value === undefined)
      return [{ at: field, problem: { kind: 'RequiredMissing', field } }]
    return value === '0'
      ? [{ at: field, problem: { kind: 'OutOfRange', field, limit: 'a number greater than 0' } }]
      : []
  })
}
