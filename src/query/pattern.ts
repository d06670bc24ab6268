import { type At, fail } from '../errors/problem.js'

/**
 * Regular expressions of ECMAScript (OData 4.01 Part 2, 5.1.1.7.1) in the words of PostgreSQL's. They agree but for what the
 * table below translates; what PostgreSQL cannot say is refused, never guessed.
 */
const ESCAPES: Readonly<Record<string, string>> = {
  d: '[0-9]', D: '[^0-9]', w: '[A-Za-z0-9_]', W: '[^A-Za-z0-9_]', b: String.raw`\y`, B: String.raw`\Y`,
  n: String.raw`\n`, r: String.raw`\r`, t: String.raw`\t`, f: String.raw`\f`, v: String.raw`\v`,
} // biome-ignore format: table
const CLASS_ESCAPES: Readonly<Record<string, string>> = { d: '0-9', w: 'A-Za-z0-9_', s: String.raw`\s`, n: String.raw`\n`, r: String.raw`\r`, t: String.raw`\t`, f: String.raw`\f`, v: String.raw`\v` }
/** White space of ECMAScript, which counts more characters than PostgreSQL. */
const SPACES = String.raw`\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`
const LINE_ENDS = String.raw`\n\r\u2028\u2029`

const TOKEN = /\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|\\(.)|(\(\?<?[=!:])|(\(\?)|(\[\^?)|(\])|(\.)|([\s\S])/gu

/** Refuses a pattern that is none, or that the database cannot say. */
export function checkPattern(pattern: string, at: At): void {
  try {
    new RegExp(pattern, 'u')
  } catch {
    fail({ kind: 'BadLiteral', type: 'regular expression', text: pattern, at })
  }
  if (toPostgres(pattern) === undefined) fail({ kind: 'NotImplemented', feature: `the pattern '${pattern.slice(0, 40)}'`, at })
}

/** The pattern for PostgreSQL's `~`; undefined if it has no words for it. */
export function toPostgres(pattern: string): string | undefined {
  let inClass = false
  const parts: (string | undefined)[] = []
  for (const match of pattern.matchAll(TOKEN)) {
    const [text, unicode, hex, escaped, group, otherGroup, open, close, dot] = match
    if (open !== undefined && !inClass) inClass = true
    else if (close !== undefined) inClass = false
    if (unicode !== undefined || hex !== undefined) parts.push(`\\u${(unicode ?? hex ?? '').padStart(4, '0')}`)
    else if (escaped !== undefined) parts.push(inClass ? classEscape(escaped) : plainEscape(escaped))
    else if (group !== undefined) parts.push(inClass || !group.includes('<') ? text : undefined)
    else if (otherGroup !== undefined && !inClass) parts.push(undefined)
    else if (dot !== undefined && !inClass) parts.push(`[^${LINE_ENDS}]`)
    // PostgreSQL reads [[:name:]] and the like inside a class.
    else parts.push(inClass && open !== undefined && text === '[' && parts.at(-1)?.endsWith('[') ? String.raw`\[` : text)
  }
  return parts.includes(undefined) ? undefined : parts.join('')
}

function plainEscape(escaped: string): string | undefined {
  if (escaped === 's') return `[${SPACES}]`
  if (escaped === 'S') return `[^${SPACES}]`
  return ESCAPES[escaped] ?? (/[A-Za-z0]/.test(escaped) ? undefined : `\\${escaped}`)
}

function classEscape(escaped: string): string | undefined {
  if (escaped === 's') return SPACES
  return CLASS_ESCAPES[escaped] ?? (/[A-Za-z0-9]/.test(escaped) ? undefined : `\\${escaped}`)
}
