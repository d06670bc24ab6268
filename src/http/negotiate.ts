import type { IncomingMessage } from 'node:http'
import { acceptedRanges, type MediaRange, parseMediaRanges } from './media-ranges.js'

/**
 * Returns the media type for a response (RFC 9110, 12.5.1): the offered type that the request's Accept header
 * prefers, the first one if it prefers none, undefined if it accepts none.
 */
export function negotiateMediaType<T extends string>(
  { headers: { accept } }: Pick<IncomingMessage, 'headers'>,
  offered: readonly T[],
): T | undefined {
  // A missing header accepts everything, an empty one nothing.
  return accept === undefined ? offered[0] : chooseMediaType(accept, offered)
}

/**
 * Chooses by quality, then by specificity of the range, then by the order of the header, then by the order of
 * the offer.
 */
function chooseMediaType<T extends string>(accept: string, offered: readonly T[]): T | undefined {
  const ranges = parseMediaRanges(accept)
  const candidates = offered.flatMap(type => {
    const [range] = acceptedRanges(ranges, type)
    return range ? [{ type, range, position: ranges.indexOf(range) }] : []
  })
  const [best] = candidates.sort(
    (a, b) =>
      b.range.quality - a.range.quality ||
      wildcardsIn(a.range) - wildcardsIn(b.range) ||
      a.position - b.position,
  )
  return best?.type
}

const wildcardsIn = ({ type }: MediaRange): number => type.split('*').length - 1
