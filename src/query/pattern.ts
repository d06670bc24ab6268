import { FEATURES } from '../errors/features.js'
import { COMPLEXITY_UNITS } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'

// Translation of ECMAScript regular expressions (OData 4.01 Part 2, 5.1.1.7.1) to those of PostgreSQL. The
// two agree except for the constructs translated here. Constructs that PostgreSQL does not have are refused.

/** White space in ECMAScript, which has more characters than in PostgreSQL. */
const WHITESPACE = String.raw`\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`
const CONTROL_ESCAPES = {
  n: String.raw`\n`,
  r: String.raw`\r`,
  t: String.raw`\t`,
  f: String.raw`\f`,
  v: String.raw`\v`,
}

/** Translation of the character after a backslash, outside and inside a character class. */
// biome-ignore format: table
const ESCAPES_OUTSIDE_CLASS: Readonly<Record<string, string>> = {
  d: '[0-9]', D: '[^0-9]', w: '[A-Za-z0-9_]', W: '[^A-Za-z0-9_]', s: `[${WHITESPACE}]`, S: `[^${WHITESPACE}]`,
  b: String.raw`\y`, B: String.raw`\Y`, ...CONTROL_ESCAPES,
}
const ESCAPES_IN_CLASS: Readonly<Record<string, string>> = {
  d: '0-9',
  w: 'A-Za-z0-9_',
  s: WHITESPACE,
  ...CONTROL_ESCAPES,
}
/** `.` matches every character except line terminators. */
const ANY_CHARACTER = String.raw`[^\n\r\u2028\u2029]`

const TOKEN = /\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\.|\(\?(?:[:=!])?|[\s\S]/gu

/**
 * Maximum length of a pattern with its repetitions expanded. PostgreSQL recurses for each character. The
 * embedded database does not detect the end of its stack: 13,000 characters, `(x{120}){120}`, damaged its
 * memory, and a later statement hung or crashed.
 */
const MAX_EXPANDED_LENGTH = 1000

/** A character class, an escape, a repetition count, or a single character. */
const REPETITION_TOKEN = /\[(?:\\.|[^\]\\])*\]|\\.|\{(\d+)(?:,(\d*))?\}|[\s\S]/gsu

/** Refuses a pattern that is invalid, too large, or not available in PostgreSQL. */
export function checkPattern(pattern: string, at: SourceLocation): void {
  try {
    new RegExp(pattern, 'u')
  } catch {
    fail({ kind: 'BadLiteral', type: 'regular expression', text: pattern, at })
  }
  if (expandedLength(pattern) > MAX_EXPANDED_LENGTH)
    fail({
      kind: 'QueryTooComplex',
      what: COMPLEXITY_UNITS.patternCharacters,
      limit: MAX_EXPANDED_LENGTH,
      at,
    })
  if (toPostgresRegex(pattern) === undefined)
    fail({ kind: 'NotImplemented', feature: FEATURES.pattern(pattern), at })
}

/** Returns the length of a pattern with its repetitions expanded, punctuation included. */
function expandedLength(pattern: string): number {
  const outerLengths: number[] = []
  let size = 0
  // The length that a following repetition count multiplies.
  let last = 0
  for (const [part, min, max] of pattern.matchAll(REPETITION_TOKEN)) {
    if (part === '(') outerLengths.push(size)
    last =
      part === ')' ? size : min === undefined ? 1 : last * (Math.max(Number(min), Number(max ?? 0), 1) - 1)
    size = part === '(' ? 0 : (part === ')' ? (outerLengths.pop() ?? 0) : size) + last
  }
  return size
}

/** Translates the pattern for PostgreSQL's `~`, or returns undefined if PostgreSQL has no equivalent. */
export function toPostgresRegex(pattern: string): string | undefined {
  let inClass = false
  const parts = (pattern.match(TOKEN) ?? []).map(token => {
    const part = inClass ? translateInClass(token) : translateOutsideClass(token)
    inClass = inClass ? token !== ']' : token === '['
    return part
  })
  return parts.includes(undefined) ? undefined : parts.join('')
}

function translateOutsideClass(token: string): string | undefined {
  if (token === '.') return ANY_CHARACTER
  // PostgreSQL has another syntax for named groups, and no lookbehind.
  if (token === '(?') return undefined
  return token.startsWith('\\') ? translateEscape(token, ESCAPES_OUTSIDE_CLASS) : token
}

/** An unescaped bracket inside a class would begin one of PostgreSQL's named classes. */
function translateInClass(token: string): string | undefined {
  if (token === '[') return String.raw`\[`
  return token.startsWith('\\') ? translateEscape(token, ESCAPES_IN_CLASS) : token
}

/**
 * Translates a character code, a known letter, or an escaped punctuation mark. Other letters and digits have
 * another meaning in PostgreSQL.
 */
function translateEscape(token: string, known: Readonly<Record<string, string>>): string | undefined {
  const rest = token.slice(1)
  if (rest.length > 1) return String.raw`\u${rest.slice(1).padStart(4, '0')}`
  return known[rest] ?? (/[A-Za-z0-9]/.test(rest) ? undefined : token)
}
