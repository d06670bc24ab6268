import { fail } from '../../errors/problem.js'

/**
 * Bytes above ASCII that a client sent as they are: Node hands each of them over as one character (latin1).
 */
const RAW_BYTE = /[\u0080-\u00ff]/g

/** What most parts do not hold. */
const ENCODED = /[%\u0080-\u00ff]/

/** Percent-encodes the bytes that a client should have encoded; the rest stays as it is. */
export const encodeRawBytes = (raw: string): string =>
  raw.replace(RAW_BYTE, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Decodes one percent-encoded part of a URL, which must already be cut at its separators (Part 2, 2). `+`
 * stays. Fails with `BadEncoding` for broken or overlong UTF-8 and for NUL, which no field of the database
 * can hold.
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
