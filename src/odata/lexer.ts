/** What a token is. `typed` is a quoted literal with a prefix, like `duration'PT1H'`; `json` a text in double quotes; `unknown` fits nothing. */
export type TokenKind =
  | 'string' | 'json' | 'typed' | 'guid' | 'datetime' | 'date' | 'time' | 'number' | 'alias' | 'name' | 'punctuation' | 'unknown' | 'end'

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly offset: number
  /** Offset of the first character behind it. */
  readonly end: number
  /** Blanks stand in front of it. */
  readonly blank: boolean
}

const IDENTIFIER = String.raw`[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*`
const DOTTED = String.raw`${IDENTIFIER}(?:\.${IDENTIFIER})*`
const QUOTED = String.raw`'[^']*(?:''[^']*)*'`
const TIME = String.raw`\d\d:\d\d(?::\d\d(?:\.\d+)?)?`

/** A name alone (OData ABNF, odataIdentifier), for texts that are no expressions. */
export const NAME = new RegExp(`^${IDENTIFIER}$`, 'u')

// Longest literal first: each kind is tried in this order. Dates and times are only shapes here, their values are checked in literals.ts.
const TOKEN = new RegExp(
  [
    String.raw`(?<string>${QUOTED})`,
    String.raw`(?<typed>${DOTTED}${QUOTED})`,
    String.raw`(?<json>"[^"\\]*(?:\\.[^"\\]*)*")`,
    String.raw`(?<guid>[\dA-Fa-f]{8}-(?:[\dA-Fa-f]{4}-){3}[\dA-Fa-f]{12})`,
    String.raw`(?<datetime>-?\d{4,}-\d\d-\d\dT${TIME}(?:Z|[+-]\d\d:\d\d)?)`,
    String.raw`(?<date>-?\d{4,}-\d\d-\d\d)`,
    String.raw`(?<time>${TIME})`,
    String.raw`(?<number>[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-INF(?![\p{L}\d_]))`,
    String.raw`(?<alias>@${DOTTED})`,
    String.raw`(?<name>\$?${DOTTED})`,
    String.raw`(?<punctuation>[()[\]{}/:,;*-]|=(?![=>]))`,
    String.raw`(?<unknown>[=!<>&|]+|.)`,
  ].join('|'),
  'suiy',
)
const BLANKS = /[ \t]*/y

/** The token that begins at an offset of a percent-decoded text, or behind the blanks there (OData ABNF: BWS is space and tab). */
export function tokenAt(text: string, start: number): Token {
  BLANKS.lastIndex = start
  BLANKS.exec(text)
  const offset = BLANKS.lastIndex
  const blank = offset > start
  TOKEN.lastIndex = offset
  const groups = TOKEN.exec(text)?.groups ?? {}
  for (const kind in groups) {
    const lexeme = groups[kind]
    // The names of the groups are the kinds, by the table above.
    if (lexeme !== undefined) return { kind: kind as TokenKind, text: lexeme, offset, end: offset + lexeme.length, blank }
  }
  return { kind: 'end', text: '', offset, end: offset, blank }
}
