import { expect, test } from 'vitest'
import { ProblemError } from '../../../src/errors/problem.js'
import { DEFAULT_PARSE_LIMITS } from '../../../src/language/parse-limits.js'
import { getEntity } from '../../../src/model/model.js'
import { parseQuery, readQueryOptions } from '../../../src/odata/url/query-options.js'
import { bind } from '../../../src/query/bind/bind.js'

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 4 }

/** The problem of a query of Property; undefined if it is accepted. */
function problemOf(options: string): unknown {
  try {
    bind(
      parseQuery(readQueryOptions(encodeURI(options)), 'collection', DEFAULT_PARSE_LIMITS),
      getEntity('Property'),
      LIMITS,
    )
    return undefined
  } catch (error) {
    if (error instanceof ProblemError) return error.problems[0]
    throw error
  }
}

/** Lambdas within each other whose variables meet in the innermost one. */
function nested(levels: number, body = 'gt 1000'): string {
  const names = 'abcdef'.slice(0, levels).split('')
  const inner = `${names.map(name => `${name}/Order`).join(' add ')} ${body}`
  return names.reduceRight((text, name) => `Media/any(${name}:${text})`, inner)
}
const patterns = (count: number) =>
  Array.from({ length: count }, (_, i) => `matchespattern(PublicRemarks,'a+${i}')`).join(' or ')
const cities = (count: number) => Array.from({ length: count }, (_, i) => `City ne 'C${i}'`).join(' and ')

test.each([
  ['three lambdas within each other', `$filter=${nested(3)}`],
  ['many lambdas beside each other', `$filter=${Array(50).fill(nested(1)).join(' or ')}`],
  ['a lambda with many conditions', `$filter=Media/any(m:${cities(300)})`],
  ['24 patterns', `$filter=${patterns(24)}`],
  ['hundreds of conditions', `$filter=${cities(800)}`],
  ['an order by the number of related records', '$orderby=Media/$count desc,Rooms/$count'],
])('accepts %s', (_, options) => expect(problemOf(options)).toBeUndefined())

test.each([
  ['six lambdas within each other', `$filter=${nested(6)}`],
  ['four lambdas within each other', `$filter=City eq 'Vail' and ${nested(4)}`],
  ['three lambdas with many conditions', `$filter=Media/any(a:Media/any(b:Media/any(c:${cities(40)})))`],
  ['many pairs of lambdas', `$filter=${Array(120).fill(nested(2)).join(' or ')}`],
  ['25 patterns', `$filter=${patterns(25)}`],
  ['many patterns in the filter and in the order', `$filter=${patterns(13)}&$orderby=${patterns(13)}`],
  ['patterns in lambdas', `$filter=Media/any(a:Rooms/any(b:${patterns(5)}))`],
  ['lambdas in an order', `$orderby=${nested(4)}`],
  ['lambdas in a computed value', `$compute=${nested(4)} as X&$select=X`],
  [
    'lambdas in an expansion',
    `$expand=Media($filter=$it/City eq 'x' or ${nested(4).replaceAll('Media', '$it/Media')})`,
  ],
  ['lambdas in a transformation', `$apply=filter(${nested(4)})`],
  [
    'counts with filters within each other',
    `$filter=Media/$count($filter=$it/Media/$count($filter=$it/Media/$count($filter=${cities(40).replaceAll('City', '$it/City')}) gt 1) gt 1) gt 1`,
  ],
])('refuses %s', (_, options) =>
  expect(problemOf(options)).toMatchObject({ kind: 'QueryTooComplex', at: { source: expect.anything() } }),
)
