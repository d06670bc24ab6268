import { toFailure } from './catalog.js'
import type { Problem, ProblemError } from './problem.js'

/**
 * A change of administration that is refused. The message is a sentence for the operator of a command. The problems are
 * the same for a client of /admin.
 */
export class ChangeError extends Error {
  readonly problems: ProblemError['problems']

  /** @param problems by default the change conflicts with the state of the record. */
  constructor(message: string, ...problems: readonly Problem[]) {
    super(message)
    const [first = { kind: 'ChangeRefused', reason: message }, ...others] = problems
    this.problems = [first, ...others]
  }
}

/** Returns the fault of a value, with a sentence. */
export const valueFault = (field: string, reason: string): Problem => ({
  kind: 'ValueRefused',
  field,
  reason,
})

/**
 * Throws an error with the faults of the body of a request, and of the rules. A field with a fault in the body is
 * reported once.
 */
export function refuseFaults(ofBody: readonly Problem[] = [], ofRules: readonly Problem[]): void {
  const faultyFields = new Set(ofBody.map(fieldOf))
  // The rules say nothing about a body that is not JSON.
  const isReadable = !faultyFields.has(undefined)
  const rest = ofRules.filter(fault => isReadable && !faultyFields.has(fieldOf(fault)))
  const [first, ...others] = [...ofBody, ...rest]
  if (first) throw new ChangeError(sentencesOf([first, ...others]), first, ...others)
}

const fieldOf = (problem: Problem): unknown => ('field' in problem ? problem.field : undefined)

/** Returns the sentences of problems. Faults of fields are details of one failure. */
export const sentencesOf = (problems: ProblemError['problems']): string => {
  const { message, details } = toFailure(problems)
  return details.length > 0 ? details.map(detail => detail.message).join(' ') : message
}
