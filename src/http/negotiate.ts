import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { acceptedRanges, type MediaRange, parseMediaRanges } from './media-ranges.js'

/** Total length of the cached Accept headers, in characters. */
const MAX_CACHED_CHARACTERS = 65_536

/**
 * Returns a function that chooses the media type for a response (RFC 9110, 12.5.1): the offered type that the
 * request's Accept header prefers, the first one if it prefers none, undefined if it accepts none. Choices are
 * cached by header, since clients send the same few.
 */
export function createMediaTypeNegotiator<T extends string>(
  offered: readonly T[],
): (req: Pick<IncomingMessage, 'headers'>) => T | undefined {
  const cache = new LRUCache<string, { readonly type: T | undefined }>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (_, accept) => accept.length + 1,
  })
  return ({ headers: { accept } }) => {
    // A missing header accepts everything, an empty one nothing.
    if (accept === undefined) return offered[0]
    const choice = cache.get(accept) ?? { type: chooseMediaType(accept, offered) }
    cache.set(accept, choice)
    return choice.type
  }
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
