import { closest, distance } from 'fastest-levenshtein'

/**
 * The known name that was probably meant, for a "did you mean"; undefined when none is near. Letter case
 * counts little.
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
