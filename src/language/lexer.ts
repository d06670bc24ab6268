/**
 * The kind of a token. `typed` is a quoted literal with a prefix, like `duration'PT1H'`. `json` is a string
 * in double quotes. `unknown` fits no rule.
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
  /** Offset of the first character after the token. */
  readonly end: number
  /** True if white space precedes the token. */
  readonly hasLeadingWhitespace: boolean
}

const IDENTIFIER = String.raw`[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*`
const DOTTED = String.raw`${IDENTIFIER}(?:\.${IDENTIFIER})*`
const QUOTED = `'[^']*(?:''[^']*)*'`
const TIME = String.raw`\d\d:\d\d(?::\d\d(?:\.\d+)?)?`

/** Matches a simple identifier (OData ABNF, odataIdentifier), for texts that are not expressions. */
export const IDENTIFIER_PATTERN = new RegExp(`^${IDENTIFIER}$`, 'u')

// The kinds in the order in which they are tried: longest literal first. For dates and times only the shape
// is checked here. literals.ts checks their values.
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
// One capture group per kind. Without the flag `i`, since V8 takes 50 ms to fold the case of all letters of
// Unicode.
const TOKEN = new RegExp(PATTERNS.map(([, pattern]) => `(${pattern})`).join('|'), 'suy')
// Fast path for plain words, which most tokens are: twice as fast as the full expression.
const WORD = /[A-Za-z_]\w*(?![\w.'-]|[^\0-\x7f])/y
const BLANKS = /[ \t]*/y

/**
 * Returns the token at an offset of a percent-decoded text, after skipping white space (OData ABNF, BWS:
 * space and tab).
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
  // The first capture that is not empty is the whole token, since no kind matches the empty text.
  const kind = captures ? KINDS[captures.indexOf(lexeme, 1) - 1] : undefined
  return {
    kind: kind ?? 'end',
    text: lexeme,
    offset,
    end: offset + lexeme.length,
    hasLeadingWhitespace: offset > start,
  }
}

/** Reads a token that looks like a time of day as the number before its first colon: `10:20` → `10`. */
export function numberBeforeColon({ text, offset, hasLeadingWhitespace }: Token): Token {
  const digits = text.slice(0, text.indexOf(':'))
  return { kind: 'number', text: digits, offset, end: offset + digits.length, hasLeadingWhitespace }
}
