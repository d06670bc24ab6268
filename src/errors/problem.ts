import type { Phrase } from './phrase.js'

/**
 * The place of a fault in the request. `source` names a query option, an argument or the body. `offset`
 * counts characters from 0 in its text.
 */
export interface SourceLocation {
  readonly source: string
  readonly offset?: number
}

/** A limit that a client has reached in a window of time. */
export interface ReachedLimit {
  readonly value: number
  /** The sentence about it, without its full stop. */
  readonly reason: Phrase
  readonly windowSeconds: number
}

/** A wait of a request: for a connection of the pool, for a lock of another transaction, for a statement to end. */
export type Wait = 'connection' | 'lock' | 'statement' | 'transaction'

/** A fault of a request or of the service. `catalog.ts` gives each kind its status, code and message. */
export type Problem =
  // Queries that cannot be parsed or bound.
  | {
      readonly kind: 'Syntax'
      readonly expected: Phrase
      readonly found: string
      readonly hint?: Phrase
      readonly at: SourceLocation
    }
  | {
      readonly kind: 'UnknownField'
      readonly entity: string
      readonly field: string
      readonly suggestion?: string
      readonly at: SourceLocation
    }
  | {
      readonly kind: 'UnknownFunction'
      readonly name: string
      readonly suggestion?: string
      readonly at: SourceLocation
    }
  | {
      readonly kind: 'NoOverload'
      readonly name: string
      readonly args: readonly string[]
      readonly expected: readonly string[]
      readonly hint?: Phrase
      readonly at: SourceLocation
    }
  | {
      readonly kind: 'WrongType'
      readonly expected: Phrase
      readonly found: string
      readonly at: SourceLocation
    }
  | {
      readonly kind: 'BadLiteral'
      readonly type: string
      readonly text: string
      readonly hint?: Phrase
      readonly at: SourceLocation
    }
  | { readonly kind: 'DivisionByZero'; readonly at: SourceLocation }
  | { readonly kind: 'UnknownOption'; readonly option: string; readonly suggestion?: string }
  | { readonly kind: 'DuplicateOption'; readonly option: string }
  | { readonly kind: 'OptionNotAllowed'; readonly option: string; readonly context: Phrase }
  | {
      readonly kind: 'BadOptionValue'
      readonly option: string
      readonly expected: Phrase
      readonly found: string
    }
  | { readonly kind: 'DuplicateItem'; readonly item: string; readonly at: SourceLocation }
  | { readonly kind: 'NameTaken'; readonly name: string; readonly at: SourceLocation }
  | { readonly kind: 'NotSortable'; readonly field: string; readonly at: SourceLocation }
  | { readonly kind: 'NotReadable'; readonly field: string; readonly at: SourceLocation }
  | { readonly kind: 'UndefinedAlias'; readonly alias: string; readonly at: SourceLocation }
  | { readonly kind: 'BadPageToken'; readonly option: string }
  | { readonly kind: 'SkipTooLarge'; readonly option: string; readonly limit: number }
  | {
      readonly kind: 'QueryTooComplex'
      readonly what: Phrase
      readonly limit: number
      readonly at: SourceLocation
    }
  | { readonly kind: 'LinkTooLong'; readonly limit: number }
  | { readonly kind: 'BadEncoding'; readonly found: string }
  | { readonly kind: 'BadKey'; readonly entity: string; readonly found: string }
  | { readonly kind: 'BadHeader'; readonly header: string; readonly expected: Phrase; readonly found: string }
  | { readonly kind: 'NotImplemented'; readonly feature: Phrase; readonly at?: SourceLocation }
  // Bodies that cannot be parsed, and faults of a write. All faults of a write are reported together.
  | { readonly kind: 'MalformedBody'; readonly reason: Phrase }
  | { readonly kind: 'RequiredMissing'; readonly field: string }
  | {
      readonly kind: 'UnknownBodyField'
      readonly entity: string
      readonly field: string
      readonly suggestion?: string
    }
  | { readonly kind: 'BadValue'; readonly field: string; readonly expected: Phrase; readonly found: string }
  | { readonly kind: 'OutOfRange'; readonly field: string; readonly limit: Phrase }
  | { readonly kind: 'NotInLookup'; readonly field: string; readonly value: string }
  | { readonly kind: 'NotWritable'; readonly field: string }
  | {
      readonly kind: 'NoSuchReference'
      readonly field: string
      readonly value: string
      readonly target: string
    }
  | {
      readonly kind: 'TransitionNotAllowed'
      /** The stored status. Undefined for a new record. */
      readonly from?: string
      readonly to: string
      /** The statuses that are possible instead. */
      readonly allowed: readonly string[]
    }
  /** A value of administration that is refused for a reason of its own, such as a filter that cannot be compiled. */
  | { readonly kind: 'ValueRefused'; readonly field: string; readonly reason: string }
  // Authentication, permissions and the protocol.
  | { readonly kind: 'TokenMissing' }
  | { readonly kind: 'TokenRefused'; readonly reason: Phrase }
  | { readonly kind: 'ScopeMissing'; readonly scope: string }
  | { readonly kind: 'NotYours'; readonly entity: string }
  | { readonly kind: 'NotAssignable'; readonly field: string }
  | { readonly kind: 'NotFound'; readonly what: Phrase; readonly suggestion?: string }
  | { readonly kind: 'MethodNotAllowed'; readonly method: string; readonly allow: readonly string[] }
  | { readonly kind: 'NotAcceptable'; readonly offered: string; readonly wish: 'Accept' | '$format' }
  | { readonly kind: 'UnsupportedMediaType'; readonly expected: Phrase }
  | { readonly kind: 'Conflict' }
  /** A change of administration that the state of the record does not allow. */
  | { readonly kind: 'ChangeRefused'; readonly reason: string }
  /** `location` is the address at which the client starts again. */
  | { readonly kind: 'PositionGone'; readonly option: string; readonly location?: string }
  | { readonly kind: 'PreconditionFailed'; readonly header: 'If-Match' | 'If-None-Match' }
  | { readonly kind: 'IsolationNotOffered'; readonly found: string }
  | { readonly kind: 'BodyTooLarge'; readonly limit: number }
  | { readonly kind: 'UrlTooLong'; readonly limit: number }
  | { readonly kind: 'DependencyFailed' }
  | { readonly kind: 'HeadersTooLarge' }
  | {
      readonly kind: 'TooManyRequests'
      readonly retryAfter: number
      readonly reason?: Phrase
      readonly limit?: ReachedLimit
    }
  | { readonly kind: 'BadRequest'; readonly reason: Phrase }
  /** The database can neither store nor compare a value: a string with a NUL, a result out of range. */
  | { readonly kind: 'ImpossibleValue' }
  // Failures of the service.
  | {
      readonly kind: 'Unavailable'
      readonly reason: 'database' | 'busy' | 'timeout' | 'keys' | 'clients' | 'canceled'
      /** The wait that took too long, if one did. */
      readonly wait?: Wait
    }
  | { readonly kind: 'Internal'; readonly id: string }

export type ProblemKind = Problem['kind']
export type ProblemOf<K extends ProblemKind> = Extract<Problem, { kind: K }>

/**
 * A refused request. Holds every problem that was found, at least one, in the order of the request. `cause`
 * is written to the log and never sent to the client.
 */
export class ProblemError extends Error {
  readonly problems: readonly [Problem, ...Problem[]]

  constructor(first: Problem, ...others: readonly Problem[]) {
    super(first.kind)
    this.problems = [first, ...others]
  }
}

export const fail = (problem: Problem): never => {
  throw new ProblemError(problem)
}

/** Returns the error for a problem. The cause of an unavailable service is attached for the log. */
export const withCause = (problem: Problem, cause: unknown): ProblemError =>
  Object.assign(new ProblemError(problem), problem.kind === 'Unavailable' && { cause })

/**
 * Returns the problems to send for an error. `logError` receives every error and returns the id of its log
 * entry. The client gets only that id for an error that is not a `ProblemError`.
 */
export function problemsOf(error: unknown, logError: (error: unknown) => string): ProblemError['problems'] {
  const id = logError(error)
  return error instanceof ProblemError ? error.problems : [{ kind: 'Internal', id }]
}

/** Returns the message of an error, for a problem that of its cause. Some errors of Node have only a code. */
export function messageOf(error: unknown): string {
  if (error instanceof ProblemError && error.cause !== undefined) return messageOf(error.cause)
  return (error instanceof Error && error.message) || String(error)
}

/** Throws a `ProblemError` if the list is not empty. */
export function failIfAny(problems: readonly Problem[]): void {
  const [first, ...others] = problems
  if (first) throw new ProblemError(first, ...others)
}
