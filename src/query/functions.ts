import type { EdmType } from '../model/model.js'

/** Types of expressions: column types, and types that only functions and literals have. */
export type ValueType = EdmType | 'Double' | 'TimeOfDay' | 'Duration' | 'GeographyPolygon'
export type ExprType = ValueType | `Collection(${ValueType})`

export interface Signature {
  readonly args: readonly ExprType[]
  readonly returns: ValueType
}

const sig = (args: readonly ExprType[], returns: ValueType): Signature => ({ args, returns })
const forEachType = (types: readonly ValueType[], make: (t: ValueType) => Signature) => types.map(make)
const collectionOf = (t: ValueType) => `Collection(${t})` as const

// From narrow to wide: the first signature that accepts all arguments needs the least promotion.
const INTEGER_TYPES = ['Int32', 'Int64'] as const
const FRACTIONAL_TYPES = ['Decimal', 'Double'] as const
const NUMERIC_TYPES = [...INTEGER_TYPES, ...FRACTIONAL_TYPES] as const
const ORDERED_TYPES: readonly ValueType[] = [
  ...NUMERIC_TYPES,
  'String',
  'DateTimeOffset',
  'Date',
  'TimeOfDay',
  'Duration',
  'Boolean',
]
const DATE_TYPES: readonly ValueType[] = ['DateTimeOffset', 'Date']
const TIME_TYPES: readonly ValueType[] = ['DateTimeOffset', 'TimeOfDay']

const compare = (types: readonly ValueType[]) => forEachType(types, t => sig([t, t], 'Boolean'))
const numeric = (types: readonly ValueType[] = NUMERIC_TYPES) => forEachType(types, t => sig([t, t], t))
const datePart = (types: readonly ValueType[], returns: ValueType = 'Int32') =>
  forEachType(types, t => sig([t], returns))
const ofText = (returns: ValueType) => [sig(['String'], returns)]
const ofTexts = (returns: ValueType) => [sig(['String', 'String'], returns)]
const durationArithmetic = forEachType(DATE_TYPES, t => sig([t, 'Duration'], t))
const collectionPredicates = forEachType(ORDERED_TYPES, t =>
  sig([collectionOf(t), collectionOf(t)], 'Boolean'),
)
const durationScaling = [sig(['Duration', 'Decimal'], 'Duration')]

/**
 * Every operator and function of the language with its signatures (OData 4.01 Part 2, 5.1.1). The parser
 * accepts any name, the binder finds the overloads here, and the GraphQL schema derives its filter inputs
 * from them. The types require `SQL_FUNCTIONS` in data/sql/functions.ts and the oracle of the tests to
 * implement each.
 */
// biome-ignore format: table
export const FUNCTIONS = {
  and:                [sig(['Boolean', 'Boolean'], 'Boolean')],
  or:                 [sig(['Boolean', 'Boolean'], 'Boolean')],
  not:                [sig(['Boolean'], 'Boolean')],

  eq:                 compare(ORDERED_TYPES),
  ne:                 compare(ORDERED_TYPES),
  gt:                 compare(ORDERED_TYPES),
  ge:                 compare(ORDERED_TYPES),
  lt:                 compare(ORDERED_TYPES),
  le:                 compare(ORDERED_TYPES),
  in:                 forEachType(ORDERED_TYPES, t => sig([t, collectionOf(t)], 'Boolean')),

  add:                [...numeric(), ...durationArithmetic, sig(['Duration', 'Duration'], 'Duration')],
  sub:                [...numeric(), ...durationArithmetic, ...forEachType(DATE_TYPES, t => sig([t, t], 'Duration')), sig(['Duration', 'Duration'], 'Duration')],
  mul:                [...numeric(), ...durationScaling],
  div:                [...numeric(), ...durationScaling],
  divby:              [...numeric(FRACTIONAL_TYPES), ...durationScaling],
  mod:                numeric(),
  negate:             forEachType([...NUMERIC_TYPES, 'Duration'], t => sig([t], t)),

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

  year:               datePart(DATE_TYPES),
  month:              datePart(DATE_TYPES),
  day:                datePart(DATE_TYPES),
  hour:               datePart(TIME_TYPES),
  minute:             datePart(TIME_TYPES),
  second:             datePart(TIME_TYPES),
  fractionalseconds:  datePart(TIME_TYPES, 'Decimal'),
  totaloffsetminutes: datePart(['DateTimeOffset']),
  totalseconds:       datePart(['Duration'], 'Decimal'),
  date:               datePart(['DateTimeOffset'], 'Date'),
  time:               datePart(['DateTimeOffset'], 'TimeOfDay'),
  now:                [sig([], 'DateTimeOffset')],
  mindatetime:        [sig([], 'DateTimeOffset')],
  maxdatetime:        [sig([], 'DateTimeOffset')],

  // Alternating conditions and values. The result is the value after the first true condition.
  case:               forEachType(ORDERED_TYPES, t => sig(['Boolean', t], t)),
  hassubset:          collectionPredicates,
  hassubsequence:     collectionPredicates,
  // The pattern must be a literal: it is translated when the query is bound.
  matchespattern:     ofTexts('Boolean'),
  'geo.distance':     [sig(['GeographyPoint', 'GeographyPoint'], 'Double')],
  'geo.intersects':   [sig(['GeographyPoint', 'GeographyPolygon'], 'Boolean')],

  round:              forEachType(FRACTIONAL_TYPES, t => sig([t], t)),
  floor:              forEachType(FRACTIONAL_TYPES, t => sig([t], t)),
  ceiling:            forEachType(FRACTIONAL_TYPES, t => sig([t], t)),
} satisfies Record<string, readonly Signature[]>

export type FunctionName = keyof typeof FUNCTIONS

export const isFunction = (name: string): name is FunctionName => Object.hasOwn(FUNCTIONS, name)

/**
 * Standard functions that the service does not implement. They are refused with 501, not as unknown functions.
 * `geo.length` applies to lines, which no field contains.
 */
export const UNSUPPORTED_FUNCTIONS: ReadonlySet<string> = new Set(['geo.length'])

/**
 * Source types of each target type of `cast`. A value that does not fit becomes null (OData 4.01 Part 2,
 * 5.1.1.10.1).
 */
// biome-ignore format: table
export const CASTS: { readonly [to in ValueType]?: readonly ValueType[] } = {
  String:         ['String', 'Boolean', ...NUMERIC_TYPES, 'DateTimeOffset', 'Date', 'TimeOfDay', 'Duration'],
  Boolean:        ['Boolean', 'String'],
  Int32:          ['String', ...NUMERIC_TYPES],
  Int64:          ['String', ...NUMERIC_TYPES],
  Decimal:        ['String', ...NUMERIC_TYPES],
  Double:         ['String', ...NUMERIC_TYPES],
  DateTimeOffset: ['DateTimeOffset', 'String', 'Date'],
  Date:           ['Date', 'String', 'DateTimeOffset'],
  TimeOfDay:      ['TimeOfDay', 'String', 'DateTimeOffset'],
  Duration:       ['Duration'],
}

const resultTypes = (types: readonly ValueType[], returns: (type: ValueType) => ValueType) =>
  Object.fromEntries(types.map(t => [t, returns(t)]))
/** Sums of integers are decimals, so that no sum overflows. */
const totals = resultTypes(NUMERIC_TYPES, t => (t === 'Double' ? t : 'Decimal'))

/**
 * Methods of `aggregate`: the result type for each type of value (OData Data Aggregation 4.0, 3.1.3).
 * data/sql/from.ts has the SQL of each.
 */
// biome-ignore format: table
export const AGGREGATES = {
  sum:           totals,
  average:       totals,
  min:           resultTypes(ORDERED_TYPES, t => t),
  max:           resultTypes(ORDERED_TYPES, t => t),
  countdistinct: resultTypes([...ORDERED_TYPES, 'GeographyPoint'], () => 'Int64'),
} satisfies Record<string, { readonly [type in ValueType]?: ValueType }>

export type AggregateMethod = keyof typeof AGGREGATES

export const isAggregateMethod = (name: string): name is AggregateMethod => Object.hasOwn(AGGREGATES, name)
