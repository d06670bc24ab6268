import { LRUCache } from 'lru-cache'
import type { Query } from '../query/ast.js'
import { numberOf, recall } from '../query/remember.js'
import type { Asked, Input } from './operation.js'

/** Queries by the place that asks and the arguments there. What is made of one, its plans and SQL included, takes some ten kilobytes. */
const KEPT = new LRUCache<string, Query>({ max: 1000, maxSize: 2 ** 19, sizeCalculation: (_, text) => text.length })

/**
 * The query that a field and its arguments state: the same object for the same ones, so that what others make of it is kept with it. Front ends ask the same
 * again and again. Cursors are left aside: all pages of a walk have one query.
 */
export function queryOf(asked: Asked, { after: _, before: __, ...args }: Input, read: () => Query): Query {
  return recall(KEPT, `${numberOf(asked)} ${JSON.stringify(args)}`, read)
}
