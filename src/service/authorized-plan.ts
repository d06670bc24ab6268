import type { Actor } from '../domain/actor.js'
import { authorize } from '../domain/authorize.js'
import type { DisclosurePolicy } from '../domain/visibility.js'
import { objectId } from '../query/memoize.js'
import type { Plan } from '../query/plan.js'
import type { PlanCache, PlanCacheLevel } from '../query/plan-cache.js'
import { dependsOnServiceRoot, type ServiceRoot, withAbsoluteRecordUrls } from './record-url.js'

/** Authorized plans with their statements, by actor and plan. */
const AUTHORIZED_PLAN_LEVEL: PlanCacheLevel<Plan> = { name: 'authorized plan', sizeOf: () => 12 }

/**
 * Applies the permissions of an actor to a plan. Without `serviceRoot`, URLs in records of the change log
 * stay relative.
 */
export function toAuthorizedPlan(
  plan: Plan,
  actor: Actor,
  { plans, policy }: { readonly plans: PlanCache; readonly policy: DisclosurePolicy },
  serviceRoot?: ServiceRoot,
): Plan {
  const root = serviceRoot && dependsOnServiceRoot(plan) ? serviceRoot() : undefined
  return plans.getOrCreate(AUTHORIZED_PLAN_LEVEL, `${objectId(actor)} ${objectId(plan)} ${root}`, () =>
    authorize(root === undefined ? plan : withAbsoluteRecordUrls(plan, root), actor, policy),
  )
}
