/**
 * What a token is. `typed` is a quoted literal with a prefix, like `duration'PT1H'`; `json` a text in double
 * quotes; `unknown` fits nothing.
 */
export type TokenKind =
  | 'string'
  | 'json'
  | 'typed'
  | 'guid'
  | 'datetime'
  | 'date'
  | 'time'
  | 'number'
  | 'alias'
  | 'name'
  | 'punctuation'
  | 'unknown'
  | 'end'

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly offset: number
  /** Offset of the first character behind it. */
  readonly end: number
  /** Blanks stand in front of it. */
  readonly hasLeadingWhitespace: boolean
}

const IDENTIFIER = String.raw`[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*`
const DOTTED = String.raw`${IDENTIFIER}(?:\.${IDENTIFIER})*`
const QUOTED = `'[^']*(?:''[^']*)*'`
const TIME = String.raw`\d\d:\d\d(?::\d\d(?:\.\d+)?)?`

/** A name alone (OData ABNF, odataIdentifier), for texts that are no expressions. */
export const IDENTIFIER_PATTERN = new RegExp(`^${IDENTIFIER}$`, 'u')

// Longest literal first: each kind is tried in this order. Dates and times are only shapes here, their values
// are checked in literals.ts.
const PATTERNS: readonly (readonly [TokenKind, string])[] = [
  ['string', QUOTED],
  ['typed', `${DOTTED}${QUOTED}`],
  ['json', String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`],
  ['guid', String.raw`[\dA-Fa-f]{8}-(?:[\dA-Fa-f]{4}-){3}[\dA-Fa-f]{12}`],
  ['datetime', String.raw`-?\d{4,}-\d\d-\d\d[Tt]${TIME}(?:[Zz]|[+-]\d\d:\d\d)?`],
  ['date', String.raw`-?\d{4,}-\d\d-\d\d`],
  // No digit, point or exponent follows: `30:1969-12-31` is a number, a colon and a date.
  ['time', String.raw`${TIME}(?![\d.]|[eE][+-]?\d)`],
  ['number', String.raw`[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-INF(?![\p{L}\d_])`],
  ['alias', `@${DOTTED}`],
  ['name', String.raw`\$?${DOTTED}`],
  ['punctuation', String.raw`[()[\]{}/:,;*-]|=(?![=>])`],
  ['unknown', '[=!<>&|]+|.'],
]
const KINDS = PATTERNS.map(([kind]) => kind)
// One capture for each kind. No flag `i`: V8 takes 50 ms to fold the case of all letters of Unicode.
const TOKEN = new RegExp(PATTERNS.map(([, pattern]) => `(${pattern})`).join('|'), 'suy')
// Most tokens are plain words: twice as fast as the full expression.
const WORD = /[A-Za-z_]\w*(?![\w.'-]|[^\0-\x7f])/y
const BLANKS = /[ \t]*/y

/**
 * The token that begins at an offset of a percent-decoded text, or behind the blanks there (OData ABNF: BWS
 * is space and tab).
 */
export function tokenAt(text: string, start: number): Token {
  BLANKS.lastIndex = start
  BLANKS.test(text)
  const offset = BLANKS.lastIndex
  WORD.lastIndex = offset
  const end = WORD.test(text) ? WORD.lastIndex : 0
  if (end > 0)
    return { kind: 'name', text: text.slice(offset, end), offset, end, hasLeadingWhitespace: offset > start }
  TOKEN.lastIndex = offset
  const captures = TOKEN.exec(text)
  const lexeme = captures?.[0] ?? ''
  // The first capture that is not empty is the whole token: no kind matches nothing.
  const kind = captures ? KINDS[captures.indexOf(lexeme, 1) - 1] : undefined
  return {
    kind: kind ?? 'end',
    text: lexeme,
    offset,
    end: offset + lexeme.length,
    hasLeadingWhitespace: offset > start,
  }
}

/** A token that looks like a time of day, read as the number before its first colon: `10:20` -> `10`. */
export function numberBeforeColon({ text, offset, hasLeadingWhitespace }: Token): Token {
  const digits = text.slice(0, text.indexOf(':'))
  return { kind: 'number', text: digits, offset, end: offset + digits.length, hasLeadingWhitespace }
}
