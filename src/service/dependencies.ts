import type { Database } from '../data/database.js'
import type { DisclosurePolicy } from '../domain/visibility.js'
import type { CursorSeal } from '../query/cursor.js'
import type { QueryLimits } from '../query/limits.js'
import type { PlanCache } from '../query/plan-cache.js'

/** Dependencies of the services. */
export interface ServiceDependencies {
  readonly database: Database
  readonly limits: QueryLimits
  readonly policy: DisclosurePolicy
  readonly seal: CursorSeal
  /** Counts the records of responses. */
  readonly onRows?: ((entity: string, count: number) => void) | undefined
  readonly plans: PlanCache
}
