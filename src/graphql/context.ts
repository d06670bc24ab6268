import type { Actor } from '../domain/actor.js'

/** Who asks, and where faults of the service are told of: one for each request. */
export interface GraphQLContext {
  readonly actor: Actor
  /** Logs a fault and gives the id under which it stands in the log. */
  readonly report: (error: unknown) => string
  /** Returns the OData service root, the base of addresses in the change log. */
  readonly serviceRoot: () => string
}
