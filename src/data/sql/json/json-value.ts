import sql, { type Sql } from 'sql-template-tag'
import type { Scalar } from '../../../model/model.js'
import type { Type } from '../../../query/functions.js'
import { type Plan, rowSource } from '../../../query/plan.js'
import type { Notation } from '../../../query/representation.js'
import { numberText, timestampText } from '../casts.js'
import { toColumn } from '../columns.js'

/** A value as JSON. */
export interface JsonValue {
  /** What PostgreSQL turns into the right JSON by itself. */
  readonly value: Sql
  /** The text of that JSON; null for null. */
  readonly json: Sql
  /** What must hold nothing that JSON escapes for `json` to be right. */
  readonly text?: Sql
}

const quoted = (value: Sql) => sql`'"' || (${value}) || '"'`
export const ofText = (value: Sql): JsonValue => ({ value, json: quoted(value), text: value })
/** A text in which JSON escapes nothing. */
export const ofPlainText = (value: Sql): JsonValue => ({ value, json: quoted(value) })
/** A value whose text is its JSON: a whole number, true or false. */
export const ofItself = (value: Sql): JsonValue => ({ value, json: sql`(${value})::text` })
export const ofAny = (value: Sql): JsonValue => ({ value, json: sql`to_json(${value})::text` })
/** An exact number of a column: for what is not finite JSON has no number. */
const ofDecimal = (value: Sql): JsonValue => ({
  value,
  json: sql`case when ${value} in ('NaN', 'Infinity', '-Infinity') then '"' || (${value})::text || '"' else (${value})::text end`,
})

export function shownIf(condition: Sql, { value, json, text }: JsonValue): JsonValue {
  const shown = (text: Sql) => sql`case when ${condition} then ${text} end`
  return { value: shown(value), json: shown(json), ...(text && { text: shown(text) }) }
}

/** Prose has line feeds and quotation marks: to take it as it is would seldom be right. */
const isProse = ({ maxLength }: Scalar): boolean => maxLength === undefined || maxLength > LONGEST_NAME
const LONGEST_NAME = 1024

export function toColumnValue(scalar: Scalar, row: Plan['row'], notation: Notation): JsonValue {
  const type: Type = scalar.collection ? `Collection(${scalar.type})` : scalar.type
  const value = toJsonValue(toColumn(scalar, rowSource(row)), type, notation)
  switch (type) {
    case 'String':
      return isProse(scalar) ? ofAny(value) : ofText(value)
    case 'Boolean':
    case 'Int32':
      return ofItself(value)
    case 'Int64':
      return notation.numbersAsText ? ofPlainText(value) : ofItself(value)
    case 'Decimal':
      return notation.numbersAsText ? ofPlainText(value) : ofDecimal(value)
    case 'DateTimeOffset':
      return ofPlainText(value)
    default:
      return ofAny(value)
  }
}

/** A value in the form that PostgreSQL turns into the right JSON (OData JSON 4.01, 7.1). */
export function toJsonValue(value: Sql, type: Type, { numbersAsText }: Notation): Sql {
  switch (type) {
    case 'DateTimeOffset':
      return timestampText(value)
    case 'Decimal':
      return numbersAsText ? numberText(value) : sql`trim_scale(${value})`
    case 'Int64':
      return numbersAsText ? numberText(value) : value
    case 'Double':
      return doubleJson(value)
    case 'TimeOfDay':
      return sql`(${value})::text`
    case 'Duration':
      return sql`'PT' || trim_scale(${value}) || 'S'`
    default:
      return value
  }
}

/** JSON has no numbers for what is not finite. */
const doubleJson = (value: Sql) =>
  sql`(case (${value})::text when 'Infinity' then '"INF"'::json when '-Infinity' then '"-INF"'::json when 'NaN' then '"NaN"'::json else to_json(${value}) end)`
