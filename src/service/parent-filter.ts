import type { Entity, Navigation } from '../model/model.js'
import { type Expr, type Plan, withFilter } from '../query/plan.js'

/**
 * One step of a path to related records: from the record with `key`, or from the record of the previous
 * steps, along a navigation.
 */
export interface NavigationStep {
  readonly entity: Entity
  readonly key?: string
  readonly navigation: Navigation
}

/** A condition on `r0` that restricts a query to the records related to another record. */
export type ParentFilter = Expr

export const withParentFilter = (plan: Plan, parentFilter: ParentFilter | undefined): Plan =>
  parentFilter ? withFilter(plan, parentFilter) : plan
