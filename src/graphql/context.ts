import type { Actor } from '../domain/actor.js'

/** The actor and the error log of a request. */
export interface GraphQLContext {
  readonly actor: Actor
  /** Logs an error and returns the id of its log entry. */
  readonly report: (error: unknown) => string
  /** Returns the OData service root, the base of addresses in the change log. */
  readonly serviceRoot: () => string
}
