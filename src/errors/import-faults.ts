import { definePhrases } from './phrase.js'

/** Faults of an import file. The report puts each after the label of its record and field. */
export const IMPORT_FAULTS = definePhrases({
  foreignEncoding: (name: string) => `is encoded in ${name}; convert it to UTF-8`,
  notUtf8: 'contains bytes that are not valid UTF-8; use --encoding windows-1252 if that is its encoding',
  notWindows1252: 'is UTF-8, not Windows-1252; omit --encoding',
  undefinedInWindows1252: 'contains bytes that are undefined in Windows-1252',

  notJsonObject: 'is not a JSON object',
  nameMissing: 'a member name is missing',
  nameIncomplete: 'the member name is incomplete',
  nameInvalid: 'a member name contains a control character or an invalid escape',
  valueMissing: 'a value is missing',
  missing: (text: string) => `${text} is missing`,
  textAfterEnd: 'there is text after the end of the object',
  incomplete: 'the JSON is incomplete',
  tooLarge: (megabytes: number) => `is larger than ${megabytes} MB`,
  notJson: (reason: string) => `is not JSON: ${reason}`,

  notRecords: 'must be a list of records',
  notRecordsBut: (found: string) => `must be a list of records, not ${found}`,
  notObject: (found: string) => `must be an object, not ${found}`,
  unknownField: (entity: string) => `${entity} has no such field`,
  nestedRecords: 'cannot contain nested records: list them under their own entity set',
  keyRequired: 'a key is required',
  valueRequired: 'a value is required',
  wrongType: (expected: string, found: string) => `must be ${expected}, not ${found}`,
  otherPlace: (value: string, field: string, other: string) =>
    `${value} and ${field} ${other} are not the same place`,
  tooLongForIndex: (bytes: number) =>
    `must have at most ${bytes} bytes when compressed, because it is indexed`,
  unknownParent: (key: string) => `there is no Property '${key}'`,
  rejected: (message: string) => `the database rejected it: ${message}`,
})

/** Details of the warnings. `strict` turns them into faults. */
export const IMPORT_WARNINGS = definePhrases({
  status: (text: string) => `'${text}' is not a status`,
  negative: (value: string) => `${value} is negative`,
  farFuture: (time: string, years: number) => `${time} is more than ${years} years ahead`,
  aheadOfClock: (time: string) => `${time} is later than the system clock`,
  lostLetters: 'contains U+FFFD',
  repeatedKey: 'an earlier record in the file has the same key',
})

/** Top-level members of a file that are skipped. */
export const SKIPPED_MEMBERS = definePhrases({
  readOnly: (name: string) => `'${name}' is written only by the service and was skipped`,
  unknown: (name: string, suggestion?: string) =>
    `'${name}' is not an entity set and was skipped${suggestion === undefined ? '' : `; did you mean '${suggestion}'?`}`,
})

/** The value that a column must have. */
export const EXPECTED_COLUMN_VALUE = definePhrases({
  Boolean: 'true or false',
  Int32: 'a 32-bit integer',
  Int64: 'a 64-bit integer',
  Decimal: 'a decimal number',
  String: 'a string',
  Date: 'a date (YYYY-MM-DD)',
  DateTimeOffset: 'a timestamp (YYYY-MM-DDThh:mm:ss.sssZ)',
  GeographyPoint: 'a GeoJSON point (longitude, latitude; WGS 84)',
  listOf: (item: string) => `a list, each item ${item}`,
})

/** Kinds of warnings with their texts. */
export const WARNING_KINDS = {
  status: 'the StandardStatus is not one of the service',
  negative: 'a price, fee or amount is negative',
  'far future': 'a date is more than ten years ahead',
  'ahead of clock':
    'the ModificationTimestamp is later than the system clock, so the time of the import is stored',
  'lost letters': 'a text contains U+FFFD: characters were lost before the file was written',
  'repeated key': 'a key occurs more than once in the file; the last record counts',
} as const
