/** A media range of an Accept header (RFC 9110, 12.5.1). */
export interface MediaRange {
  /** `type/subtype` in lower case; either can be `*`. */
  readonly type: string
  /** Parameters by name in lower case, without quotation marks. */
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

/**
 * Patterns of the items of a list, and of the parameters of an item. Quoted strings can contain the
 * separator. An unclosed quoted string extends to the end, so that the text is scanned once.
 */
const ITEMS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g
const PARTS = /(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g

/**
 * Reads the media ranges of an Accept header, in their order.
 * @param toParameterName changes the names of parameters, for formats that give them prefixes.
 */
export const parseMediaRanges = (
  text: string,
  toParameterName = (name: string): string => name,
): readonly MediaRange[] => (text.match(ITEMS) ?? []).map(item => parseMediaRange(item, toParameterName))

function parseMediaRange(text: string, toParameterName: (name: string) => string): MediaRange {
  const [type = '', ...rest] = (text.match(PARTS) ?? []).map(part => part.trim())
  const parameters = new Map(
    rest.map(part => {
      const [name = '', value = ''] = part.split(/=(.*)/s).map(side => side.trim())
      return [toParameterName(name.toLowerCase()), value.replace(/^"(.*)"$/s, '$1')] as const
    }),
  )
  const quality = Number(parameters.get('q') ?? 1)
  return { type: type.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 1 : quality }
}

/**
 * Returns the ranges that accept a type, best first. A more specific range takes precedence over a wildcard,
 * so that `application/json;q=0, *` + `/*` does not accept JSON (RFC 9110, 12.5.1). Parameters such as
 * `charset=utf-8` do not matter.
 */
export function acceptedRanges(ranges: readonly MediaRange[], type: string): readonly MediaRange[] {
  return mostSpecificRanges(ranges, type)
    .filter(range => range.quality > 0)
    .sort((a, b) => b.quality - a.quality)
}

function mostSpecificRanges(ranges: readonly MediaRange[], type: string): readonly MediaRange[] {
  const [topLevelType] = type.split('/')
  return (
    [type, `${topLevelType}/*`, '*/*']
      .map(pattern => ranges.filter(range => range.type === pattern))
      .find(found => found.length > 0) ?? []
  )
}
