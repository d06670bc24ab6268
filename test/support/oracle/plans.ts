import type { Actor } from '../../../src/domain/actor.js'
import { authorize } from '../../../src/domain/authorize.js'
import { DEFAULT_PARSE_LIMITS } from '../../../src/language/parse-limits.js'
import { getEntity } from '../../../src/model/model.js'
import { parseQuery, readQueryOptions } from '../../../src/odata/url/query-options.js'
import { bind } from '../../../src/query/bind/bind.js'
import type { Plan } from '../../../src/query/plan.js'

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
/** The representation of records, with minimal control information. */
export const ODATA_REPRESENTATION = {
  reference: '@odata.id',
  countSuffix: '@odata.count',
  numbersAsText: false,
}

/** The plan of query options for an actor. */
export const toPlan = (text: string, of = 'Property'): Plan =>
  bind(
    parseQuery(readQueryOptions(encodeURI(text)), 'collection', DEFAULT_PARSE_LIMITS),
    getEntity(of),
    LIMITS,
  )

/** The same with the permissions of the reader. */
export const toAuthorizedPlan = (reader: Actor, text: string, of = 'Property'): Plan =>
  authorize(toPlan(text, of), reader, { nonDisclosure: false })
