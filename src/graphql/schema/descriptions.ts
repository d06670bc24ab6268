import type { FunctionName } from '../../query/functions.js'

/**
 * Functions without a field in any filter: the inputs express them otherwise, or they have no first argument.
 */
type UnlistedFunctionName = 'and' | 'or' | 'not' | 'now' | 'mindatetime' | 'maxdatetime'

/** Descriptions of the fields that the functions of the language add to a filter. */
// biome-ignore format: table
const FUNCTION_DESCRIPTIONS = {
  eq:                 'Equal to this value. Null is equal to null.',
  ne:                 'Not equal to this value. True for null unless the value is null.',
  gt:                 'Greater than this value. False for null.',
  ge:                 'Greater than or equal to this value. False for null.',
  lt:                 'Less than this value. False for null.',
  le:                 'Less than or equal to this value. False for null.',
  in:                 'Equal to one of these values.',
  add:                'Conditions on the sum with a value.',
  sub:                'Conditions on the difference from a value.',
  mul:                'Conditions on the product with a value.',
  div:                'Conditions on the quotient by a value. The quotient of two integers is truncated.',
  divby:              'Conditions on the quotient by a value, with decimals.',
  mod:                'Conditions on the remainder after division by a value.',
  negate:             'Conditions on the negated value.',
  contains:           'Contains this text.',
  startswith:         'Begins with this text.',
  endswith:           'Ends with this text.',
  length:             'Conditions on the length.',
  indexof:            'Conditions on the position of a text, from 0; -1 if it is not contained.',
  substring:          'Conditions on a part of the text.',
  concat:             'Conditions on the text followed by another.',
  tolower:            'Conditions on the text in lower case.',
  toupper:            'Conditions on the text in upper case.',
  trim:               'Conditions on the text without white space at its ends.',
  year:               'Conditions on the year.',
  month:              'Conditions on the month, 1 to 12.',
  day:                'Conditions on the day of the month.',
  hour:               'Conditions on the hour, in UTC.',
  minute:             'Conditions on the minute.',
  second:             'Conditions on the second, without fractions.',
  fractionalseconds:  'Conditions on the fraction of the second.',
  totaloffsetminutes: 'Conditions on the offset from UTC in minutes: always 0.',
  totalseconds:       'Conditions on the length in seconds.',
  date:               'Conditions on the date, in UTC.',
  time:               'Conditions on the time of day, in UTC.',
  case:               'Conditions on a value if this one is true, else on null.',
  hassubset:          'Contains all these values.',
  hassubsequence:     'Contains all these values in this order.',
  matchespattern:     'Matches this ECMAScript regular expression.',
  'geo.distance':     'Conditions on the distance to a position, in meters.',
  'geo.intersects':   'Lies in this area or on its border.',
  round:              'Conditions on the rounded value. Halves are rounded away from zero.',
  floor:              'Conditions on the value rounded down.',
  ceiling:            'Conditions on the value rounded up.',
} satisfies { readonly [name in Exclude<FunctionName, UnlistedFunctionName>]: string }

export const describeFunction = (fn: FunctionName): string =>
  (FUNCTION_DESCRIPTIONS as Readonly<Record<string, string>>)[fn] ?? ''

/** Descriptions of arguments, by name. Other arguments are the `value` of the function. */
const ARGUMENT_DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ['start', 'First character, from 0. A negative number counts from the end.'],
  ['length', 'Number of characters. Without it, all that follow.'],
  ['then', 'The value.'],
  ['to', 'The other position.'],
])

export const describeArgument = (name: string): string =>
  ARGUMENT_DESCRIPTIONS.get(name) ?? 'The other value.'
