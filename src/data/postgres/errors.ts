import { type Problem, type Wait, withCause } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'

// Maps errors of the database and its drivers, as observed with Prisma 7.10 on pg 8. The SQLSTATE is in
// `meta.driverAdapterError.cause.originalCode`, equally for PostgreSQL and PGlite. Errors of the driver have
// a code of Prisma or Node, or only a message.

type UnavailableReason = Extract<Problem, { kind: 'Unavailable' }>['reason']

const toUnavailableProblem = (reason: UnavailableReason, wait?: Wait): Problem => ({
  kind: 'Unavailable',
  reason,
  ...(wait && { wait }),
})
const CONFLICT: Problem = {
  kind: 'Conflict',
}
const INVALID_VALUE: Problem = { kind: 'ImpossibleValue' }
const TOO_COMPLEX: Problem = { kind: 'BadRequest', reason: REASONS.tooComplexForDatabase }

/**
 * Prefixes of SQLSTATE (PostgreSQL documentation, appendix A). A longer prefix precedes a shorter one that it
 * extends.
 */
const PROBLEMS_BY_SQLSTATE_PREFIX: readonly (readonly [string, Problem])[] = [
  ['57014', toUnavailableProblem('timeout', 'statement')],
  // The server has become a standby.
  ['25006', toUnavailableProblem('database')],
  ['25P03', toUnavailableProblem('timeout', 'transaction')],
  ['55P03', toUnavailableProblem('busy', 'lock')],
  ['53100', toUnavailableProblem('database')],
  ['53300', toUnavailableProblem('busy', 'connection')],
  ['53', toUnavailableProblem('busy')],
  ['57', toUnavailableProblem('database')],
  ['08', toUnavailableProblem('database')],
  ['3D', toUnavailableProblem('database')],
  ['40', CONFLICT],
  ['22', INVALID_VALUE],
  ['23514', INVALID_VALUE],
  ['54', TOO_COMPLEX],
]

/**
 * Codes of Prisma and of Node. P2028 has two meanings, which its text distinguishes. Codes that Prisma's
 * driver adapter never reports (P1002, P2024), or only for errors with a SQLSTATE (P2020, P2034), are not
 * listed.
 */
const PROBLEMS_BY_ERROR_CODE: ReadonlyMap<string, Problem> = new Map([
  ...[
    'P1001',
    'P1008',
    'P1017',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ENOENT',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
  ].map(code => [code, toUnavailableProblem('database')] as const),
  ['P2028', toUnavailableProblem('timeout', 'transaction')],
])

const PROBLEMS_BY_MESSAGE: readonly (readonly [RegExp, Problem])[] = [
  [
    /Unable to start a transaction in the given time|timeout exceeded when trying to connect/,
    toUnavailableProblem('busy', 'connection'),
  ],
  [
    /Connection terminated|timeout expired|Query read timeout|Can't reach database server|Connection ended|after calling end on the pool|not queryable/i,
    toUnavailableProblem('database'),
  ],
]

interface DriverErrorFields {
  readonly code?: string
  readonly message?: string
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: string } } }
}

/** Returns the problem to report, or undefined for an internal error. */
export function toProblem(error: unknown): Problem | undefined {
  if (!(error instanceof Error)) return undefined
  const sqlState = sqlStateOf(error)
  const known =
    sqlState === undefined
      ? undefined
      : PROBLEMS_BY_SQLSTATE_PREFIX.find(([prefix]) => sqlState.startsWith(prefix))
  if (known) return known[1]
  const { code, message = '' }: DriverErrorFields = error
  return (
    PROBLEMS_BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ??
    (code === undefined ? undefined : PROBLEMS_BY_ERROR_CODE.get(code))
  )
}

/** Runs a read, and maps errors of the database to the problems that clients receive. */
export async function toProblemOnError<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const problem = toProblem(error)
    throw problem ? withCause(problem, error) : error
  }
}

/**
 * Returns true if the same transaction can succeed when it is repeated: it conflicted with another one and
 * changed nothing.
 */
export const isRetryable = (error: unknown): boolean => toProblem(error) === CONFLICT

/** Returns the SQLSTATE of an error that PostgreSQL reported. In errors of pg it is the code. */
export function sqlStateOf(error: DriverErrorFields): string | undefined {
  const sqlState = error.meta?.driverAdapterError?.cause?.originalCode
  return (
    sqlState ??
    (error.code !== undefined && /^[0-9A-Z]{5}$/.test(error.code) && !/^[EP]/.test(error.code)
      ? error.code
      : undefined)
  )
}
