import { fail, type SourceLocation } from '../errors/problem.js'

// Regular expressions of ECMAScript (OData 4.01 Part 2, 5.1.1.7.1) in the words of PostgreSQL's. They agree
// but for what is translated here; what PostgreSQL cannot say is refused, never guessed.

/** White space of ECMAScript, which counts more characters than PostgreSQL does. */
const WHITESPACE = String.raw`\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`
const CONTROL_ESCAPES = {
  n: String.raw`\n`,
  r: String.raw`\r`,
  t: String.raw`\t`,
  f: String.raw`\f`,
  v: String.raw`\v`,
}

/** What stands behind a backslash, outside a character class and inside. */
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
/** `.` is every character but the ends of lines. */
const ANY_CHARACTER = String.raw`[^\n\r\u2028\u2029]`

const TOKEN = /\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\.|\(\?(?:[:=!])?|[\s\S]/gu

/**
 * Characters that a pattern may have with its repetitions written out. PostgreSQL calls itself for each of
 * them; the embedded one does not notice the end of its stack: 13,000 of them, `(x{120}){120}`, left it with
 * damaged memory, of which it hung or died at a later statement.
 */
const MAX_EXPANDED_LENGTH = 1000

/** A character class, an escape, a number of repetitions, or a single sign. */
const REPETITION_TOKEN = /\[(?:\\.|[^\]\\])*\]|\\.|\{(\d+)(?:,(\d*))?\}|[\s\S]/gsu

/** Refuses a pattern that is none, that is too large, or that the database cannot say. */
export function checkPattern(pattern: string, at: SourceLocation): void {
  try {
    new RegExp(pattern, 'u')
  } catch {
    fail({ kind: 'BadLiteral', type: 'regular expression', text: pattern, at })
  }
  if (expandedLength(pattern) > MAX_EXPANDED_LENGTH)
    fail({ kind: 'QueryTooComplex', what: 'characters in a pattern', limit: MAX_EXPANDED_LENGTH, at })
  if (toPostgresRegex(pattern) === undefined)
    fail({ kind: 'NotImplemented', feature: `the pattern '${pattern.slice(0, 40)}'`, at })
}

/** How many characters a pattern has with its repetitions written out, signs among them. */
function expandedLength(pattern: string): number {
  const outerLengths: number[] = []
  let size = 0
  // What a number of repetitions behind it would repeat.
  let last = 0
  for (const [part, min, max] of pattern.matchAll(REPETITION_TOKEN)) {
    if (part === '(') outerLengths.push(size)
    last =
      part === ')' ? size : min === undefined ? 1 : last * (Math.max(Number(min), Number(max ?? 0), 1) - 1)
    size = part === '(' ? 0 : (part === ')' ? (outerLengths.pop() ?? 0) : size) + last
  }
  return size
}

/** The pattern for PostgreSQL's `~`; undefined if it has no words for it. */
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
  // Named groups and looking back have other words there, or none.
  if (token === '(?') return undefined
  return token.startsWith('\\') ? translateEscape(token, ESCAPES_OUTSIDE_CLASS) : token
}

/** A bracket in a class would begin one of PostgreSQL's named classes. */
function translateInClass(token: string): string | undefined {
  if (token === '[') return String.raw`\[`
  return token.startsWith('\\') ? translateEscape(token, ESCAPES_IN_CLASS) : token
}

/**
 * Numbers of characters, known letters, and signs that stand for themselves; any other letter or digit means
 * something else there.
 */
function translateEscape(token: string, known: Readonly<Record<string, string>>): string | undefined {
  const rest = token.slice(1)
  if (rest.length > 1) return String.raw`\u${rest.slice(1).padStart(4, '0')}`
  return known[rest] ?? (/[A-Za-z0-9]/.test(rest) ? undefined : token)
}
