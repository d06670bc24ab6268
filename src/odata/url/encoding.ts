import { fail } from '../../errors/problem.js'

/**
 * Matches bytes above ASCII that a client did not encode. Node represents each byte as one character
 * (latin1).
 */
const RAW_BYTE = /[\u0080-\u00ff]/g

/** Matches the characters that need decoding. Most parts have none. */
const ENCODED = /[%\u0080-\u00ff]/

/** Percent-encodes the bytes that a client should have encoded, and leaves the rest unchanged. */
export const encodeRawBytes = (raw: string): string =>
  raw.replace(RAW_BYTE, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Decodes one percent-encoded part of a URL, which must already be split at its separators (Part 2, 2). `+`
 * is unchanged. Fails with `BadEncoding` for invalid or overlong UTF-8 and for NUL, which the database cannot
 * store.
 */
export function decodeUrlComponent(raw: string): string {
  const text = ENCODED.test(raw) ? decode(raw) : raw
  return text.includes('\0') ? fail({ kind: 'BadEncoding', found: '%00' }) : text
}

function decode(raw: string): string {
  try {
    return decodeURIComponent(encodeRawBytes(raw))
  } catch {
    return fail({
      kind: 'BadEncoding',
      found: /%(?![\dA-Fa-f]{2}).{0,2}/.exec(raw)?.[0] ?? /%[89A-Fa-f].*/.exec(raw)?.[0] ?? raw,
    })
  }
}
