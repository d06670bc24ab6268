import type { Actor } from '../../../src/domain/actor.js'
import { restrict } from '../../../src/domain/authorize.js'
import { PARSE_LIMITS } from '../../../src/language/parser-budget.js'
import { entity } from '../../../src/model/model.js'
import { readOptions, readQuery } from '../../../src/odata/url/options.js'
import { bind } from '../../../src/query/bind.js'
import type { Plan } from '../../../src/query/plan.js'

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
/** Records with little beside their fields. */
export const NOTATION = { reference: '@odata.id', countSuffix: '@odata.count', numbersAsText: false }

/** The plan of options as a client writes them, for whoever asks. */
export const toPlan = (text: string, of = 'Property'): Plan =>
  bind(readQuery(readOptions(encodeURI(text)), 'collection', PARSE_LIMITS), entity(of), LIMITS)

/** The same with what the reader may see. */
export const toPlanFor = (reader: Actor, text: string, of = 'Property'): Plan =>
  restrict(toPlan(text, of), reader, { nonDisclosure: false })
