import type { Request } from 'express'
import { LRUCache } from 'lru-cache'

/** Characters of the headers whose answers are kept. */
const KEPT_LENGTH = 65_536

/**
 * The media type among those offered that a request prefers, the first one if all are the same to it (RFC
 * 9110, 12.5.1); undefined: it takes none of them. Clients send the same few headers: each is read once.
 */
export function createNegotiator<T extends string>(offered: readonly T[]): (req: Request) => T | undefined {
  const known = new LRUCache<string, { readonly type: T | undefined }>({
    maxSize: KEPT_LENGTH,
    sizeCalculation: (_, accept) => accept.length + 1,
  })
  return req => {
    // Its absence is another thing than an empty one, which accepts nothing.
    const { accept } = req.headers
    if (accept === undefined) return offered[0]
    const choice = known.get(accept) ?? { type: choose(req, offered) }
    known.set(accept, choice)
    return choice.type
  }
}

function choose<T extends string>(req: Request, offered: readonly T[]): T | undefined {
  const found = req.accepts([...offered])
  return offered.find(type => type === found)
}
