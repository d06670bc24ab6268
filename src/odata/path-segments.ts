import { decodePart } from './encoding.js'

/** One segment of a path, decoded: `Property('P01')` has the name `Property` and the brackets `'P01'`. */
export interface Segment {
  readonly text: string
  readonly name: string
  readonly brackets?: string
}

/** Cuts a raw path at its slashes, then decodes each part, so that `%2F` stays inside its segment (Part 2, 2). Empty segments do not count. */
export function readSegments(rawPath: string): readonly Segment[] {
  const texts: string[] = []
  for (const part of rawPath.split('/')) {
    const text = decodePart(part)
    const last = texts.at(-1)
    if (last !== undefined && isOpenFilter(last)) texts[texts.length - 1] = `${last}/${text}`
    else if (text !== '') texts.push(text)
  }
  return texts.map(toSegment)
}

/** Expressions in a path may hold slashes of their own: `$filter(Rooms/any(...))` goes on up to its last bracket. */
function isOpenFilter(text: string): boolean {
  if (!text.startsWith('$filter(')) return false
  const bare = text.replace(/'[^']*(?:'|$)/g, '')
  return bare.split('(').length > bare.split(')').length
}

function toSegment(text: string): Segment {
  const open = text.indexOf('(')
  if (open <= 0) return { text, name: text }
  const name = text.slice(0, open)
  // What is not closed keeps its opening bracket, and so is neither key nor expression.
  return { text, name, brackets: text.endsWith(')') ? text.slice(open + 1, -1) : text.slice(open) }
}
