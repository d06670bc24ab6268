import type { Request } from 'express'
import { LRUCache } from 'lru-cache'

/** Characters of the headers whose answers are kept. */
const MAX_CACHED_CHARACTERS = 65_536

/**
 * The media type among those offered that a request prefers, the first one if all are the same to it (RFC
 * 9110, 12.5.1); undefined: it takes none of them. Clients send the same few headers: each is read once.
 */
export function createMediaTypeNegotiator<T extends string>(
  offered: readonly T[],
): (req: Request) => T | undefined {
  const cache = new LRUCache<string, { readonly type: T | undefined }>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (_, accept) => accept.length + 1,
  })
  return req => {
    // Its absence is another thing than an empty one, which accepts nothing.
    const { accept } = req.headers
    if (accept === undefined) return offered[0]
    const choice = cache.get(accept) ?? { type: chooseMediaType(req, offered) }
    cache.set(accept, choice)
    return choice.type
  }
}

function chooseMediaType<T extends string>(req: Request, offered: readonly T[]): T | undefined {
  const found = req.accepts([...offered])
  return offered.find(type => type === found)
}
