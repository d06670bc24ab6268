import { definePhrases } from './phrase.js'

// Words that the messages of the catalog insert. Each table names the problems that it belongs to.

/** Syntax: the part that the parser expected. */
export const EXPECTED_SYNTAX = definePhrases({
  operatorOrEnd: 'an operator or the end',
  operatorOr: (bracket: string) => `an operator or '${bracket}'`,
  noSpacesAtEnd: 'no spaces at the end',
  text: (text: string) => `'${text}'`,
  blank: 'a space',
  blankAfter: (operator: string) => `a space after ${operator}`,
  operand: 'a value, a field or a function',
  operandWithoutFunction: 'a value or a field',
  member: 'a field, $count, any or all',
  list: "a list like ('a','b')",
  type: 'a type like Edm.String',
  key: 'a key',
  variable: 'a variable',
  jsonName: 'a name in double quotes',
  literal: 'an OData 4 literal',
  filterOrSearch: '$filter or $search',
  refOrCount: '$ref or $count',
  star: '*',
  fieldOrStar: 'a field or *',
  field: 'a field',
  navigationOrStar: 'a navigation or *',
  navigation: 'a navigation',
  queryOption: 'a query option',
  parameter: "a parameter such as ResourceName='Property' or Ranges=@r",
  alias: "'as' and a name",
  operatorOrAlias: "an operator or 'as' and a name",
  aliasName: 'a name for the value',
  nonNegativeInteger: 'a non-negative integer',
  groupingField: 'a field to group by',
  endOfGroupingField: "',' or ')'",
  transformation: (names: readonly string[]) => `a transformation (${names.join(', ')})`,
  aggregateMethod: (names: readonly string[]) => `a method (${names.join(', ')})`,
  searchTerm: 'a word or a phrase in double quotes',
  searchTermOrClosing: "a word or ')'",
})

/** Syntax and BadLiteral: how to write it instead. */
export const HINTS = definePhrases({
  doubleQuote: 'A quote inside a string must be doubled.',
  spacesAroundOperators: 'Operators need spaces around them.',
  singleQuotes: 'Strings need single quotes.',
  odataOperator: (operator: string) => `The OData syntax is '${operator}'.`,
  searchWord: (word: string) =>
    `AND, OR and NOT are operators. To find the word, write "${word}" in double quotes.`,
  computeGroup:
    'To group by a value, compute it first: compute(year(ListingContractDate) as Year)/groupby((Year)).',

  outOfRange: 'The number is out of range.',
  noSuchTime: 'This date or time does not exist.',
  year: 'The year must be between 0001 and 9999.',
  missingOffset: 'A timestamp must end with Z or an offset like +02:00.',
  duration: 'Write it like P1DT2H30M.',
  geography: 'Write it like SRID=4326;POINT(-105 39.7).',
  geoJsonPoint: 'Write it like {"type":"Point","coordinates":[-105,39.7]}.',
  geoJsonPolygon: 'Write it like {"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}.',
  positionRange: 'The longitude must be between -180 and 180, the latitude between -90 and 90.',
  polygonRings:
    'Each ring must end where it begins and have at least four positions. The longitude must be between -180 and 180, the latitude between -90 and 90.',
  aroundPole: 'The polygon goes around a pole.',
  negativeLength: 'A length cannot be negative.',
  longNumberAsString: 'A number with this many digits must be a string.',

  numberWithoutQuotes: 'Write a number without quotes.',
  stringInQuotes: (text: string) => `Write a string in quotes: '${text}'.`,
  timestampWithoutQuotes: 'Write a timestamp without quotes: 2024-05-01T00:00:00Z.',
  dateWithoutQuotes: 'Write a date without quotes: 2024-05-01.',
  timeWithoutQuotes: 'Write a time without quotes: 08:30:00.',
  booleanWithoutQuotes: 'Write true or false without quotes.',
  date: (date: string) => `Write a date: ${date}.`,
  timestamp: (timestamp: string) => `Write a timestamp: ${timestamp}.`,
  timestampOrDays: (withTimestamp: string, withDays: string) =>
    `Write ${withTimestamp}, or compare days: ${withDays}.`,
})

/** NoOverload: arguments that have no type of their own. */
export const SIGNATURES = {
  valueAndType: '(value, type)',
  type: '(type)',
  lookupAndValue: '(a lookup field, a value of the lookup)',
} as const

/** WrongType. */
export const EXPECTED_TYPE = definePhrases({
  boolean: 'a Boolean expression',
  value: 'a value',
  collection: 'a collection',
  navigation: 'a navigation property',
  collectionBeforeCount: 'a collection before $count',
  afterCollection: 'any, all or $count after a collection',
  computable: 'a value that can be computed',
  groupable: 'a single value to group by',
  notCollection: 'a type other than a collection',
  type: 'a type like Edm.String',
  condition: (name: string) => `a condition under ${name}`,
})

/** Syntax and WrongType: what the query has in place of the expected part, where it is not text of the query. */
export const FOUND = {
  end: 'the end',
  spaces: 'spaces',
  openString: 'a string without its closing quote',
  string: (text: string) => `the string ${text}`,
  text: (text: string) => `'${text}'`,
  somethingElse: 'something else',
  null: 'null',
  emptyObject: 'an empty object',
  valueOfType: (type: string) => `a value of type ${type}`,
  typeName: (name: string) => `the type ${name}`,
  records: (path: string) => `a record or records (${path})`,
  otherPoint: 'another point',
  unstorableString: 'a string with them',
  array: 'an array',
  object: 'an object',
} as const

/** BadOptionValue: the value that an option or argument must have. */
export const EXPECTED_VALUE = definePhrases({
  nonNegativeInteger: 'a non-negative integer',
  positiveIntegerOrMax: 'a positive integer or max',
  integerUpTo: (max: number) => `an integer from 0 to ${max}`,
  positiveIntegerUpTo: (max: number) => `an integer from 1 to ${max}`,
  boolean: 'true or false',
  present: 'followed by a value',
  recordId: 'the id of a record',
  withSecret: 'absent or include Secret, which cannot be read later',
  selected: 'selected, since it cannot be read later',
  etag: 'the etag of a record',
  order: 'ASC or DESC for one field in each object',
  specified: 'specified, or null for no value',
  digestResource: (names: readonly string[]) => `one of ${names.join(', ')}`,
  keyRanges: 'a JSON array such as [{"From":"A","To":"B"}]',
  rangeCount: (max: number) => `a list of 1 to ${max} ranges`,
  orderedRanges: 'ranges whose From is less than their To, by code point',
  disjointRanges: 'ranges that do not overlap',
  storableKey: 'keys without NUL characters or unpaired surrogates',
  bucketCount: (max: number, all: number) => `an integer from 1 to ${max}, for ${all} buckets in all`,
  quotedString: 'a string in single quotes',
  specifiedInFilter: 'specified: without it the filter has no condition',
})

/** BadValue: the value that a field of a body must have. */
export const EXPECTED_FIELD_VALUE = definePhrases({
  Boolean: 'true or false',
  Int32: 'an integer',
  Int64: 'an integer',
  Decimal: 'a number',
  String: 'a string',
  Date: 'a date (YYYY-MM-DD)',
  DateTimeOffset: 'a timestamp with offset (YYYY-MM-DDThh:mm:ss.sssZ)',
  GeographyPoint: 'a GeoJSON point of longitude and latitude (WGS 84)',
  arrayOf: (item: string) => `an array in which each item is ${item}`,
  storableString: 'a string without NUL characters or unpaired surrogates',
  memberOfToken: 'the member that the token names',
  oneOf: (values: readonly string[]) => `one of ${values.join(', ')}`,
  eachOneOf: (values: readonly string[]) => `an array in which each item is one of ${values.join(', ')}`,
  future: 'a time in the future',
  publicKeys: 'the text of a JSON Web Key Set of public RSA or EC P-256 keys',
  otherText: 'another text',
  samePointAs: (field: string) => `a point that matches ${field} in the body`,
})

/** OutOfRange: the limit of a value, after "must". */
export const LIMITS = definePhrases({
  notNegative: 'not be negative',
  positive: 'be greater than 0',
  bits: (bits: number) => `fit into ${bits} bits`,
  digits: (whole: number, fraction: number) =>
    `have at most ${whole} digits before the decimal point and ${fraction} after it`,
  between: (min: number, max: number) => `be between ${min} and ${max}`,
  length: (max: number) => `have at most ${max} characters`,
  coordinate: (name: string, limit: string) => `be valid: ${name} must ${limit}`,
})

/** OptionNotAllowed: the resource or clause, after "cannot be used for". */
export const OPTION_CONTEXTS = definePhrases({
  service: 'the service document',
  metadata: '$metadata',
  openapi: 'openapi.json',
  batch: '$batch',
  entityId: '$entity',
  collection: 'a collection',
  delta: 'a delta link',
  deltaOf40: 'a delta link of OData 4.0',
  count: 'a count',
  references: 'references ($ref)',
  record: 'a single record',
  reference: 'a single reference ($ref)',
  value: 'a single value',
  function: 'a function',
  export: 'an export',
  expandedRecords: 'an expanded navigation',
  expandedStar: 'all navigations (*)',
  selectedField: 'a selected field',
  singleRecordOf: (name: string) => `the single record of ${name}`,
  connectionWithFirst: 'a connection with first',
  connectionWithCursor: 'a connection with a cursor or last',
})

/** QueryTooComplex: the parts that are counted, after "too many". */
export const COMPLEXITY_UNITS = definePhrases({
  nestedParts: 'nested parts',
  parts: 'parts',
  listItems: 'items in a list',
  nameBytes: 'bytes in a name',
  patternCharacters: 'characters in a pattern',
  patterns: 'patterns',
  computedParts: 'parts in a computed value',
  evaluations: 'evaluations for each record (any, all and $count inside each other multiply)',
  expandLevels: 'levels of $expand',
  expandedCollections: 'nested expanded collections',
  records: 'records to read',
  characters: 'characters',
  pathSegments: 'segments in the path',
  tokens: 'tokens',
  brackets: 'nested brackets',
  fields: 'fields',
  fieldLevels: 'levels of fields',
  rootFields: 'fields at its root',
  aliases: 'aliases',
  directives: 'directives on one element',
})

/** NotFound: the resource, after "There is no". */
export const RESOURCES = definePhrases({
  resource: (name: string) => `resource '${name}'`,
  record: (path: string) => path,
  recordOf: (entity: string, key: string) => `${entity} with the key '${key}'`,
  recordBefore: (navigation: string) => `record before ${navigation}`,
  recordWithId: (id: string) => `record '${id}'`,
  schemaVersion: (version: string) => `schema version '${version}'`,
})

/** UnsupportedMediaType: the body, after "The request body must be". */
export const EXPECTED_BODY = definePhrases({
  unencoded: 'sent without a Content-Encoding',
  utf8: (mediaType: string) => `${mediaType} in UTF-8`,
  batch: 'application/json or multipart/mixed',
})

/** BadHeader: the value of a header, after "must be". */
export const EXPECTED_HEADER = definePhrases({
  etags: '* or ETags such as W/"1"',
  scheme: 'http or https',
  host: 'one host name, with a port if it is not the default',
  maxVersion: 'the highest version of OData that the client accepts, 4.0 or higher',
  version: 'the version of OData of the request: 4.0 or 4.01',
  absentInBatch: 'absent from a batch',
})

/** TooManyRequests: the limit that is reached. */
export const LIMITS_REACHED = definePhrases({
  requestsPerMinute: (limit: number) => `The limit of ${limit} requests per minute is reached`,
  requestsPerDay: (limit: number) => `The limit of ${limit} requests per day is reached`,
  rowsPerDay: (limit: number) => `The limit of ${limit} rows per day is reached`,
  runningStatements: (limit: number) => `The limit of ${limit} running statements is reached`,
})
