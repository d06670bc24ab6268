import { type Actor, readerOf } from '../domain/actor.js'
import { authorize } from '../domain/authorize.js'
import type { DisclosurePolicy } from '../domain/visibility.js'
import { countParts } from '../query/complexity.js'
import { objectId } from '../query/memoize.js'
import type { Plan } from '../query/plan.js'
import type { PlanCache, PlanCacheLevel } from '../query/plan-cache.js'
import { dependsOnServiceRoot, type ServiceRoot, withAbsoluteRecordUrls } from './record-url.js'

/**
 * Authorized plans with their statements, by rights to read and plan. A part takes 170 to 350 bytes, most of
 * them in the text of the statements.
 */
const AUTHORIZED_PLAN_LEVEL: PlanCacheLevel<Plan> = {
  name: 'authorized plan',
  sizeOf: (_, plan) => 4 + countParts(plan) / 5,
}

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
  return plans.getOrCreate(
    AUTHORIZED_PLAN_LEVEL,
    `${objectId(readerOf(actor))} ${objectId(plan)} ${root}`,
    () => authorize(root === undefined ? plan : withAbsoluteRecordUrls(plan, root), actor, policy),
  )
}
