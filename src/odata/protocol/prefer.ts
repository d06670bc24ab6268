/**
 * The supported preferences of a client (RFC 7240; Part 1, 8.2.8). Other preferences and malformed values are
 * ignored.
 */
export interface Preferences {
  /** The content of the response to a write. */
  readonly return?: 'minimal' | 'representation'
  /** True if a batch continues after a failed request. */
  readonly continueOnError?: boolean
  /** The page size, and the name of the preference as the client wrote it. */
  readonly maxPageSize?: { readonly size: number; readonly name: string }
  /** `omit-values=nulls`: records without their null values, and the text that confirms it. */
  readonly omitNulls?: { readonly applied: string }
  /** `track-changes`: the last page has a delta link. The text confirms it. */
  readonly trackChanges?: { readonly applied: string }
}

/**
 * Matches the items of a list. Quoted strings can contain commas. An unclosed quoted string extends to the
 * end.
 */
const ITEMS = /(?:[^,"]|"[^"]*"?)+/g

/**
 * Reads the Prefer header. Names are not case-sensitive, and the OData prefix is optional. The first of
 * several equal names applies.
 */
export function readPreferences(header: string | readonly string[] | undefined): Preferences {
  return header === undefined ? NO_PREFERENCES : parsePreferences(String(header))
}

const NO_PREFERENCES: Preferences = {}

function parsePreferences(header: string): Preferences {
  const wanted = new Map<string, { readonly written: string; readonly value: string }>()
  for (const item of header.match(ITEMS) ?? []) {
    const { written, value } = readPreference(item)
    const name = written.replace(/^odata\./, '')
    if (!wanted.has(name)) wanted.set(name, { written, value })
  }
  const trackChanges = wanted.get('track-changes')
  const [form, page, omitValues, continueOnError] = [
    wanted.get('return')?.value,
    wanted.get('maxpagesize'),
    wanted.get('omit-values'),
    wanted.get('continue-on-error')?.value.toLowerCase(),
  ]
  return {
    ...((form === 'minimal' || form === 'representation') && { return: form }),
    ...(continueOnError !== undefined && {
      continueOnError: continueOnError === '' || continueOnError === 'true',
    }),
    ...(page &&
      /^[1-9]\d{0,8}$/.test(page.value) && {
        maxPageSize: { size: Number(page.value), name: page.written },
      }),
    ...(omitValues?.value.toLowerCase() === 'nulls' && {
      omitNulls: { applied: `${omitValues.written}=nulls` },
    }),
    ...(trackChanges?.value === '' && { trackChanges: { applied: trackChanges.written } }),
  }
}

/** Reads one preference. Parameters after its value are ignored. */
function readPreference(item: string): { readonly written: string; readonly value: string } {
  const [written = '', value = ''] = (item.split(';', 1)[0] ?? '').split(/=(.*)/s)
  return { written: written.trim().toLowerCase(), value: value.trim().replace(/^"(.*)"$/, '$1') }
}

/** Returns the Preference-Applied header for the preferences that were applied. */
export function toAppliedHeader(
  ...applied: readonly (string | undefined)[]
): Readonly<Record<string, string>> {
  const text = applied.filter(preference => preference !== undefined).join(', ')
  return text === '' ? {} : { 'Preference-Applied': text }
}
