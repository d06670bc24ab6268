import { expect, test } from 'vitest'
import { ProblemError } from '../../../src/errors/problem.js'
import type { InputValues } from '../../../src/graphql/execute/collect-fields.js'
import { readFilter } from '../../../src/graphql/execute/filter.js'
import { collectionFilterInputNameOf, filterInputNameOf } from '../../../src/graphql/schema/names.js'
import { ENTITIES, getEntity } from '../../../src/model/model.js'
import { FUNCTIONS, type FunctionName } from '../../../src/query/functions.js'
import {
  bindFilterInput,
  bindFilterText,
  coerceArguments,
  coerceLiteral,
  coerceVariable,
  LISTING_SCHEMA,
  PARSE_OPTIONS,
} from '../../support/oracle/filter-arguments.js'

const PROPERTY = getEntity('Property')

/**
 * A value of each type: the filter field, its notation in OData, and a literal of the type in both notations.
 */
interface Subject {
  readonly wrap: (filter: string) => string
  readonly text: string
  readonly literal: readonly [graphql: string, odata: string]
}

const direct = (name: string, graphql: string, odata = graphql): Subject => ({
  wrap: filter => `{ ${name}: ${filter} }`,
  text: name,
  literal: [graphql, odata],
})

// biome-ignore format: table
const SUBJECTS = {
  Boolean:   direct('NewConstructionYN', 'true'),
  Int:       direct('BedroomsTotal', '3'),
  Long:      { wrap: f => `{ Media: { count: ${f} } }`, text: 'Media/$count', literal: ['"5000000000"', '5000000000'] },
  Decimal:   direct('ListPrice', '"250000.50"', '250000.50'),
  Float:     { wrap: f => `{ ListPrice: { asFloat: ${f} } }`, text: 'cast(ListPrice,Edm.Double)', literal: ['0.5', '0.5'] },
  String:    direct('City', '"O\'Brien"', "'O''Brien'"),
  DateTime:  direct('ModificationTimestamp', '"2024-05-01T02:00:00+02:00"', '2024-05-01T00:00:00Z'),
  Date:      direct('OnMarketDate', '"2024-02-29"', '2024-02-29'),
  TimeOfDay: { wrap: f => `{ ModificationTimestamp: { time: ${f} } }`, text: 'time(ModificationTimestamp)', literal: ['"08:30:00.50"', '08:30:00.5'] },
  Duration:  { wrap: f => `{ ModificationTimestamp: { subDateTime: { value: "2024-01-01T00:00:00Z", is: ${f} } } }`, text: '(ModificationTimestamp sub 2024-01-01T00:00:00Z)', literal: ['"P1DT2H"', "duration'P1DT2H'"] },
  GeoPoint:  direct('GeoLocation', '{ type: "Point", coordinates: [-105, 39.70] }', "geography'SRID=4326;POINT(-105 39.70)'"),
  'values':  direct('Appliances', '["Dishwasher"]', '["Dishwasher"]'),
  'records': direct('Media', '{ Order: { eq: 1 } }'),
  'record':  { wrap: f => f, text: '', literal: ['{ City: { eq: "Vail" } }', "City eq 'Vail'"] },
} satisfies Readonly<Record<string, Subject>>

type SubjectName = keyof typeof SUBJECTS
/** `@` is the value, `#` the literal of its type. */
type Row = readonly [filter: string, text: string]

const COMPARISONS: readonly Row[] = [
  ...['eq', 'ne', 'gt', 'ge', 'lt', 'le'].flatMap((fn): readonly Row[] => [[`{ ${fn}: # }`, `@ ${fn} #`]]),
  ['{ in: [#, null] }', '@ in (#,null)'],
  ['{ and: [{ eq: # }, { ne: null }] }', '@ eq # and @ ne null'],
  ['{ or: [{ eq: # }, { eq: null }] }', '@ eq # or @ eq null'],
  ['{ not: { eq: # } }', 'not (@ eq #)'],
]
const ARITHMETIC: readonly Row[] = [
  ...['add', 'sub', 'mul', 'div', 'mod'].map(
    (fn): Row => [`{ ${fn}: { value: #, is: { gt: # } } }`, `@ ${fn} # gt #`],
  ),
  ['{ negate: { lt: # } }', '-(@) lt #'],
]
const FRACTIONS: readonly Row[] = [
  ['{ divby: { value: #, is: { gt: # } } }', '@ divby # gt #'],
  ['{ round: { eq: # } }', 'round(@) eq #'],
  ['{ floor: { eq: # } }', 'floor(@) eq #'],
  ['{ ceiling: { eq: # } }', 'ceiling(@) eq #'],
]
const DAYS: readonly Row[] = [
  ['{ add: { value: "P1D", is: { gt: # } } }', "@ add duration'P1D' gt #"],
  ['{ subDuration: { value: "PT1.50S", is: { gt: # } } }', "@ sub duration'PT1.50S' gt #"],
  ...['year', 'month', 'day'].map((fn): Row => [`{ ${fn}: { eq: 2 } }`, `${fn}(@) eq 2`]),
]
const CLOCKS: readonly Row[] = [
  ...['hour', 'minute', 'second'].map((fn): Row => [`{ ${fn}: { eq: 2 } }`, `${fn}(@) eq 2`]),
  ['{ fractionalseconds: { eq: 0.5 } }', 'fractionalseconds(@) eq 0.5'],
]
const casts = (...types: readonly (readonly [name: string, edm: string, graphql: string, odata: string])[]) =>
  types.map(
    ([name, edm, graphql, odata]): Row => [
      `{ as${name}: { eq: ${graphql} } }`,
      `cast(@,Edm.${edm}) eq ${odata}`,
    ],
  )
const TO = {
  String: ['String', 'String', '"1"', "'1'"],
  Int: ['Int', 'Int32', '1', '1'],
  Long: ['Long', 'Int64', '1', '1'],
  Decimal: ['Decimal', 'Decimal', '1.5', '1.5'],
  Float: ['Float', 'Double', '1.5', '1.5'],
  Boolean: ['Boolean', 'Boolean', 'true', 'true'],
  DateTime: ['DateTime', 'DateTimeOffset', '"2024-05-01T00:00:00Z"', '2024-05-01T00:00:00Z'],
  Date: ['Date', 'Date', '"2024-05-01"', '2024-05-01'],
  TimeOfDay: ['TimeOfDay', 'TimeOfDay', '"08:30:00"', '08:30:00'],
} as const

/** Every field of every filter input, except fields of the model, with the equivalent OData expression. */
// biome-ignore format: table
const ROWS: Readonly<Record<SubjectName, readonly Row[]>> = {
  Boolean: [
    ...COMPARISONS, ...casts(TO.String),
    ['{ caseBoolean: true }',                              'case(@:true)'],
    ['{ caseInt: { then: 1, is: { eq: 1 } } }',            'case(@:1) eq 1'],
    ['{ caseLong: { then: 5000000000, is: { eq: 1 } } }',  'case(@:5000000000) eq 1'],
    ['{ caseDecimal: { then: 1.5, is: { eq: 1.5 } } }',    'case(@:1.5) eq 1.5'],
    ['{ caseFloat: { then: 0.5, is: { gt: 0.25 } } }',     'case(@:0.5) gt 0.25'],
    ['{ caseString: { then: "new", is: { eq: "new" } } }', "case(@:'new') eq 'new'"],
    ['{ caseDateTime: { then: "2024-05-01T00:00:00Z", is: { gt: "2024-01-01T00:00:00Z" } } }', 'case(@:2024-05-01T00:00:00Z) gt 2024-01-01T00:00:00Z'],
    ['{ caseDate: { then: "2024-05-01", is: { gt: "2024-01-01" } } }',     'case(@:2024-05-01) gt 2024-01-01'],
    ['{ caseTimeOfDay: { then: "08:30:00", is: { gt: "08:00:00" } } }',    'case(@:08:30:00) gt 08:00:00'],
    ['{ caseDuration: { then: "PT1H", is: { gt: "PT1M" } } }',             "case(@:duration'PT1H') gt duration'PT1M'"],
  ],
  Int:     [...COMPARISONS, ...ARITHMETIC, ...casts(TO.Long, TO.Decimal, TO.Float, TO.String)],
  Long:    [...COMPARISONS, ...ARITHMETIC, ...casts(TO.Int, TO.Decimal, TO.Float, TO.String)],
  Decimal: [...COMPARISONS, ...ARITHMETIC, ...FRACTIONS, ...casts(TO.Int, TO.Long, TO.Float, TO.String)],
  Float:   [...COMPARISONS, ...ARITHMETIC, ...FRACTIONS, ...casts(TO.Int, TO.Long, TO.Decimal, TO.String)],
  String: [
    ...COMPARISONS, ...casts(TO.Boolean, TO.Int, TO.Long, TO.Decimal, TO.Float, TO.DateTime, TO.Date, TO.TimeOfDay),
    ...['contains', 'startswith', 'endswith', 'matchespattern'].map((fn): Row => [`{ ${fn}: # }`, `${fn}(@,#)`]),
    ...['tolower', 'toupper', 'trim'].map((fn): Row => [`{ ${fn}: { eq: # } }`, `${fn}(@) eq #`]),
    ['{ length: { gt: 3 } }',                                       'length(@) gt 3'],
    ['{ indexof: { value: "x", is: { eq: -1 } } }',                 "indexof(@,'x') eq -1"],
    ['{ substring: { start: 1, is: { eq: "x" } } }',                "substring(@,1) eq 'x'"],
    ['{ substring: { start: 1, length: 2, is: { eq: "x" } } }',     "substring(@,1,2) eq 'x'"],
    ['{ concat: { value: "x", is: { eq: "x" } } }',                 "concat(@,'x') eq 'x'"],
    ['{ trim: { tolower: { startswith: "a", endswith: "b" } } }',   "startswith(tolower(trim(@)),'a') and endswith(tolower(trim(@)),'b')"],
  ],
  DateTime: [
    ...COMPARISONS, ...DAYS, ...CLOCKS, ...casts(TO.String, TO.Date, TO.TimeOfDay),
    ['{ subDateTime: { value: #, is: { gt: "P1D" } } }', "@ sub # gt duration'P1D'"],
    ['{ totaloffsetminutes: { eq: 0 } }',                'totaloffsetminutes(@) eq 0'],
    ['{ date: { eq: "2024-05-01" } }',                   'date(@) eq 2024-05-01'],
    ['{ time: { lt: "08:30:00" } }',                     'time(@) lt 08:30:00'],
  ],
  Date:      [...COMPARISONS, ...DAYS, ...casts(TO.String, TO.DateTime), ['{ subDate: { value: #, is: { gt: "P1D" } } }', "@ sub # gt duration'P1D'"]],
  TimeOfDay: [...COMPARISONS, ...CLOCKS, ...casts(TO.String)],
  Duration: [
    ...COMPARISONS, ...casts(TO.String),
    ['{ add: { value: #, is: { gt: # } } }',     '@ add # gt #'],
    ['{ sub: { value: #, is: { gt: # } } }',     '@ sub # gt #'],
    ['{ mul: { value: 2, is: { gt: # } } }',     '@ mul 2 gt #'],
    ['{ div: { value: 2.5, is: { gt: # } } }',   '@ div 2.5 gt #'],
    ['{ divby: { value: "2", is: { gt: # } } }', '@ divby 2 gt #'],
    ['{ negate: { lt: # } }',                    '-(@) lt #'],
    ['{ totalseconds: { gt: 60 } }',             'totalseconds(@) gt 60'],
  ],
  GeoPoint: [
    ['{ isNull: true }',                                '@ eq null'],
    ['{ isNull: false }',                               '@ ne null'],
    ['{ geoDistance: { to: #, is: { lt: 1000.5 } } }',  'geo.distance(@,#) lt 1000.5'],
    ['{ geoIntersects: { type: "Polygon", coordinates: [[[-106, 39], [-104, 39], [-104, 40.5], [-106, 39]]] } }', "geo.intersects(@,geography'SRID=4326;POLYGON((-106 39,-104 39,-104 40.5,-106 39))')"],
    ['{ and: [{ isNull: false }, { isNull: true }] }',  '@ ne null and @ eq null'],
    ['{ or: [{ isNull: false }, { isNull: true }] }',   '@ ne null or @ eq null'],
    ['{ not: { isNull: true } }',                       'not (@ eq null)'],
  ],
  values: [
    ['{ any: { eq: "Range" } }',                        "@/any(a:a eq 'Range')"],
    ['{ any: {} }',                                     '@/any()'],
    ['{ all: { startswith: "R", ne: "Range" } }',       "@/all(a:a ne 'Range' and startswith(a,'R'))"],
    ['{ isEmpty: true }',                               'not @/any()'],
    ['{ isEmpty: false }',                              '@/any()'],
    ['{ count: { gt: 2 } }',                            '@/$count gt 2'],
    ['{ has: "Range,Dishwasher" }',                     "@ has 'Range,Dishwasher'"],
    ['{ length: { gt: 2 } }',                           'length(@) gt 2'],
    ['{ hassubset: # }',                                'hassubset(@,#)'],
    ['{ hassubsequence: # }',                           'hassubsequence(@,#)'],
    ['{ and: [{ any: {} }, { count: { lt: 3 } }] }',    '@/any() and @/$count lt 3'],
    ['{ or: [{ isEmpty: true }, { count: { lt: 3 } }] }', 'not @/any() or @/$count lt 3'],
    ['{ not: { any: { eq: "Range" } } }',               "not @/any(a:a eq 'Range')"],
  ],
  records: [
    ['{ any: # }',                                      '@/any(m:m/Order eq 1)'],
    ['{ any: {} }',                                     '@/any()'],
    ['{ all: { Order: { ge: 0 }, MediaKey: { ne: null } } }', '@/all(m:m/MediaKey ne null and m/Order ge 0)'],
    ['{ any: { Permission: { any: { eq: "Public" } } } }', "@/any(m:m/Permission/any(p:p eq 'Public'))"],
    ['{ isEmpty: true }',                               'not @/any()'],
    ['{ count: { gt: 2, lt: 5 } }',                     '@/$count gt 2 and @/$count lt 5'],
    ['{ countOf: { filter: #, is: { ge: 1 } } }',       '@/$count($filter=Order eq 1) ge 1'],
    ['{ and: [{ any: {} }, { any: # }] }',              '@/any() and @/any(m:m/Order eq 1)'],
    ['{ or: [{ isEmpty: true }, { any: # }] }',         'not @/any() or @/any(m:m/Order eq 1)'],
    ['{ not: { any: # } }',                             'not @/any(m:m/Order eq 1)'],
  ],
  record: [
    // graphql-js gives the fields of an input in the order of the schema.
    ['{ City: { eq: "Vail" }, ListPrice: { lt: 5, gt: 1 } }',   "ListPrice gt 1 and ListPrice lt 5 and City eq 'Vail'"],
    ['{ and: [#, { or: [#, { ListPrice: { gt: 1 } }] }] }',     '# and (# or ListPrice gt 1)'],
    ['{ and: [{ and: [#, #] }, #] }',                           '(# and #) and #'],
    ['{ or: [#, { City: { eq: "Aspen" } }] }',                  "# or City eq 'Aspen'"],
    ['{ not: # }',                                              'not (#)'],
    ['{ ListAgent: { MemberFullName: { contains: "a" } } }',    "contains(ListAgent/MemberFullName,'a')"],
    ['{ ListAgent: { MemberKey: { eq: null } } }',              'ListAgent eq null'],
    ['{ ListAgent: { Office: { Media: { any: {} } } } }',       'ListAgent/Office/Media/any()'],
    ['{ Rooms: { any: { Listing: { City: { eq: "Vail" } } } } }', "Rooms/any(r:r/Listing/City eq 'Vail')"],
    ['{ Rooms: { countOf: { filter: { Listing: { Media: { any: { Order: { eq: 1 } } } } }, is: { gt: 0 } } } }', 'Rooms/$count($filter=Listing/Media/any(m:m/Order eq 1)) gt 0'],
  ],
}

const ALL = Object.entries(ROWS).flatMap(([name, rows]) => {
  const { wrap, text, literal } = SUBJECTS[name as SubjectName] // a key of ROWS, which are those of SUBJECTS
  const fill = (pattern: string, index: 0 | 1) =>
    pattern.replaceAll('@', () => text).replaceAll('#', () => literal[index])
  return rows.map(([filter, odata]) => [wrap(fill(filter, 0)), fill(odata, 1)] as const)
})

test.each(ALL)('%s is %s', (filter, text) => {
  const coerced = coerceLiteral(PROPERTY, filter)
  expect(bindFilterInput(PROPERTY, coerced)).toEqual(bindFilterText(PROPERTY, text))
})

/** `Input.field` of every field that a filter uses. */
function fieldsOf(input: string, given: unknown): readonly string[] {
  if (Array.isArray(given)) return given.flatMap(item => fieldsOf(input, item))
  return Object.entries(given as InputValues).flatMap(([name, value]) => {
    const means = LISTING_SCHEMA.filterInputs.get(input)?.fields.get(name)?.operator
    const further = means && 'to' in means && value !== null ? value : {}
    const is =
      means && (means.kind === 'countOf' || (means.kind === 'function' && means.arguments.length > 0))
        ? ((further as InputValues)['is'] ?? {})
        : further
    return [`${input}.${name}`, ...(means && 'to' in means ? fieldsOf(means.to, is) : [])]
  })
}

test('every field of a filter input that a function adds has a row', () => {
  // One entity and one collection of records represent the others.
  const others = new Set(
    [...ENTITIES.values()].flatMap(e => [filterInputNameOf(e), collectionFilterInputNameOf(e)]),
  )
  for (const name of ['PropertyFilter', 'MediaCollectionFilter']) others.delete(name)
  const used = new Set(
    ALL.flatMap(([filter]) => fieldsOf(filterInputNameOf(PROPERTY), coerceLiteral(PROPERTY, filter))),
  )
  const known = [...LISTING_SCHEMA.filterInputs.values()]
    .filter(({ name }) => !others.has(name))
    .flatMap(input =>
      [...input.fields.values()].filter(f => f.operator.kind !== 'field').map(f => `${input.name}.${f.name}`),
    )
  expect(known.length).toBeGreaterThan(200)
  expect(known.filter(name => !used.has(name))).toEqual([])
})

test('every overload that takes a value first has a field', () => {
  const overloads = (Object.keys(FUNCTIONS) as FunctionName[]).flatMap(fn =>
    FUNCTIONS[fn].map(s => ({ fn, takes: s.args[0], others: s.args.slice(1), returns: s.returns })),
  ) // its keys
  const fields = [...LISTING_SCHEMA.filterInputs.values()].flatMap(input =>
    [...input.fields.values()].map(f => ({ input: input.name, means: f.operator })),
  )
  const isThere = ({ fn, others }: (typeof overloads)[number]) =>
    fields.some(({ means }) => {
      if (means.kind !== 'predicate' && means.kind !== 'function') return false
      const args = means.kind === 'predicate' ? [means.argument] : means.arguments
      return (
        means.fn === fn &&
        others.length <= args.length &&
        others.every((type, i) => type === (args[i]?.list ? `Collection(${args[i].type})` : args[i]?.type))
      )
    })
  const missing = overloads.filter(o => !isThere(o)).map(({ fn, takes = 'nothing' }) => `${fn}(${takes})`)
  // The inputs say the first three themselves; the next three take no value; collections are of texts only.
  expect(new Set(missing.map(m => m.replace(/\(.*/, '')))).toEqual(
    new Set(['and', 'or', 'not', 'now', 'mindatetime', 'maxdatetime', 'hassubset', 'hassubsequence']),
  )
  expect(missing.filter(m => m.includes('(Collection(String)'))).toEqual([])
})

// Nothing that is null, empty or missing may mean "every record" where a condition is expected (trap GQL-03).
// biome-ignore format: table
test.each([
  ['{}',                                     'no condition'],
  ['{ and: [] }',                            'true'],
  ['{ or: [] }',                             'false'],
  ['{ not: { or: [] } }',                    'not false'],
  ['{ City: { and: [] } }',                  'true'],
  ['{ City: { or: [] } }',                   'false'],
  ['{ City: { in: [] } }',                   'City in ()'],
  ['{ City: { in: null } }',                 'null'],
  ['{ not: { City: { in: null } } }',        'not null'],
  ['{ Appliances: { hassubset: null } }',    'null'],
  ['{ City: { eq: null } }',                 'City eq null'],
  ['{ City: { ne: null } }',                 'City ne null'],
  ['{ City: { gt: null } }',                 'City gt null'],
  ['{ City: { contains: null } }',           'contains(City,null)'],
  ['{ City: { in: [null] } }',               'City in (null)'],
  ['{ City: { substring: { start: 1, length: null, is: { eq: "x" } } } }', "substring(City,1,null) eq 'x'"],
  ['{ Media: { isEmpty: null } }',           'null'],
  ['{ GeoLocation: { isNull: null } }',      'null'],
  ['{ Appliances: { any: { eq: null } } }',  'Appliances/any(a:a eq null)'],
  ['{ City: null }',                         'refused'],
  ['{ City: {} }',                           'refused'],
  ['{ City: {}, ListPrice: { gt: 1 } }',     'refused'],
  ['{ City: { length: null } }',             'refused'],
  ['{ City: { length: {} } }',               'refused'],
  ['{ City: { substring: null } }',          'refused'],
  ['{ City: { concat: { value: "x", is: {} } } }', 'refused'],
  ['{ not: null }',                          'refused'],
  ['{ not: {} }',                            'refused'],
  ['{ and: null }',                          'refused'],
  ['{ or: null }',                           'refused'],
  ['{ and: [{}] }',                          'refused'],
  ['{ or: [{}, { City: { eq: "x" } }] }',    'refused'],
  ['{ Media: null }',                        'refused'],
  ['{ Media: {} }',                          'refused'],
  ['{ Media: { any: null } }',               'refused'],
  ['{ Media: { all: null } }',               'refused'],
  ['{ Media: { all: {} } }',                 'refused'],
  ['{ Media: { any: { Order: {} } } }',      'refused'],
  ['{ Media: { countOf: { filter: {}, is: { gt: 1 } } } }', 'refused'],
  ['{ ListAgent: null }',                    'refused'],
  ['{ ListAgent: {} }',                      'refused'],
] as const)('%s: %s', (filter, meaning) => {
  const read = () => bindFilterInput(PROPERTY, coerceLiteral(PROPERTY, filter))
  if (meaning === 'refused') expect(() => readFilter(PROPERTY, coerceLiteral(PROPERTY, filter), PARSE_OPTIONS)).toThrow(expect.objectContaining({ problems: [expect.objectContaining({ kind: 'WrongType' })] }))
  else if (meaning === 'no condition') expect(read()).toBeUndefined()
  else expect(read()).toEqual(bindFilterText(PROPERTY, meaning))
})

test.each([
  ['missing in a test', '{ City: { eq: $v } }'],
  ['missing beside another', '{ City: { eq: $v }, ListPrice: { gt: 1 } }'],
])('a variable that is %s leaves a condition that is refused', (_, filter) => {
  const coerced = coerceArguments(`query($v: String) { properties(filter: ${filter}) { totalCount } }`)[
    'filter'
  ] as InputValues // by its type
  expect(() => readFilter(PROPERTY, coerced, PARSE_OPTIONS)).toThrow(ProblemError)
})

const literalOf = (filter: InputValues) => {
  const ast = readFilter(PROPERTY, filter, PARSE_OPTIONS)
  const literal = ast?.kind === 'call' ? ast.args[1] : undefined
  return literal?.kind === 'literal' ? [literal.type, literal.value] : undefined
}

// The types and values of the same numbers by the OData parser.
test.each([
  ['5', 'Int32', 5],
  ['-2147483648', 'Int32', -2147483648],
  ['2147483648', 'Int64', '2147483648'],
  ['9007199254740993', 'Int64', '9007199254740993'],
  ['9223372036854775808', 'Decimal', '9223372036854775808'],
  ['123456.78', 'Decimal', '123456.78'],
  ['12345678901234567.89', 'Decimal', '12345678901234567.89'],
  ['1.50', 'Decimal', '1.50'],
  ['1e2', 'Decimal', '100'],
])('the number %s is of type %s, as a literal and as a text', (text, type, value) => {
  expect(literalOf(coerceLiteral(PROPERTY, `{ ListPrice: { eq: ${text} } }`))).toEqual([type, value])
  expect(literalOf(coerceLiteral(PROPERTY, `{ ListPrice: { eq: "${text}" } }`))).toEqual([type, value])
  expect(literalOf(coerceVariable(PROPERTY, { ListPrice: { eq: text } }))).toEqual([type, value])
})

test('a filter has the same limits as a text', () => {
  const deep = (levels: number): InputValues =>
    levels === 0 ? { City: { eq: 'x' } } : { not: deep(levels - 1) }
  const refusal = expect.objectContaining({
    problems: [expect.objectContaining({ kind: 'QueryTooComplex' })],
  })
  const limits = { maxDepth: 20, maxNodes: 50, maxListItems: 10 }
  expect(readFilter(PROPERTY, deep(10), { model: LISTING_SCHEMA, limits })).toBeDefined()
  expect(() => readFilter(PROPERTY, deep(30), { model: LISTING_SCHEMA, limits })).toThrow(refusal)
  expect(() =>
    readFilter(PROPERTY, { City: { in: Array(11).fill('x') } }, { model: LISTING_SCHEMA, limits }),
  ).toThrow(refusal)
  expect(() =>
    readFilter(
      PROPERTY,
      { or: Array(10).fill({ City: { in: Array(10).fill('x') } }) },
      { model: LISTING_SCHEMA, limits },
    ),
  ).toThrow(refusal)
})
