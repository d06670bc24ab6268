import { LRUCache } from 'lru-cache'

/**
 * What a client prefers (RFC 7240; Part 1, 8.2.8), as far as we honour it. Anything else is ignored,
 * malformed values too.
 */
export interface Preferences {
  /** Whether a write is answered with the record. */
  readonly return?: 'minimal' | 'representation'
  /** Whether a batch goes on after a request that failed. */
  readonly continueOnError?: boolean
  /** Records of a page, and the words to confirm it with. */
  readonly maxPageSize?: { readonly size: number; readonly applied: string }
}

/** Quoted strings may hold commas; one that is not closed takes all the rest. */
const ITEMS = /(?:[^,"]|"[^"]*"?)+/g

/** What clients prefer is mostly one of a few texts. */
const PREFERENCES_CACHE = new LRUCache<string, Preferences>({ max: 100 })
const MAX_CACHED_LENGTH = 500

/**
 * Reads the header. Names are without case, with or without the prefix of OData; of a name that stands twice
 * the first one counts.
 */
export function readPreferences(header: string | readonly string[] | undefined): Preferences {
  if (header === undefined) return NO_PREFERENCES
  const text = String(header)
  const known = PREFERENCES_CACHE.get(text)
  if (known) return known
  const preferences = parsePreferences(text)
  if (text.length < MAX_CACHED_LENGTH) PREFERENCES_CACHE.set(text, preferences)
  return preferences
}

const NO_PREFERENCES: Preferences = {}

function parsePreferences(header: string): Preferences {
  const wanted = new Map<string, { readonly written: string; readonly value: string }>()
  for (const item of header.match(ITEMS) ?? []) {
    const { written, value } = readPreference(item)
    const name = written.replace(/^odata\./, '')
    if (!wanted.has(name)) wanted.set(name, { written, value })
  }
  const [form, page, continueOnError] = [
    wanted.get('return')?.value,
    wanted.get('maxpagesize'),
    wanted.get('continue-on-error')?.value.toLowerCase(),
  ]
  return {
    ...((form === 'minimal' || form === 'representation') && { return: form }),
    ...(continueOnError !== undefined && {
      continueOnError: continueOnError === '' || continueOnError === 'true',
    }),
    ...(page &&
      /^[1-9]\d{0,8}$/.test(page.value) && {
        maxPageSize: { size: Number(page.value), applied: `${page.written}=${page.value}` },
      }),
  }
}

/** Parameters behind the value have no meaning for us. */
function readPreference(item: string): { readonly written: string; readonly value: string } {
  const [written = '', value = ''] = (item.split(';', 1)[0] ?? '').split(/=(.*)/s)
  return { written: written.trim().toLowerCase(), value: value.trim().replace(/^"(.*)"$/, '$1') }
}
