import { fail } from '../../errors/problem.js'

// Texts here hold bytes, each as one character (latin1): what Node does with URLs and headers.

/** Headers by name in lower case. */
export type MimeHeaders = Readonly<Record<string, string>>

/** One part of a message, or a whole message: a head and what follows it. */
export interface MimeMessage {
  readonly headers: MimeHeaders
  readonly content: string
}

/** RFC 2046, 5.1.1: these characters, no blank at the end. */
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/
/** Headers of one part. A line costs about a microsecond. */
const MAX_HEAD_LINES = 200
/** Parts of one content: the largest value of MAX_BATCH_REQUESTS. */
const MAX_PARTS = 10_000
const HEADER = /^([\w!#$%&'*+.^`|~-]+)[ \t]*:([^\0\r]*)$/

/** The type of a `Content-Type`, in lower case, without its parameters. */
export const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType?.split(';', 1)[0] ?? '').trim().toLowerCase()

/**
 * The boundary that a `Content-Type` names, quoted or not, wherever it stands among the parameters. Fails
 * with `BadRequest`.
 */
export function readBoundary(contentType: string | undefined): string {
  const [, quoted, plain] = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType ?? '') ?? []
  const boundary = quoted ?? plain ?? ''
  return BOUNDARY.test(boundary) ? boundary : failMalformedMime('a multipart content names no boundary')
}

/**
 * The parts between the delimiters (RFC 2046, 5.1). What stands before the first and after the last delimiter
 * is no part, nor is what holds only blanks; lines may end with CRLF or LF. A content that ends before its
 * last delimiter was cut off, and is refused (`BadRequest`).
 */
export function splitMultipart(content: string, boundary: string): readonly string[] {
  const delimiter = new RegExp(
    `(?:^|\\r?\\n)--${boundary.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(--)?[ \\t]*(?=\\r?\\n|$)`,
    'g',
  )
  const parts: string[] = []
  let start: number | undefined
  for (const { index, 0: text, 1: closing } of content.matchAll(delimiter)) {
    if (start !== undefined) parts.push(content.slice(start, index))
    if (parts.length > MAX_PARTS) return failMalformedMime(`it has more than ${MAX_PARTS} parts`)
    if (closing !== undefined) return parts.filter(part => part.trim() !== '')
    start = index + text.length
  }
  return failMalformedMime(
    start === undefined ? 'no part of it begins with its boundary' : 'its last part does not end',
  )
}

/**
 * Cuts a part, which begins with the end of the delimiter's line, into head and content. Fails with
 * `BadRequest`.
 */
export function readMimePart(part: string): MimeMessage {
  return readMimeMessage(part.replace(/^\r?\n/, ''))
}

/**
 * Headers, up to an empty line or the end, and what follows. Fails with `BadRequest` for a line that is no
 * header.
 */
export function readMimeMessage(text: string): MimeMessage {
  const [head, content] = splitHead(text)
  if (hasMoreLines(head, MAX_HEAD_LINES))
    failMalformedMime(`one of its heads has more than ${MAX_HEAD_LINES} lines`)
  const headers: Record<string, string> = Object.create(null)
  // A line that begins with a blank goes on with the one before it (RFC 5322, 2.2.3).
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    if (line.trim() === '') continue
    const [, written = '', value = ''] =
      HEADER.exec(line) ?? failMalformedMime('a line in one of its heads is no header')
    const name = written.toLowerCase()
    headers[name] = headers[name] === undefined ? value.trim() : `${headers[name]}, ${value.trim()}`
  }
  return { headers, content }
}

/** Counts without splitting the text. */
function hasMoreLines(text: string, limit: number): boolean {
  let end = -1
  for (let count = 0; count < limit; count++) {
    end = text.indexOf('\n', end + 1)
    if (end < 0) return false
  }
  return text.indexOf('\n', end + 1) >= 0
}

/**
 * Without an empty line all of it is the head: client programs leave it out behind a request without content.
 */
function splitHead(text: string): readonly [head: string, content: string] {
  if (/^[ \t]*\r?\n/.test(text)) return ['', text.replace(/^[ \t]*\r?\n/, '')]
  const end = /\r?\n[ \t]*\r?\n/.exec(text)
  return end ? [text.slice(0, end.index), text.slice(end.index + end[0].length)] : [text, '']
}

const failMalformedMime = (reason: string): never => fail({ kind: 'BadRequest', reason })
