/**
 * Where in the request a fault stands: a query option, argument or body, and an offset (characters, from 0)
 * into its text.
 */
export interface SourceLocation {
  readonly source: string
  readonly offset?: number
}

/**
 * Everything that can be wrong with a request, in the words of the domain. Status, code and text stand in
 * `catalog.ts`.
 */
export type Problem =
  // A query that cannot be read or has no meaning.
  | {
      readonly kind: 'Syntax'
      readonly expected: string
      readonly found: string
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
      readonly hint?: string
      readonly at: SourceLocation
    }
  | {
      readonly kind: 'WrongType'
      readonly expected: string
      readonly found: string
      readonly at: SourceLocation
    }
  | {
      readonly kind: 'BadLiteral'
      readonly type: string
      readonly text: string
      readonly hint?: string
      readonly at: SourceLocation
    }
  | { readonly kind: 'DivisionByZero'; readonly at: SourceLocation }
  | { readonly kind: 'UnknownOption'; readonly option: string; readonly suggestion?: string }
  | { readonly kind: 'DuplicateOption'; readonly option: string }
  | { readonly kind: 'OptionNotAllowed'; readonly option: string; readonly context: string }
  | {
      readonly kind: 'BadOptionValue'
      readonly option: string
      readonly expected: string
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
      readonly what: string
      readonly limit: number
      readonly at: SourceLocation
    }
  | { readonly kind: 'LinkTooLong'; readonly limit: number }
  | { readonly kind: 'BadEncoding'; readonly found: string }
  | { readonly kind: 'BadKey'; readonly entity: string; readonly found: string }
  | { readonly kind: 'BadHeader'; readonly header: string; readonly found: string }
  | { readonly kind: 'NotImplemented'; readonly feature: string; readonly at?: SourceLocation }
  // A body that cannot be read, and the faults of a write: all of them are reported at once.
  | { readonly kind: 'MalformedBody'; readonly reason: string }
  | { readonly kind: 'RequiredMissing'; readonly field: string }
  | {
      readonly kind: 'UnknownBodyField'
      readonly entity: string
      readonly field: string
      readonly suggestion?: string
    }
  | { readonly kind: 'BadValue'; readonly field: string; readonly expected: string; readonly found: string }
  | { readonly kind: 'OutOfRange'; readonly field: string; readonly limit: string }
  | { readonly kind: 'NotInLookup'; readonly field: string; readonly value: string }
  | { readonly kind: 'NotWritable'; readonly field: string }
  | {
      readonly kind: 'NoSuchReference'
      readonly field: string
      readonly value: string
      readonly target: string
    }
  | { readonly kind: 'TransitionNotAllowed'; readonly from: string; readonly to: string }
  // Who asks, and what for.
  | { readonly kind: 'TokenMissing' }
  | { readonly kind: 'TokenRefused'; readonly reason: string }
  | { readonly kind: 'ScopeMissing'; readonly scope: string }
  | { readonly kind: 'NotYours'; readonly entity: string }
  | { readonly kind: 'NotFound'; readonly what: string }
  | { readonly kind: 'MethodNotAllowed'; readonly method: string; readonly allow: readonly string[] }
  | { readonly kind: 'NotAcceptable'; readonly offered: string; readonly wish: 'Accept' | '$format' }
  | { readonly kind: 'UnsupportedMediaType'; readonly expected: string }
  | { readonly kind: 'Conflict'; readonly what: string }
  | { readonly kind: 'PreconditionFailed'; readonly header: 'If-Match' | 'If-None-Match' }
  | { readonly kind: 'IsolationNotOffered'; readonly found: string }
  | { readonly kind: 'BodyTooLarge'; readonly limit: number }
  | { readonly kind: 'UrlTooLong'; readonly limit: number }
  | { readonly kind: 'DependencyFailed' }
  | { readonly kind: 'HeadersTooLarge' }
  | { readonly kind: 'TooManyRequests'; readonly retryAfter: number }
  | { readonly kind: 'BadRequest'; readonly reason: string }
  /** The database can neither hold nor compare it: a text with a NUL, a result beyond all numbers. */
  | { readonly kind: 'ImpossibleValue' }
  // The service itself.
  | { readonly kind: 'Unavailable'; readonly reason: 'database' | 'busy' | 'timeout' | 'keys' }
  | { readonly kind: 'Internal'; readonly id: string }

export type ProblemKind = Problem['kind']
export type ProblemOf<K extends ProblemKind> = Extract<Problem, { kind: K }>

/**
 * A refused request. It holds every problem that was found, in the order of the request; there is at least
 * one. `cause`: what stands behind it, for the log alone.
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

/** The error for a problem of the service: those who run it will want to know why, clients are not told. */
export const withCause = (problem: Problem, cause: unknown): ProblemError =>
  Object.assign(new ProblemError(problem), problem.kind === 'Unavailable' && { cause })

/**
 * What a request failed of. `report` is told of every error, and logs what clients are not told: anything but
 * a problem stands there under the id that it gives.
 */
export function problemsOf(error: unknown, report: (error: unknown) => string): ProblemError['problems'] {
  const id = report(error)
  return error instanceof ProblemError ? error.problems : [{ kind: 'Internal', id }]
}

/** What an error says in words; some of Node have only a code. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error && error.message) || String(error)

/** Refuses the request if there is any problem. */
export function failIfAny(problems: readonly Problem[]): void {
  const [first, ...others] = problems
  if (first) throw new ProblemError(first, ...others)
}
