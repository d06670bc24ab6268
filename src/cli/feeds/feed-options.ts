import type { FeedColumns } from '../../data/feeds/feed-store.js'

/** Options that set values of a feed. `none` clears an optional value. */
export const FEED_OPTIONS = {
  filter: { type: 'string' },
  hide: { type: 'string' },
  only: { type: 'string' },
  'top-is-total': { type: 'string' },
  'page-size': { type: 'string' },
  'page-size-max': { type: 'string' },
  'sold-price-delay': { type: 'string' },
  media: { type: 'string' },
  openhouse: { type: 'string' },
  members: { type: 'string' },
} as const

export const FEED_OPTIONS_USAGE = `[--filter "FILTER"] [--hide FIELD,…] [--only FIELD,…] [--sold-price-delay DAYS] [--media yes|no] [--openhouse yes|no] [--members yes|no] [--page-size N] [--page-size-max N] [--top-is-total yes|no]`

type FeedOptions = { readonly [K in keyof typeof FEED_OPTIONS]?: string | undefined }

/**
 * Returns the columns that options set.
 * @throws Error with a sentence that names the option
 */
export const readFeedColumns = (options: FeedOptions): FeedColumns =>
  Object.assign(
    {},
    ...Object.entries(options).map(([name, text]) =>
      text === undefined ? {} : COLUMN_READERS[name as keyof FeedOptions](text),
    ),
  )

const COLUMN_READERS: Readonly<Record<keyof FeedOptions, (text: string) => FeedColumns>> = {
  filter: text => ({ Filter: text }),
  hide: text => ({ HiddenFields: text === 'none' ? [] : readNames(text) }),
  only: text => ({ OnlyFields: text === 'none' ? null : readNames(text) }),
  'top-is-total': text => ({ TopIsTotal: text === 'none' ? null : readFlag('top-is-total', text) }),
  'page-size': text => ({ PageSize: readNumber('page-size', text) }),
  'page-size-max': text => ({ PageSizeMax: readNumber('page-size-max', text) }),
  'sold-price-delay': text => ({ SoldPriceDelayDays: readNumber('sold-price-delay', text) }),
  media: text => ({ ShowsMedia: readFlag('media', text) }),
  openhouse: text => ({ ShowsOpenHouses: readFlag('openhouse', text) }),
  members: text => ({ ShowsMembers: readFlag('members', text) }),
}

const readNames = (text: string): readonly string[] => text.split(/[\s,]+/).filter(name => name !== '')

function readFlag(option: string, text: string): boolean {
  if (text !== 'yes' && text !== 'no') throw new Error(`--${option} is '${text}'; expected yes or no.`)
  return text === 'yes'
}

function readNumber(option: string, text: string): number | null {
  if (text === 'none') return null
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${option} is '${text}'; expected a number.`)
  return Number(text)
}
