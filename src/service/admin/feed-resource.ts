import type { FeedColumns } from '../../data/feeds/feed-store.js'
import type { Values } from '../../domain/values.js'
import { FeedService } from '../feeds/feeds.js'
import type { AdminChange, AdminResource } from './resource.js'

const serviceOf = ({ database, writer, feedLimits }: AdminChange): FeedService =>
  new FeedService(database, writer, feedLimits)

/** Feeds. A response is sent when the listings of the feed are computed. */
export const FEED_RESOURCE: AdminResource = {
  create: async (values, change) => {
    const { FeedName = '', Filter = '' } = values
    const feed = { ...toFeedColumns(values), FeedName: String(FeedName), Filter: String(Filter) }
    return { key: (await serviceOf(change).add(feed, change.conditions)).FeedName }
  },
  update: (key, values, change) => serviceOf(change).change(key, toFeedColumns(values), change.conditions),
  remove: (key, change) => serviceOf(change).remove(key, change.conditions),
}

/** The fields of the model are named like the columns. An empty list of the only fields is none. */
const toFeedColumns = ({ OnlyFields, ...values }: Values): FeedColumns => ({
  ...(values as FeedColumns),
  ...(Array.isArray(OnlyFields) && { OnlyFields: OnlyFields.length > 0 ? OnlyFields : null }),
})
