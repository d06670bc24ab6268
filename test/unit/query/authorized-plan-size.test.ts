import { expect, test } from 'vitest'
import { PlanCache } from '../../../src/query/plan-cache.js'
import { toAuthorizedPlan as authorizeCached } from '../../../src/service/authorized-plan.js'
import { toAuthorizedPlan } from '../../support/oracle/plans.js'

const PUBLIC = { scopes: new Set(['listings:read']), audience: 'public' } as const
const POLICY = { nonDisclosure: false }

/** Returns the kilobytes that the cache reserves for the authorized plan of a query. */
function sizeOf(text: string): number {
  const plans = new PlanCache()
  authorizeCached(toAuthorizedPlan(PUBLIC, text), PUBLIC, { plans, policy: POLICY })
  return plans.statistics().find(({ level }) => level === 'authorized plan')?.kilobytes ?? 0
}

test('the size of an authorized plan in the cache is that of its query, so that large filters do not fill the memory', () => {
  const comparisons = (count: number) =>
    `$filter=${Array.from({ length: count }, (_, i) => `ListPrice eq ${i}`).join(' or ')}`
  const small = sizeOf('$select=ListingKey,City')
  expect(small).toBeLessThanOrEqual(12)
  expect(sizeOf(comparisons(1))).toBeGreaterThan(3 * small)
  expect(sizeOf(comparisons(300)) - sizeOf(comparisons(100))).toBeGreaterThan(100)
})
