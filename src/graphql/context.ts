import type { Actor } from '../domain/actor.js'
import type { RequestScope } from '../domain/request-scope.js'

/** The actor, the scope and the error log of a request. */
export interface GraphQLContext {
  readonly actor: Actor
  readonly scope: RequestScope
  /** Logs an error and returns the id of its log entry. */
  readonly report: (error: unknown) => string
  /** Returns the OData service root, the base of addresses in the change log. */
  readonly serviceRoot: () => string
}
