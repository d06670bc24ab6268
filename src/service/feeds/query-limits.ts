import type { Actor } from '../../domain/actor.js'
import { effectiveFeedOf, type Feed } from '../../domain/feeds/feed.js'
import type { QueryLimits } from '../../query/limits.js'
import { memoize } from '../../query/memoize.js'

/** Returns the limits of an actor's queries: those of the service, with the page settings of its feed. */
export function queryLimitsOf(limits: QueryLimits, actor: Actor): QueryLimits {
  const feed = effectiveFeedOf(actor)
  return feed ? withFeedLimits(limits, feed) : limits
}

/** The maximum of the service may have been lowered below that of the feed. */
const withFeedLimits = memoize(function withFeedLimits(limits: QueryLimits, feed: Feed): QueryLimits {
  const pageSizeMax = Math.min(limits.pageSizeMax, feed.pageSizeMax ?? limits.pageSizeMax)
  return {
    ...limits,
    pageSize: Math.min(feed.pageSize ?? limits.pageSize, pageSizeMax),
    pageSizeMax,
    topIsTotal: feed.topIsTotal ?? limits.topIsTotal,
  }
})
