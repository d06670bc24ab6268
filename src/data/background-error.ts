import type { Logger } from 'pino'
import { messageOf, ProblemError } from '../errors/problem.js'
import { toProblem } from './postgres/errors.js'

/** A logger of background work. */
export type BackgroundLogger = Pick<Logger, 'warn' | 'error'>

/**
 * Logs an error of work that no request waits for, with the names of what it works on. An unavailable database
 * is no fault of the service: it gets a warning without a stack.
 */
export function logBackgroundError(
  logger: BackgroundLogger,
  error: unknown,
  message: string,
  names: Readonly<Record<string, unknown>> = {},
): void {
  const isExpected = error instanceof ProblemError || toProblem(error)?.kind === 'Unavailable'
  if (isExpected) logger.warn({ ...names, cause: messageOf(error) }, message)
  else logger.error({ ...names, err: error }, message)
}
