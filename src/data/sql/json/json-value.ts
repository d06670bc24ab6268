import sql, { type Sql } from 'sql-template-tag'
import type { Scalar } from '../../../model/model.js'
import type { ExprType } from '../../../query/functions.js'
import { type Plan, rowSource } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'
import { toDecimalText, toTimestampText } from '../casts.js'
import { toColumn } from '../columns.js'

/** A value and its JSON text. */
export interface JsonExpression {
  /** A value that PostgreSQL converts to the correct JSON. */
  readonly value: Sql
  /** The JSON text, null for null. */
  readonly json: Sql
  /** The string that `json` contains without escaping. Undefined if `json` is always correct. */
  readonly verbatimText?: Sql
}

const quoteAsJson = (value: Sql) => sql`'"' || (${value}) || '"'`
/** A string, which may need escaping. `r0."City"` → `'"' || (r0."City") || '"'` */
export const jsonString = (value: Sql): JsonExpression => ({
  value,
  json: quoteAsJson(value),
  verbatimText: value,
})
/** A string that never needs escaping. */
export const jsonStringWithoutEscapes = (value: Sql): JsonExpression => ({ value, json: quoteAsJson(value) })
/** A value whose text is its JSON: a number or a Boolean. `r0."Order"` → `(r0."Order")::text` */
export const jsonByTextCast = (value: Sql): JsonExpression => ({ value, json: sql`(${value})::text` })
/** A value that `to_json` converts. `r0."Roof"` → `to_json(r0."Roof")::text` */
export const jsonByToJson = (value: Sql): JsonExpression => ({ value, json: sql`to_json(${value})::text` })
/** Renders a value that is null unless the condition is true: `case when … then … end`. */
export function jsonIf(condition: Sql, { value, json, verbatimText }: JsonExpression): JsonExpression {
  const caseWhen = (text: Sql) => sql`case when ${condition} then ${text} end`
  return {
    value: caseWhen(value),
    json: caseWhen(json),
    ...(verbatimText && { verbatimText: caseWhen(verbatimText) }),
  }
}

/**
 * Long texts usually contain line feeds and quotation marks, so that an attempt without escaping would fail.
 */
const isLongText = ({ maxLength }: Scalar): boolean =>
  maxLength === undefined || maxLength > MAX_VERBATIM_LENGTH
const MAX_VERBATIM_LENGTH = 1024

/**
 * Renders a column as JSON.
 *   `City` → `'"' || (r0."City") || '"'`, `Order` of Media → `(r0."Order")::text`
 */
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
    case 'Decimal':
      return representation.numbersAsText ? jsonStringWithoutEscapes(value) : jsonByTextCast(value)
    case 'DateTimeOffset':
      return jsonStringWithoutEscapes(value)
    default:
      return jsonByToJson(value)
  }
}

/**
 * Renders a value in a form that PostgreSQL converts to the correct JSON (OData JSON 4.01, 7.1).
 *   `ListPrice` → `trim_scale(r0."ListPrice")`
 */
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

/** Renders a double. JSON has no number for values that are not finite. */
const jsonDouble = (value: Sql) =>
  sql`(case (${value})::text when 'Infinity' then '"INF"'::json when '-Infinity' then '"-INF"'::json when 'NaN' then '"NaN"'::json else to_json(${value}) end)`
