import type { NewFeed } from './feeds.js'

/** The feeds that `npm run feeds -- init` adds. Operators adapt them to their licenses. */
export const FEED_PRESETS: readonly NewFeed[] = [
  {
    FeedName: 'idx',
    Filter:
      "StandardStatus in ('Active','Active Under Contract','Pending') and InternetEntireListingDisplayYN ne false",
    HiddenFields: ['PrivateRemarks', 'SoldPrice', 'ClosePrice', 'BuyerAgentKey', 'BuyerAgentMlsId', 'BuyerAgentFullName', 'BuyerOfficeKey', 'BuyerOfficeName'],
  }, // biome-ignore format: one list
  {
    FeedName: 'vow',
    Filter: 'InternetEntireListingDisplayYN ne false',
    HiddenFields: ['PrivateRemarks'],
  },
  { FeedName: 'back-office', Filter: 'true' },
]
