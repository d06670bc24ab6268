import type { EdmType } from '../model/model.js'

/** Types of expressions: those of columns, and those that only functions and literals have. */
export type ValueType = EdmType | 'Double' | 'TimeOfDay' | 'Duration' | 'GeographyPolygon'
export type Type = ValueType | `Collection(${ValueType})`

export interface Signature {
  readonly args: readonly Type[]
  readonly returns: ValueType
}

const sig = (args: readonly Type[], returns: ValueType): Signature => ({ args, returns })
const each = (types: readonly ValueType[], make: (t: ValueType) => Signature) => types.map(make)
const collectionOf = (t: ValueType) => `Collection(${t})` as const

// From narrow to wide: the first signature that takes all arguments is the one with the least promotion.
const INTEGERS = ['Int32', 'Int64'] as const
const FRACTIONS = ['Decimal', 'Double'] as const
const NUMBERS = [...INTEGERS, ...FRACTIONS] as const
const ORDERED: readonly ValueType[] = [
  ...NUMBERS,
  'String',
  'DateTimeOffset',
  'Date',
  'TimeOfDay',
  'Duration',
  'Boolean',
]
const DAYS: readonly ValueType[] = ['DateTimeOffset', 'Date']
const CLOCKS: readonly ValueType[] = ['DateTimeOffset', 'TimeOfDay']

const compare = (types: readonly ValueType[]) => each(types, t => sig([t, t], 'Boolean'))
const numeric = (types: readonly ValueType[] = NUMBERS) => each(types, t => sig([t, t], t))
const part = (types: readonly ValueType[], returns: ValueType = 'Int32') =>
  each(types, t => sig([t], returns))
const ofText = (returns: ValueType) => [sig(['String'], returns)]
const ofTexts = (returns: ValueType) => [sig(['String', 'String'], returns)]
const shifted = each(DAYS, t => sig([t, 'Duration'], t))
const sets = each(ORDERED, t => sig([collectionOf(t), collectionOf(t)], 'Boolean'))
const scaled = [sig(['Duration', 'Decimal'], 'Duration')]

/**
 * The whole language: every operator and function with the types it takes (OData 4.01 Part 2, 5.1.1).
 *
 * This table is the only place that knows them. The parser takes any name, the binder finds its overloads
 * here, the GraphQL schema its filter inputs; `data/render.ts` has a rendering for each, or the build fails,
 * and so has the oracle of the tests.
 */
// biome-ignore format: table
export const FUNCTIONS = {
  and:                [sig(['Boolean', 'Boolean'], 'Boolean')],
  or:                 [sig(['Boolean', 'Boolean'], 'Boolean')],
  not:                [sig(['Boolean'], 'Boolean')],

  eq:                 compare(ORDERED),
  ne:                 compare(ORDERED),
  gt:                 compare(ORDERED),
  ge:                 compare(ORDERED),
  lt:                 compare(ORDERED),
  le:                 compare(ORDERED),
  in:                 each(ORDERED, t => sig([t, collectionOf(t)], 'Boolean')),

  add:                [...numeric(), ...shifted, sig(['Duration', 'Duration'], 'Duration')],
  sub:                [...numeric(), ...shifted, ...each(DAYS, t => sig([t, t], 'Duration')), sig(['Duration', 'Duration'], 'Duration')],
  mul:                [...numeric(), ...scaled],
  div:                [...numeric(), ...scaled],
  divby:              [...numeric(FRACTIONS), ...scaled],
  mod:                numeric(),
  negate:             each([...NUMBERS, 'Duration'], t => sig([t], t)),

  contains:           ofTexts('Boolean'),
  startswith:         ofTexts('Boolean'),
  endswith:           ofTexts('Boolean'),
  length:             [...ofText('Int32'), sig(['Collection(String)'], 'Int32')],
  indexof:            ofTexts('Int32'),
  substring:          [sig(['String', 'Int32'], 'String'), sig(['String', 'Int32', 'Int32'], 'String')],
  concat:             ofTexts('String'),
  tolower:            ofText('String'),
  toupper:            ofText('String'),
  trim:               ofText('String'),

  year:               part(DAYS),
  month:              part(DAYS),
  day:                part(DAYS),
  hour:               part(CLOCKS),
  minute:             part(CLOCKS),
  second:             part(CLOCKS),
  fractionalseconds:  part(CLOCKS, 'Decimal'),
  totaloffsetminutes: part(['DateTimeOffset']),
  totalseconds:       part(['Duration'], 'Decimal'),
  date:               part(['DateTimeOffset'], 'Date'),
  time:               part(['DateTimeOffset'], 'TimeOfDay'),
  now:                [sig([], 'DateTimeOffset')],
  mindatetime:        [sig([], 'DateTimeOffset')],
  maxdatetime:        [sig([], 'DateTimeOffset')],

  // Conditions and values by turns: the value behind the first condition that is true.
  case:               each(ORDERED, t => sig(['Boolean', t], t)),
  hassubset:          sets,
  hassubsequence:     sets,
  // The pattern is a literal: it is translated when the query is bound.
  matchespattern:     ofTexts('Boolean'),
  'geo.distance':     [sig(['GeographyPoint', 'GeographyPoint'], 'Double')],
  'geo.intersects':   [sig(['GeographyPoint', 'GeographyPolygon'], 'Boolean')],

  round:              each(FRACTIONS, t => sig([t], t)),
  floor:              each(FRACTIONS, t => sig([t], t)),
  ceiling:            each(FRACTIONS, t => sig([t], t)),
} satisfies Record<string, readonly Signature[]>

export type FunctionName = keyof typeof FUNCTIONS

export const isFunction = (name: string): name is FunctionName => Object.hasOwn(FUNCTIONS, name)

/**
 * Functions of the standard that the service knows and does not offer: 501 instead of "no such function". No
 * field holds a line.
 */
export const NOT_BUILT: ReadonlySet<string> = new Set(['geo.length'])

/** What `cast` can turn into what. A value that does not fit gives null (OData 4.01 Part 2, 5.1.1.10.1). */
// biome-ignore format: table
export const CASTS: { readonly [to in ValueType]?: readonly ValueType[] } = {
  String:         ['String', 'Boolean', ...NUMBERS, 'DateTimeOffset', 'Date', 'TimeOfDay', 'Duration'],
  Boolean:        ['Boolean', 'String'],
  Int32:          ['String', ...NUMBERS],
  Int64:          ['String', ...NUMBERS],
  Decimal:        ['String', ...NUMBERS],
  Double:         ['String', ...NUMBERS],
  DateTimeOffset: ['DateTimeOffset', 'String', 'Date'],
  Date:           ['Date', 'String', 'DateTimeOffset'],
  TimeOfDay:      ['TimeOfDay', 'String', 'DateTimeOffset'],
  Duration:       ['Duration'],
}

const resulting = (types: readonly ValueType[], returns: (type: ValueType) => ValueType) =>
  Object.fromEntries(types.map(t => [t, returns(t)]))
/** Integers are added up as decimals: no sum of theirs overflows. */
const totals = resulting(NUMBERS, t => (t === 'Double' ? t : 'Decimal'))

/**
 * Methods of `aggregate`: what each makes of values of which type (OData Data Aggregation 4.0, 3.1.3).
 * `data/derived.ts` has a rendering for each.
 */
// biome-ignore format: table
export const AGGREGATES = {
  sum:           totals,
  average:       totals,
  min:           resulting(ORDERED, t => t),
  max:           resulting(ORDERED, t => t),
  countdistinct: resulting([...ORDERED, 'GeographyPoint'], () => 'Int64'),
} satisfies Record<string, { readonly [type in ValueType]?: ValueType }>

export type AggregateMethod = keyof typeof AGGREGATES

export const isAggregateMethod = (name: string): name is AggregateMethod => Object.hasOwn(AGGREGATES, name)
