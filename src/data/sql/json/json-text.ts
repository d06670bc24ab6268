import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Plan } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'
import { toDecimalText } from '../casts.js'
import { nestByPath, rowToJson, toObjectMember } from './json-object.js'
import { type JsonExpression, jsonByToJson, jsonString, jsonStringWithoutEscapes } from './json-value.js'
import {
  memoizeByShape,
  toRecordMembers,
  toRestrictionAnnotations,
  type ValueMember,
} from './record-members.js'

// Renders the JSON of records by concatenation. PostgreSQL's JSON functions look up the type of every member
// of every record in the catalog and search each string for characters to escape, which took a third of the
// cost of a page. Strings are therefore first written without escaping, and the statement reports whether one
// of them needed it.

/**
 * `verbatim` writes strings between quotation marks without escaping, `escaped` escapes them as JSON
 * requires.
 */
export type StringEscaping = 'verbatim' | 'escaped'

/** JSON text, and the strings in it that are not escaped. */
export interface JsonTextExpression {
  readonly json: Sql
  readonly escaping: readonly Sql[]
}

/**
 * Renders the JSON text of one record. The plan's row must be in scope.
 *   `$select=City`, verbatim → `concat('{','"City":',coalesce('"' || (r0."City") || '"', 'null'),'}')`
 *   `$select=City`, escaped → `concat('{','"City":',coalesce(to_json(r0."City")::text, 'null'),'}')`
 */
export const toRecordText = (
  plan: Plan,
  representation: Representation,
  escaping: StringEscaping,
): JsonTextExpression => RECORD_TEXT_BY_ESCAPING[escaping](plan, representation)

type NamedJsonExpression = JsonExpression & Pick<ValueMember, 'name'>

const createToRecordText = (escaping: StringEscaping) =>
  memoizeByShape(function toRecordTextOfShape(shape, representation): JsonTextExpression {
    const members = toRecordMembers(shape, representation).map(
      (m): NamedJsonExpression =>
        m.kind === 'value' ? m : { name: m.name, ...jsonByToJson(toObjectMember(m, representation).value) },
    )
    const values = nestByPath(members, (name, inner) => ({ name, ...jsonByToJson(rowToJson(inner)) }))
    const parts = values.flatMap((value, i) => [
      quoteLiteral(`${i === 0 ? '' : ','}${JSON.stringify(value.name)}:`),
      orJsonNull(renderJsonText(value, escaping)),
    ])
    return {
      json: toConcat([
        quoteLiteral('{'),
        ...parts,
        ...toRestrictionAnnotations(shape, representation),
        quoteLiteral('}'),
      ]),
      escaping: verbatimTextsOf(values, escaping),
    }
  })

const RECORD_TEXT_BY_ESCAPING = {
  verbatim: createToRecordText('verbatim'),
  escaped: createToRecordText('escaped'),
} as const

/**
 * Renders the cursor of a record: a JSON array of its order values as strings.
 *   `$orderby=City` → `concat('[',coalesce('"' || ((r0."City")::text) || '"', 'null'),',',coalesce('"' ||
 *     ((r0."ListingKey")::text) || '"', 'null'),']')`
 * @param orderValues the order values of the record, one for each term
 */
export function toCursorText(
  { orderBy }: Pick<Plan, 'orderBy'>,
  orderValues: readonly Sql[],
  escaping: StringEscaping,
): JsonTextExpression {
  const values = orderValues.map((orderValue, i) => {
    const type = orderBy[i]?.expr.type
    // Without trailing zeros, so that both read engines write the same cursor.
    const value = type === 'Decimal' ? toDecimalText(orderValue) : sql`(${orderValue})::text`
    return type === 'String' ? jsonString(value) : jsonStringWithoutEscapes(value)
  })
  const parts = values.flatMap((value, i) => [
    quoteLiteral(i === 0 ? '[' : ','),
    orJsonNull(renderJsonText(value, escaping)),
  ])
  return { json: toConcat([...parts, quoteLiteral(']')]), escaping: verbatimTextsOf(values, escaping) }
}

/**
 * Renders the check that no string of the rows needs escaping: its JSON is then longer by two quotation
 * marks.
 *   `page.texts` → `octet_length(to_json(string_agg(page.texts, ''))::text) =
 *     octet_length(string_agg(page.texts, '')) + 2`
 */
export function toNoEscapingCheck(column: Sql): Sql {
  const all = sql`string_agg(${column}, '')`
  return sql`octet_length(to_json(${all})::text) = octet_length(${all}) + 2`
}

const renderJsonText = ({ value, json, verbatimText }: JsonExpression, escaping: StringEscaping): Sql =>
  verbatimText && escaping === 'escaped' ? sql`to_json(${value})::text` : json
const verbatimTextsOf = (values: readonly JsonExpression[], escaping: StringEscaping): readonly Sql[] =>
  escaping === 'escaped' ? [] : values.flatMap(({ verbatimText }) => verbatimText ?? [])
const orJsonNull = (json: Sql) => sql`coalesce(${json}, 'null')`
const quoteLiteral = (text: string) => raw(`'${text.replaceAll("'", "''")}'`)

/** PostgreSQL accepts 100 arguments of a function. */
const MAX_FUNCTION_ARGUMENTS = 90

/**
 * Concatenates texts and skips nulls.
 *   → `concat('{','"City":',…)`
 */
export const toConcat = (texts: readonly Sql[]): Sql =>
  texts.length === 0
    ? raw("''")
    : texts.length <= MAX_FUNCTION_ARGUMENTS
      ? sql`concat(${join(texts)})`
      : toConcat([toConcat(texts.slice(0, MAX_FUNCTION_ARGUMENTS)), ...texts.slice(MAX_FUNCTION_ARGUMENTS)])
