/** What a client prefers (RFC 7240; Part 1, 8.2.8), as far as we honour it. Anything else is ignored, malformed values too. */
export interface Preferences {
  /** Whether a write is answered with the record. */
  readonly return?: 'minimal' | 'representation'
  /** Records of a page, and the words to confirm it with. */
  readonly pageSize?: { readonly size: number; readonly applied: string }
}

const ITEM = /(?:[^,"]|"[^"]*")+/g
const PREFERENCE = /^\s*([^\s=;]+)\s*(?:=\s*"?([^";]*?)"?\s*)?(?:;.*)?$/s

/** Reads the header. Names are without case, with or without the prefix of OData; of a name that stands twice the first one counts. */
export function readPreferences(header: string | readonly string[] | undefined): Preferences {
  const wanted = new Map<string, { readonly value: string; readonly written: string }>()
  for (const item of String(header ?? '').match(ITEM) ?? []) {
    const [, written = '', value = ''] = PREFERENCE.exec(item) ?? []
    const name = written.toLowerCase().replace(/^odata\./, '')
    if (!wanted.has(name)) wanted.set(name, { value, written: written.toLowerCase() })
  }
  const [form, page] = [wanted.get('return')?.value, wanted.get('maxpagesize')]
  return {
    ...((form === 'minimal' || form === 'representation') && { return: form }),
    ...(page && /^[1-9]\d{0,8}$/.test(page.value) && { pageSize: { size: Number(page.value), applied: `${page.written}=${page.value}` } }),
  }
}
