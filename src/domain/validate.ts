import type { Problem } from '../errors/problem.js'
import { type FieldFault, type ListingChanges, sortFaults } from './changes.js'
import type { JsonObject } from './json.js'
import { DRAFT, findTransition, TRANSITIONS } from './lifecycle.js'
import type { Listing } from './listing.js'
import { missingReferences, type ReferencedKeys } from './references.js'

/**
 * Returns every fault of a write, in the order of its body: faults from `readChanges`, references without a
 * record (1107), and conflicts with the stored record (1108, 1101). Each field has one kind of fault, so an
 * unreadable value is not looked up.
 * @param existingKeys the keys that exist, of those that the changes refer to
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

/** A record that was imported without a status counts as a draft. */
const statusOf = ({ StandardStatus }: Listing) => StandardStatus ?? DRAFT

function transitionFaults({ status }: ListingChanges, stored: Listing): readonly FieldFault[] {
  const from = statusOf(stored)
  return status === undefined || findTransition(from, status)
    ? []
    : [{ at: 'StandardStatus', problem: { kind: 'TransitionNotAllowed', from, to: status } }]
}

/**
 * Checks that the fields a status requires have values. They are checked when the status changes and when a
 * write clears one of them.
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
      ? [{ at: field, problem: { kind: 'OutOfRange', field, limit: 'be greater than 0' } }]
      : []
  })
}
