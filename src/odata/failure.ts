import { toFailure } from '../errors/catalog.js'
import { problemsOf } from '../errors/problem.js'
import { failureHeaders, renderErrorBody } from '../http/failure.js'
import type { Answer } from './answer.js'

/**
 * The answer to a request that failed. Of anything but a problem, a client is told only the id under which `report` has logged it, and nothing of what stands behind one.
 */
export function toFailureAnswer(error: unknown, report: (error: unknown) => string): Answer {
  const problems = problemsOf(error, report)
  const failure = toFailure(problems)
  return { status: failure.status, headers: { 'Content-Type': 'application/json', ...failureHeaders(problems[0]) }, body: renderErrorBody(failure) }
}
