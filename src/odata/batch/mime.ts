import type { Phrase } from '../../errors/phrase.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'

// Strings in this file hold bytes, one character for each (latin1), as Node represents URLs and headers.

/** Headers by name in lower case. */
export type MimeHeaders = Readonly<Record<string, string>>

/** A MIME message, or a part of one: headers and content. */
export interface MimeMessage {
  readonly headers: MimeHeaders
  readonly content: string
}

/** The characters of a boundary (RFC 2046, 5.1.1). It must not end with a space. */
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/
/** Maximum number of header lines of a part. A line costs about a microsecond. */
const MAX_HEAD_LINES = 200
/** Maximum number of parts, equal to the largest value of MAX_BATCH_REQUESTS. */
const MAX_PARTS = 10_000
const HEADER = /^([\w!#$%&'*+.^`|~-]+)[ \t]*:([^\0\r]*)$/

/** Returns the media type of a `Content-Type` in lower case, without parameters. */
export const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType?.split(';', 1)[0] ?? '').trim().toLowerCase()

/**
 * Returns the boundary parameter of a `Content-Type`, quoted or not, in any position.
 * @throws ProblemError BadRequest
 */
export function readBoundary(contentType: string | undefined): string {
  const [, quoted, plain] = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType ?? '') ?? []
  const boundary = quoted ?? plain ?? ''
  return BOUNDARY.test(boundary) ? boundary : failMalformedMime(REASONS.mimeNoBoundary)
}

/**
 * Splits a multipart body into its parts (RFC 2046, 5.1). Text before the first and after the last delimiter
 * is ignored, and so are blank parts. Lines end with CRLF or LF. A body without its closing delimiter was
 * truncated and is rejected.
 * @throws ProblemError BadRequest
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
    if (parts.length > MAX_PARTS) return failMalformedMime(REASONS.mimeTooManyParts(MAX_PARTS))
    if (closing !== undefined) return parts.filter(part => part.trim() !== '')
    start = index + text.length
  }
  return failMalformedMime(start === undefined ? REASONS.mimeNoParts : REASONS.mimeIncomplete)
}

/**
 * Splits a part, which begins with the end of the delimiter line, into headers and content.
 * @throws ProblemError BadRequest
 */
export function readMimePart(part: string): MimeMessage {
  return readMimeMessage(part.replace(/^\r?\n/, ''))
}

/**
 * Parses headers up to an empty line or the end of the text, and returns them with the content.
 * @throws ProblemError BadRequest for a line that is not a header
 */
export function readMimeMessage(text: string): MimeMessage {
  const [head, content] = splitHead(text)
  if (hasMoreLines(head, MAX_HEAD_LINES)) failMalformedMime(REASONS.mimeTooManyHeaders(MAX_HEAD_LINES))
  const headers: Record<string, string> = Object.create(null)
  // A line that begins with a space continues the previous one (RFC 5322, 2.2.3).
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    if (line.trim() === '') continue
    const [, written = '', value = ''] = HEADER.exec(line) ?? failMalformedMime(REASONS.mimeNotHeader)
    const name = written.toLowerCase()
    headers[name] = headers[name] === undefined ? value.trim() : `${headers[name]}, ${value.trim()}`
  }
  return { headers, content }
}

/** Counts lines without splitting the text. */
function hasMoreLines(text: string, limit: number): boolean {
  let end = -1
  for (let count = 0; count < limit; count++) {
    end = text.indexOf('\n', end + 1)
    if (end < 0) return false
  }
  return text.indexOf('\n', end + 1) >= 0
}

/**
 * Splits a message at its first empty line. Without one, the whole text is headers: some client programs omit
 * the empty line after a request without a body.
 */
function splitHead(text: string): readonly [head: string, content: string] {
  if (/^[ \t]*\r?\n/.test(text)) return ['', text.replace(/^[ \t]*\r?\n/, '')]
  const end = /\r?\n[ \t]*\r?\n/.exec(text)
  return end ? [text.slice(0, end.index), text.slice(end.index + end[0].length)] : [text, '']
}

const failMalformedMime = (reason: Phrase): never => fail({ kind: 'BadRequest', reason })
