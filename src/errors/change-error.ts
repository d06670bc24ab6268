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

/** Returns the sentences of problems. Faults of fields are details of one failure. */
export const sentencesOf = (problems: ProblemError['problems']): string => {
  const { message, details } = toFailure(problems)
  return details.length > 0 ? details.map(detail => detail.message).join(' ') : message
}
