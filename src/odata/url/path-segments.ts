import { COMPLEXITY_UNITS } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import type { ParseLimits } from '../../language/parse-limits.js'
import { decodeUrlComponent } from './encoding.js'

/**
 * A decoded segment of a path: `Property('P01')` has the name `Property` and the content `'P01'` in its
 * brackets.
 */
export interface PathSegment {
  readonly text: string
  readonly name: string
  readonly parenthesized?: string
}

/**
 * Splits a raw path at its slashes and decodes each part, so that `%2F` remains inside its segment (Part 2,
 * 2). Empty segments are ignored. Each segment nests the query deeper, so that MAX_DEPTH limits their number.
 * @throws ProblemError QueryTooComplex
 */
export function readPathSegments(
  rawPath: string,
  { maxDepth }: Pick<ParseLimits, 'maxDepth'>,
): readonly PathSegment[] {
  const texts: string[] = []
  let filter: OpenBrackets | undefined
  for (const part of rawPath.split('/')) {
    const text = decodeUrlComponent(part)
    if (filter) texts.push(`${texts.pop()}/${text}`)
    else if (text !== '') texts.push(text)
    if (texts.length > maxDepth)
      fail({
        kind: 'QueryTooComplex',
        what: COMPLEXITY_UNITS.pathSegments,
        limit: maxDepth,
        at: { source: 'path' },
      })
    if (filter || text.startsWith('$filter(')) filter = countBrackets(text, filter)
    if (filter && filter.depth <= 0) filter = undefined
  }
  return texts.map(toPathSegment)
}

/**
 * The brackets of a `$filter(...)` that are open at the end of a part, for an expression with slashes such as
 * `$filter(Rooms/any(...))`.
 */
interface OpenBrackets {
  readonly depth: number
  /** The part ends inside a string, whose brackets do not count. */
  readonly isQuoted: boolean
}

/**
 * Continues the count of the previous part. Each part is read once, so that the time is linear in the length
 * of the path.
 */
function countBrackets(text: string, before: OpenBrackets | undefined): OpenBrackets {
  let { depth, isQuoted } = before ?? { depth: 0, isQuoted: false }
  for (const character of text) {
    if (character === "'") isQuoted = !isQuoted
    else if (!isQuoted && character === '(') depth++
    else if (!isQuoted && character === ')') depth--
  }
  return { depth, isQuoted }
}

function toPathSegment(text: string): PathSegment {
  const open = text.indexOf('(')
  if (open <= 0) return { text, name: text }
  const name = text.slice(0, open)
  // An unclosed part keeps its opening bracket, so that it is neither a key nor an expression.
  return { text, name, parenthesized: text.endsWith(')') ? text.slice(open + 1, -1) : text.slice(open) }
}
