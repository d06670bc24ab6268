import { expect, test } from 'vitest'
import { type Actor, readerOf } from '../../../src/domain/actor.js'
import type { Feed } from '../../../src/domain/feeds/feed.js'
import { PlanCache } from '../../../src/query/plan-cache.js'
import { toAuthorizedPlan } from '../../../src/service/authorized-plan.js'
import { toPlan } from '../../support/oracle/plans.js'

const feed = (name: string): Feed => ({ name }) as Feed // only its identity matters here

/** Creates an actor, as each verification of a token does. */
const actorOf = (rights: Partial<Actor> = {}): Actor => ({
  scopes: new Set(['listings:read', 'listings:write']),
  audience: 'member',
  memberKey: 'M1',
  officeKey: 'O1',
  ...rights,
})

test('tokens with the same rights to read share their plans, also after a token is verified again', () => {
  const plans = new PlanCache()
  const plan = toPlan(`$filter=City eq 'Vail'`)
  const policy = { nonDisclosure: false }
  const actors = [
    actorOf(),
    actorOf({ subject: 'Ann', client: 'app' }),
    actorOf({ scopes: new Set(['listings:write', 'listings:read']) }),
  ]
  const authorized = actors.map(actor => toAuthorizedPlan(plan, actor, { plans, policy }))
  expect(new Set(authorized).size).toBe(1)
  expect(plans.statistics()).toMatchObject([{ level: 'authorized plan', entries: 1, hits: 2, misses: 1 }])
})

test('tokens that differ in one right to read share nothing', () => {
  const feeds = [feed('first'), feed('second'), feed('second')]
  const actors = [
    actorOf(),
    actorOf({ audience: 'staff' }),
    actorOf({ audience: 'public' }),
    actorOf({ memberKey: 'M2' }),
    actorOf({ officeKey: 'O2' }),
    actorOf({ memberKey: 'O1', officeKey: 'M1' }),
    actorOf({ scopes: new Set(['listings:read']) }),
    actorOf({ scopes: new Set(['listings:read', 'listings:write', 'admin']) }),
    ...feeds.map(of => actorOf({ feed: of })),
  ]
  expect(new Set(actors.map(actor => readerOf(actor))).size).toBe(actors.length)
})
