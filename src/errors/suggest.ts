import { closest, distance } from 'fastest-levenshtein'

/**
 * Returns the name that the client probably meant, or undefined if none is similar. A name that differs only
 * in case comes first.
 */
export function suggestName(name: string, known: Iterable<string>): string | undefined {
  const names = [...known]
  if (names.length === 0 || name.length > 64) return undefined
  const lower = name.toLowerCase()
  const sameLetters = names.find(n => n.toLowerCase() === lower)
  if (sameLetters !== undefined) return sameLetters
  const nearest = closest(name, names)
  return distance(name, nearest) <= Math.max(1, Math.floor(name.length / 3)) ? nearest : undefined
}
