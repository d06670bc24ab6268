import type { RequestScope, StatementPermits } from '../../domain/request-scope.js'
import { ProblemError } from '../../errors/problem.js'

/**
 * Waits until a client may run one more statement.
 * @throws ProblemError TooManyRequests if none of its statements ends in time, Unavailable 'canceled'
 */
export async function acquireStatementPermit(
  scope: RequestScope,
  permits: StatementPermits,
  maxWaitMs: number,
): Promise<void> {
  if (permits.tryAcquire(scope.clientId)) return
  const outcome = await permits.acquire(scope, Math.max(0, maxWaitMs - scope.waitedMs))
  if (outcome === 'timeout') scope.allowance?.refuseStatement()
  if (outcome === 'aborted') throw new ProblemError({ kind: 'Unavailable', reason: 'canceled' })
}
