import type { Scalar } from '../../model/model.js'
import type { SelectItem } from '../../query/plan.js'
import { toRawValue } from './json-body.js'

/** A column of a CSV export. */
export interface CsvColumn {
  readonly name: string
  readonly isText: boolean
}

export interface CsvOptions {
  /** Prefixes texts that a spreadsheet would evaluate as formulas. */
  readonly defuse: boolean
  /** Begins with a byte order mark, by which Excel recognizes UTF-8. */
  readonly byteOrderMark: boolean
}

const BYTE_ORDER_MARK = '\uFEFF'
/** Texts that a spreadsheet evaluates (OWASP, CSV Injection), also in their full-width forms. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
const NEEDS_QUOTES = /[",\r\n]/
/** Some parsers trim fields without quotes. */
const HAS_OUTER_BLANK = /^\s|\s$/

export const toCsvColumn = (item: SelectItem): CsvColumn =>
  item.kind === 'field'
    ? { name: item.as ?? item.scalar.name, isText: isTextField(item.scalar) }
    : { name: item.name, isText: item.value.type === 'String' }

const isTextField = ({ type, collection }: Scalar): boolean => collection || type === 'String'

/** Returns the header: `ListingKey,ListPrice` and a line break. */
export const toCsvHeader = (columns: readonly CsvColumn[], { byteOrderMark }: CsvOptions): string =>
  (byteOrderMark ? BYTE_ORDER_MARK : '') + toLine(columns.map(({ name }) => toField(name)))

/**
 * Returns the row of a record: `L000000001,450000` and a line break (RFC 4180). Null is an empty field, an
 * empty text is `""`. The numbers of the record are texts (IEEE754Compatible), so that no digit is lost.
 */
export function toCsvRow(json: string, columns: readonly CsvColumn[], { defuse }: CsvOptions): string {
  const record = JSON.parse(json) as Readonly<Record<string, unknown>>
  return toLine(
    columns.map(({ name, isText }) => {
      const value = valueAt(record, name)
      if (value === null || value === undefined) return ''
      const text = toText(value)
      return toField(defuse && isText && FORMULA.test(text) ? `'${text}` : text)
    }),
  )
}

/** Groups by a path are nested: `ListAgent/MemberLastName` is in the object `ListAgent`. */
const valueAt = (record: Readonly<Record<string, unknown>>, name: string): unknown =>
  name
    .split('/')
    .reduce<unknown>((value, part) => (value as Readonly<Record<string, unknown>> | null)?.[part], record)

function toText(value: unknown): string {
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'object' ? toRawValue(JSON.stringify(value)) : String(value)
}

const toField = (text: string): string =>
  text === '' || NEEDS_QUOTES.test(text) || HAS_OUTER_BLANK.test(text)
    ? `"${text.replaceAll('"', '""')}"`
    : text

const toLine = (fields: readonly string[]): string => `${fields.join(',')}\r\n`
