import type { GraphQLError } from 'graphql'
import type { RequestScope } from '../../domain/request-scope.js'
import type { LoggedPart } from '../../http/log.js'

/** The part of a result or of an error that the log shows. */
type ResultErrors = readonly Pick<GraphQLError, 'extensions'>[] | undefined

/** An operation on a WebSocket, from its message to its end. */
export class SocketOperation {
  readonly #startedAt = performance.now()
  #resultCount = 0
  #errorCode: unknown

  constructor(readonly scope: RequestScope) {}

  addResult(errors: ResultErrors): void {
    this.#resultCount += 1
    this.setErrors(errors)
  }

  setErrors(errors: ResultErrors): void {
    this.#errorCode ??= errors?.[0]?.extensions['code']
  }

  /**
   * Ends the operation. Returns the log line: the caller, the operation, the duration, the number of results and the
   * first error.
   */
  end(): LoggedPart & { readonly results: number } {
    const ms = Math.round((performance.now() - this.#startedAt) * 10) / 10
    const error = typeof this.#errorCode === 'string' ? this.#errorCode : undefined
    this.scope.stages?.onEnd?.(error)
    return {
      ...this.scope.description,
      ms,
      results: this.#resultCount,
      ...(error !== undefined && { error }),
    }
  }
}
