import type { Problem } from '../../errors/problem.js'

// What the database and its drivers throw, by experiment with Prisma 7.10 on pg 8: the SQLSTATE stands in
// `meta.driverAdapterError.cause.originalCode`, the same for PostgreSQL and PGlite; the driver's own faults
// have a Prisma code, a code of Node, or only a text.

type Reason = Extract<Problem, { kind: 'Unavailable' }>['reason']

const unavailable = (reason: Reason): Problem => ({ kind: 'Unavailable', reason })
const CONFLICT: Problem = {
  kind: 'Conflict',
  what: 'Another request changed the same data at the same time. Try again.',
}
const BAD_VALUE: Problem = { kind: 'ImpossibleValue' }
const TOO_COMPLEX: Problem = { kind: 'BadRequest', reason: 'it is too complex for the database' }

/**
 * Beginnings of SQLSTATE (PostgreSQL documentation, appendix A), the longest first where one begins another.
 */
const BY_STATE: readonly (readonly [string, Problem])[] = [
  ['57014', unavailable('timeout')],
  ['25P03', unavailable('timeout')],
  ['55P03', unavailable('busy')],
  ['53100', unavailable('database')],
  ['53', unavailable('busy')],
  ['57', unavailable('database')],
  ['08', unavailable('database')],
  ['40', CONFLICT],
  ['22', BAD_VALUE],
  ['54', TOO_COMPLEX],
]

/** Codes of Prisma and of Node. P2028 has two meanings, and its text tells them apart. */
const BY_CODE: ReadonlyMap<string, Problem> = new Map([
  ...[
    'P1001',
    'P1002',
    'P1008',
    'P1017',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ENOENT',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
  ].map(code => [code, unavailable('database')] as const),
  ['P2024', unavailable('busy')],
  ['P2028', unavailable('timeout')],
  ['P2034', CONFLICT],
  ['P2020', BAD_VALUE],
])

const BY_TEXT: readonly (readonly [RegExp, Problem])[] = [
  [
    /Unable to start a transaction in the given time|timeout exceeded when trying to connect/,
    unavailable('busy'),
  ],
  [
    /Connection terminated|Can't reach database server|Connection ended|after calling end on the pool|not queryable/i,
    unavailable('database'),
  ],
]

interface Facts {
  readonly code?: string
  readonly message?: string
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: string } } }
}

/**
 * The problem that a client is told of, or undefined when the fault is ours and nothing that a client could
 * know of.
 */
export function toProblem(error: unknown): Problem | undefined {
  if (!(error instanceof Error)) return undefined
  const state = stateOf(error)
  const known = state === undefined ? undefined : BY_STATE.find(([beginning]) => state.startsWith(beginning))
  if (known) return known[1]
  const { code, message = '' }: Facts = error
  return (
    BY_TEXT.find(([text]) => text.test(message))?.[1] ?? (code === undefined ? undefined : BY_CODE.get(code))
  )
}

/**
 * Whether the same transaction can succeed when it is run again: it lost against another one and changed
 * nothing.
 */
export const isRetryable = (error: unknown): boolean => toProblem(error) === CONFLICT

/** SQLSTATE of the error, if PostgreSQL itself refused: five signs, in errors of pg the code. */
function stateOf(error: Facts): string | undefined {
  const state = error.meta?.driverAdapterError?.cause?.originalCode
  return (
    state ??
    (error.code !== undefined && /^[0-9A-Z]{5}$/.test(error.code) && !/^[EP]/.test(error.code)
      ? error.code
      : undefined)
  )
}
