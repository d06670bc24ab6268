import sql, { type Sql } from 'sql-template-tag'
import type { Scalar } from '../../../model/model.js'
import type { ExprType } from '../../../query/functions.js'
import { type Plan, rowSource } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'
import { toDecimalText, toTimestampText } from '../casts.js'
import { toColumn } from '../columns.js'

/** A value as JSON. */
export interface JsonExpression {
  /** What PostgreSQL turns into the right JSON by itself. */
  readonly value: Sql
  /** The text of that JSON; null for null. */
  readonly json: Sql
  /** What must hold nothing that JSON escapes for `json` to be right. */
  readonly verbatimText?: Sql
}

const quoteAsJson = (value: Sql) => sql`'"' || (${value}) || '"'`
export const jsonString = (value: Sql): JsonExpression => ({
  value,
  json: quoteAsJson(value),
  verbatimText: value,
})
/** A text in which JSON escapes nothing. */
export const jsonStringWithoutEscapes = (value: Sql): JsonExpression => ({ value, json: quoteAsJson(value) })
/** A value whose text is its JSON: a whole number, true or false. */
export const jsonByTextCast = (value: Sql): JsonExpression => ({ value, json: sql`(${value})::text` })
export const jsonByToJson = (value: Sql): JsonExpression => ({ value, json: sql`to_json(${value})::text` })
/** An exact number of a column: for what is not finite JSON has no number. */
const jsonDecimal = (value: Sql): JsonExpression => ({
  value,
  json: sql`case when ${value} in ('NaN', 'Infinity', '-Infinity') then '"' || (${value})::text || '"' else (${value})::text end`,
})

export function jsonIf(condition: Sql, { value, json, verbatimText }: JsonExpression): JsonExpression {
  const caseWhen = (text: Sql) => sql`case when ${condition} then ${text} end`
  return {
    value: caseWhen(value),
    json: caseWhen(json),
    ...(verbatimText && { verbatimText: caseWhen(verbatimText) }),
  }
}

/** Prose has line feeds and quotation marks: to take it as it is would seldom be right. */
const isLongText = ({ maxLength }: Scalar): boolean =>
  maxLength === undefined || maxLength > MAX_VERBATIM_LENGTH
const MAX_VERBATIM_LENGTH = 1024

export function toColumnJson(
  scalar: Scalar,
  row: Plan['row'],
  representation: Representation,
): JsonExpression {
  const type: ExprType = scalar.collection ? `Collection(${scalar.type})` : scalar.type
  const value = toJsonInput(toColumn(scalar, rowSource(row)), type, representation)
  switch (type) {
    case 'String':
      return isLongText(scalar) ? jsonByToJson(value) : jsonString(value)
    case 'Boolean':
    case 'Int32':
      return jsonByTextCast(value)
    case 'Int64':
      return representation.numbersAsText ? jsonStringWithoutEscapes(value) : jsonByTextCast(value)
    case 'Decimal':
      return representation.numbersAsText ? jsonStringWithoutEscapes(value) : jsonDecimal(value)
    case 'DateTimeOffset':
      return jsonStringWithoutEscapes(value)
    default:
      return jsonByToJson(value)
  }
}

/** A value in the form that PostgreSQL turns into the right JSON (OData JSON 4.01, 7.1). */
export function toJsonInput(value: Sql, type: ExprType, { numbersAsText }: Representation): Sql {
  switch (type) {
    case 'DateTimeOffset':
      return toTimestampText(value)
    case 'Decimal':
      return numbersAsText ? toDecimalText(value) : sql`trim_scale(${value})`
    case 'Int64':
      return numbersAsText ? toDecimalText(value) : value
    case 'Double':
      return jsonDouble(value)
    case 'TimeOfDay':
      return sql`(${value})::text`
    case 'Duration':
      return sql`'PT' || trim_scale(${value}) || 'S'`
    default:
      return value
  }
}

/** JSON has no numbers for what is not finite. */
const jsonDouble = (value: Sql) =>
  sql`(case (${value})::text when 'Infinity' then '"INF"'::json when '-Infinity' then '"-INF"'::json when 'NaN' then '"NaN"'::json else to_json(${value}) end)`
